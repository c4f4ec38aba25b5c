package templates

// AlertsPage is every alert rule with its state now.
type AlertsPage struct {
	// Look is that of the worst state.
	Look Health
	// Title is the finding, Say goes on.
	Title, Say string
	Groups     []AlertGroup
	Aged       bool
	// Beside heads the column with what Prometheus and the Alertmanager say, "" leaves it out. Facts say how asking
	// them and telling our own receiver go; Silences are the Alertmanager's.
	Beside   string
	Facts    []Detail
	Silences []SilenceRow
}

// SilenceRow is a silence of the Alertmanager.
type SilenceRow struct {
	// Matchers say what it holds, From when that begins unless it has.
	Matchers, From string
	Until          When
	By, Comment    string
	// URL is its page there.
	URL string
}

// AlertGroup is the rules in one state.
type AlertGroup struct {
	Label, Count string
	Rows         []AlertRow
}

// AlertRow is one alert, or a rule that has none.
type AlertRow struct {
	// Look is the state's: glyph, class, and word.
	Look     Health
	Name     string
	Severity string
	// About is what the alert says or watches, Figure the number behind it in words.
	About, Figure string
	// Subject leads to what the alert is about.
	Subject *Link
	Since   When
	// Until says when something is known or happens, where there is no Since: "unknown until 14:30".
	Until string
	// Do is the first step, Runbook the page with all of them.
	Do      string
	Runbook Link
	// Beside is what Prometheus and the Alertmanager say of the rule.
	Beside []string
}

// id tells a row from the others. What a resting rule is nearest to changes, so that is no part of it.
func (r AlertRow) id() string {
	if r.Subject == nil || !r.Since.Known() {
		return r.Name
	}
	return r.Name + " " + r.Subject.URL
}

// RunbookPage is what an alert means and what to do about it.
type RunbookPage struct {
	Crumbs []Crumb
	Title  string
	// HTML is the text; it was made from our own Markdown without raw HTML.
	HTML string
	// Rules are the alerts that lead here, with their state now.
	Rules []AlertRow
	Aged  bool
}

// alertColumns is how many columns the table has.
func alertColumns(v AlertsPage) string {
	if v.Beside != "" {
		return "5"
	}
	return "4"
}

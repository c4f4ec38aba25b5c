package templates

// AlertsPage is every alert rule with its state now.
type AlertsPage struct {
	// Look is that of the worst state.
	Look Health
	// Title is the finding, Say goes on.
	Title, Say string
	Groups     []AlertGroup
	Aged       bool
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

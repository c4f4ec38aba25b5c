package outside

import (
	"strings"
	"time"

	"bullpen/alerts"
)

// State is what both say; immutable once published.
type State struct {
	// Prometheus and Alertmanager say how asking goes; nil when there is none.
	Prometheus, Alertmanager *Source
	// Rules are the rules of ours that Prometheus has loaded, by Key.
	Rules map[string]Rule
	// Alerts are those of ours that the Alertmanager knows; Silences those that may be about them.
	Alerts   []Alert
	Silences []Silence
}

// Source says how asking one of them goes.
type Source struct {
	// URL is its address without user and password.
	URL string
	// Asked says whether a question was answered or failed yet. Err is why the last one failed, "" when it did not;
	// Answered is when one last did not.
	Asked    bool
	Err      string
	Answered time.Time
}

// Rule is what Prometheus makes of a rule.
type Rule struct {
	// Err is why it cannot be evaluated, "" when it can.
	Err string
	// Active are its alerts, pending and firing, at most maxActive.
	Active []Alert
}

// Alert is one alert.
type Alert struct {
	Labels map[string]string
	// State is "pending" or "firing" from Prometheus; "active", "silenced", "inhibited" or "unprocessed" from the
	// Alertmanager.
	State string
	// SilencedBy are the ids of the silences that hold it.
	SilencedBy []string
}

// Silence is one of the Alertmanager's.
type Silence struct {
	ID string
	// State is "active" or "pending".
	State            string
	Matchers         []Matcher
	StartsAt, EndsAt time.Time
	By, Comment      string
}

// Matcher is one condition of a silence: Op is one of = != =~ !~.
type Matcher struct{ Name, Op, Value string }

// String writes it as the Alertmanager does.
func (m Matcher) String() string { return m.Name + m.Op + `"` + m.Value + `"` }

// Key names a rule by its name and the labels it adds.
func Key(name string, labels map[string]string) string {
	return strings.Join([]string{name, labels["severity"], labels["window"], labels["reason"]}, "/")
}

// Of is the rule of ours as Prometheus has it; false if it has none.
func (s *State) Of(a alerts.Alert) (Rule, bool) {
	r, ok := s.Rules[Key(a.Name, a.Labels())]
	return r, ok
}

// Known are the alerts of a rule that the Alertmanager knows.
func (s *State) Known(a alerts.Alert) (out []Alert) {
	for _, x := range s.Alerts {
		if x.isOf(a) {
			out = append(out, x)
		}
	}
	return out
}

// isOf reports whether an alert is one of a rule's. It may have more labels than the rule adds.
func (x Alert) isOf(a alerts.Alert) bool {
	for name, value := range a.Labels() {
		if x.Labels[name] != value {
			return false
		}
	}
	return x.Labels["alertname"] == a.Name
}

// Silence finds a silence; nil if it is not there.
func (s *State) Silence(id string) *Silence {
	for i := range s.Silences {
		if s.Silences[i].ID == id {
			return &s.Silences[i]
		}
	}
	return nil
}

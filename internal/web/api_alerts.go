package web

import (
	"context"
	"time"

	"bullpen/alerts"
	"bullpen/internal/monitor/alerting"
	"bullpen/internal/outside"
)

// alertsJSON is the alerts page: our own evaluation, and what others say beside it where they are configured.
type alertsJSON struct {
	Rules        []ruleJSON    `json:"rules"`
	Prometheus   *sourceJSON   `json:"prometheus,omitempty"`
	Alertmanager *sourceJSON   `json:"alertmanager,omitempty"`
	Silences     []silenceJSON `json:"silences" doc:"of the Alertmanager, active and pending, that may be about these rules"`
	Webhook      *webhookJSON  `json:"webhook,omitempty"`
}

type ruleJSON struct {
	Name         string      `json:"name"`
	Severity     string      `json:"severity"`
	State        string      `json:"state" enum:"inactive,pending,firing,unknown,outside" doc:"outside: only Prometheus evaluates it"`
	UnknownUntil *time.Time  `json:"unknownUntil,omitempty"`
	Runbook      string      `json:"runbook"`
	Active       []alertJSON `json:"active"`
	// Prometheus is absent when none was asked yet.
	Prometheus   *ruleOutsideJSON `json:"prometheus,omitempty"`
	Alertmanager map[string]int64 `json:"alertmanager,omitempty" doc:"how many of its alerts are active, silenced, inhibited or unprocessed there"`
}

type alertJSON struct {
	State       string            `json:"state" enum:"pending,firing"`
	Since       time.Time         `json:"since"`
	Value       float64           `json:"value"`
	Labels      map[string]string `json:"labels"`
	Summary     string            `json:"summary"`
	Description string            `json:"description"`
}

// ruleOutsideJSON is what Prometheus makes of a rule.
type ruleOutsideJSON struct {
	Loaded  bool   `json:"loaded"`
	Firing  int64  `json:"firing"`
	Pending int64  `json:"pending"`
	Error   string `json:"error,omitempty" doc:"why it cannot be evaluated"`
}

// sourceJSON says how asking a Prometheus or an Alertmanager goes.
type sourceJSON struct {
	URL      string     `json:"url"`
	Asked    bool       `json:"asked"`
	Answered *time.Time `json:"answered,omitempty" doc:"from when what is told of it is"`
	Error    string     `json:"error,omitempty" doc:"why the last question failed"`
}

type silenceJSON struct {
	ID       string     `json:"id"`
	State    string     `json:"state" enum:"active,pending"`
	Matchers []string   `json:"matchers" doc:"as the Alertmanager writes them"`
	StartsAt *time.Time `json:"startsAt,omitempty"`
	EndsAt   *time.Time `json:"endsAt,omitempty"`
	By       string     `json:"createdBy,omitempty"`
	Comment  string     `json:"comment,omitempty"`
}

// webhookJSON says how our own messages fare.
type webhookJSON struct {
	Sending  bool       `json:"sending" doc:"false: another replica sends"`
	LastSent *time.Time `json:"lastSent,omitempty"`
	Error    string     `json:"error,omitempty" doc:"why the last message was not taken"`
}

func (s *Server) apiAlerts(_ context.Context, r viewRequest) (any, error) {
	out, st := alertsJSON{Rules: []ruleJSON{}, Silences: []silenceJSON{}}, s.outsideSays()
	for _, found := range s.o.Monitor.Alerts() {
		rule := s.ruleJSON(st, r.who, found.Rule, found.State)
		rule.UnknownUntil = known(found.UnknownUntil)
		visible := s.visibleAlerts(r.who, found.Active)
		if len(visible) < len(found.Active) {
			rule.State = string(stateOf(visible)) // as far as this viewer may know
		}
		for _, a := range visible {
			rule.Active = append(rule.Active, alertJSON{string(a.State), a.Since, a.Value, a.Labels.Map(), a.Summary, a.Description})
		}
		out.Rules = append(out.Rules, rule)
	}
	for _, a := range alerts.Alerts("bullpen") {
		if a.Outside {
			out.Rules = append(out.Rules, s.ruleJSON(st, r.who, a, outsideState))
		}
	}
	if st != nil {
		out.Prometheus, out.Alertmanager = sourceOf(st.Prometheus), sourceOf(st.Alertmanager)
		for _, x := range st.Silences {
			if s.maySee(r.who, x) {
				out.Silences = append(out.Silences, silenceJSON{x.ID, x.State, matcherTexts(x), known(x.StartsAt), known(x.EndsAt), x.By, x.Comment})
			}
		}
	}
	if s.o.Webhook != nil {
		w := s.o.Webhook()
		out.Webhook = &webhookJSON{w.Sending, known(w.LastSent), w.Err}
	}
	return out, nil
}

// stateOf is the state of a rule that has these alerts.
func stateOf(active []alerting.Active) alerting.State {
	state := alerting.Inactive
	for _, a := range active {
		if state = a.State; state == alerting.Firing {
			break
		}
	}
	return state
}

// ruleJSON is a rule with what others say of it.
func (s *Server) ruleJSON(st *outside.State, who Identity, a alerts.Alert, state alerting.State) ruleJSON {
	out := ruleJSON{Name: a.Name, Severity: string(a.Severity), State: string(state), Runbook: a.Runbook, Active: []alertJSON{}}
	if st == nil {
		return out
	}
	if st.Prometheus != nil && !st.Prometheus.Answered.IsZero() {
		rule, loaded := st.Of(a)
		n := s.countByState(who, rule.Active)
		out.Prometheus = &ruleOutsideJSON{loaded, n["firing"], n["pending"], rule.Err}
	}
	if st.Alertmanager != nil && !st.Alertmanager.Answered.IsZero() {
		out.Alertmanager = s.countByState(who, st.Known(a))
	}
	return out
}

func sourceOf(x *outside.Source) *sourceJSON {
	if x == nil {
		return nil
	}
	return &sourceJSON{x.URL, x.Asked, known(x.Answered), x.Err}
}

// matcherTexts are the conditions of a silence as the Alertmanager writes them.
func matcherTexts(x outside.Silence) []string {
	out := make([]string, len(x.Matchers))
	for i, m := range x.Matchers {
		out[i] = m.String()
	}
	return out
}

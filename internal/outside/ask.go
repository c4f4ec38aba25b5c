package outside

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"bullpen/alerts"
)

// Bounds of what is kept.
const (
	maxActive   = 500 // alerts of one rule
	maxAlerts   = 5000
	maxSilences = 200
	maxText     = 500 // bytes of a text that somebody wrote
)

// ourNames are the names of all alerts.
func ourNames() []string {
	var out []string
	for _, a := range alerts.Alerts("bullpen") {
		if !slices.Contains(out, a.Name) {
			out = append(out, a.Name)
		}
	}
	return out
}

// rules asks Prometheus for the state of its alerting rules and keeps ours.
func (w *Watcher) rules(ctx context.Context) (map[string]Rule, error) {
	var answer struct {
		Status, Error string
		Data          struct {
			Groups []struct {
				Rules []struct {
					Name, LastError string
					Labels          map[string]string
					Alerts          []struct {
						State  string
						Labels map[string]string
					}
				}
			}
		}
	}
	if err := w.get(ctx, w.prom, "api/v1/rules", url.Values{"type": {"alert"}}, &answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("it refuses: %s", cut(cmp.Or(answer.Error, "without a reason")))
	}
	names, out := ourNames(), map[string]Rule{}
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			if !slices.Contains(names, r.Name) {
				continue
			}
			kept := Rule{Err: cut(r.LastError)}
			for _, a := range r.Alerts {
				if w.ours(a.Labels) && len(kept.Active) < maxActive {
					kept.Active = append(kept.Active, Alert{Labels: a.Labels, State: a.State})
				}
			}
			out[Key(r.Name, r.Labels)] = kept
		}
	}
	return out, nil
}

// ours reports whether an alert is about our Redis or about none.
func (w *Watcher) ours(labels map[string]string) bool {
	return labels["redis"] == "" || labels["redis"] == w.o.Alias
}

// alerts asks the Alertmanager for the alerts of ours and for its silences.
func (w *Watcher) alerts(ctx context.Context) ([]Alert, []Silence, error) {
	var known []struct {
		Labels map[string]string
		Status struct {
			State                   string
			SilencedBy, InhibitedBy []string
		}
	}
	names := ourNames()
	filter := url.Values{"filter": {`alertname=~"` + strings.Join(names, "|") + `"`}}
	if err := w.get(ctx, w.manager, "api/v2/alerts", filter, &known); err != nil {
		return nil, nil, err
	}
	var list []struct {
		ID                 string
		Status             struct{ State string }
		StartsAt, EndsAt   time.Time
		CreatedBy, Comment string
		Matchers           []struct {
			Name, Value string
			IsRegex     bool
			IsEqual     *bool // absent before 0.22, where it was always so
		}
	}
	if err := w.get(ctx, w.manager, "api/v2/silences", nil, &list); err != nil {
		return nil, nil, err
	}
	var found []Alert
	for _, a := range known {
		if slices.Contains(names, a.Labels["alertname"]) && w.ours(a.Labels) && len(found) < maxAlerts {
			found = append(found, Alert{Labels: a.Labels, State: stateOf(a.Status.State, a.Status.SilencedBy, a.Status.InhibitedBy), SilencedBy: a.Status.SilencedBy})
		}
	}
	var silences []Silence
	for _, x := range list {
		s := Silence{ID: x.ID, State: x.Status.State, StartsAt: x.StartsAt, EndsAt: x.EndsAt, By: cut(x.CreatedBy), Comment: cut(x.Comment)}
		for _, m := range x.Matchers {
			s.Matchers = append(s.Matchers, Matcher{cut(m.Name), op(m.IsRegex, m.IsEqual == nil || *m.IsEqual), cut(m.Value)})
		}
		if s.State != "expired" && s.concerns(names, w.o.Alias) {
			silences = append(silences, s)
		}
	}
	slices.SortFunc(silences, func(a, b Silence) int { return cmp.Or(a.EndsAt.Compare(b.EndsAt), cmp.Compare(a.ID, b.ID)) })
	return found, silences[:min(len(silences), maxSilences)], nil
}

func stateOf(state string, silencedBy, inhibitedBy []string) string {
	switch {
	case state != "suppressed":
		return state
	case len(silencedBy) > 0:
		return "silenced"
	case len(inhibitedBy) > 0:
		return "inhibited"
	}
	return state
}

func op(regex, equal bool) string {
	switch {
	case regex && equal:
		return "=~"
	case regex:
		return "!~"
	case equal:
		return "="
	}
	return "!="
}

// concerns reports whether a silence may be about alerts of ours: it names one of them, or what only they have.
func (s Silence) concerns(names []string, alias string) bool {
	about := false
	for _, m := range s.Matchers {
		switch m.Name {
		case "alertname":
			if !slices.ContainsFunc(names, m.matches) {
				return false
			}
			about = true
		case "redis":
			if !m.matches(alias) {
				return false
			}
			about = true
		case "queue", "prefix":
			about = true
		case "job", "component":
			about = about || m.matches("bullpen") || m.matches("queue") || m.matches("redis") || m.matches("exporter")
		}
	}
	return about
}

func (m Matcher) matches(value string) bool {
	switch m.Op {
	case "=":
		return m.Value == value
	case "!=":
		return m.Value != value
	}
	re, err := regexp.Compile("^(?:" + m.Value + ")$")
	return err == nil && re.MatchString(value) == (m.Op == "=~")
}

// cut shortens a text that somebody wrote.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

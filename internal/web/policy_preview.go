package web

import (
	"maps"

	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/templates"
)

// policyAsk starts a question about a policy. It leads back to the policy's page unless it was asked elsewhere.
func (s *Server) policyAsk(c *Call, title, yes, no string) templates.Ask {
	if c.Values.Get("back") == "" {
		asked := *c
		asked.Values = maps.Clone(c.Values)
		asked.Values.Set("back", s.links.queuePath(c.Queue, "policy"))
		c = &asked
	}
	return s.ask(c, title, yes, no)
}

// previewAsk is a question that shows what a change of the policy means.
func (s *Server) previewAsk(c *Call, title, yes string, p policyState, after policy.Policy, changes []livepolicy.Difference) templates.Ask {
	a := s.policyAsk(c, title, yes, "Cancel")
	a.Big = true
	a.Fields = append(a.Fields, templates.Field{Name: "seen", Value: atRevision(p)})
	a.Lists = []templates.AskList{{Title: "What changes", Items: changeItems(changes)}, {Title: "What it means", Items: effectItems(effects(p, after, changes))}}
	if warnings := newWarnings(p.inForce, after); len(warnings) > 0 {
		a.Lists = append(a.Lists, templates.AskList{Title: "What it cannot hold", Items: warnings})
	}
	return a
}

func changeItems(changes []livepolicy.Difference) []templates.Sample {
	var out []templates.Sample
	for _, c := range changes {
		out = append(out, templates.Sample{ID: c.Field, Text: c.Before + " → " + c.After})
	}
	return out
}

func effectItems(effects []templates.Detail) []templates.Sample {
	var out []templates.Sample
	for _, e := range effects {
		text := e.Label + ": " + e.Value
		if e.Small != "" {
			text += "; " + e.Small
		}
		out = append(out, templates.Sample{Text: text})
	}
	return out
}

// newWarnings are what the policy after a change is warned of.
func newWarnings(before, after policy.Policy) []templates.Sample {
	known := map[string]bool{}
	for _, w := range before.Validate() {
		known[w.String()] = true
	}
	var out []templates.Sample
	for _, w := range after.Validate() {
		if w.Warning && !known[w.String()] {
			out = append(out, templates.Sample{ID: w.Field, Text: w.Text})
		}
	}
	return out
}

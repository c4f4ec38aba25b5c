package web

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/templates"
)

// policyForm reads a change of a policy: what the form does not say stays as it is.
type policyForm struct {
	given    url.Values
	next     policy.Policy
	paused   bool // as it is
	pause    bool // as it shall be
	inputs   []templates.Input
	problems map[string]string // by input
}

// none is how people take an optional setting away.
const none = "none"

// readPolicyForm reads given over what is in force.
func readPolicyForm(given url.Values, current policy.Policy, paused bool) *policyForm {
	f := &policyForm{given: given, next: current, paused: paused, pause: paused, problems: map[string]string{}}
	f.number("concurrency", "Concurrency", "Jobs each Bullpen worker runs at once.", &f.next.Concurrency, false)
	f.number("global_concurrency", "Whole fleet", "Jobs all workers run at once, also those of other clients; none for no bound.", &f.next.GlobalConcurrency, true)
	f.next.ClearGlobal = current.ClearGlobal && f.next.GlobalConcurrency == 0
	f.limiter()
	f.number("attempts", "Attempts", "Of jobs added through Bullpen that do not say.", &f.next.Attempts, false)
	f.backoff()
	f.keep("keep_completed", "Keep completed", &f.next.KeepCompleted)
	f.keep("keep_failed", "Keep failed", &f.next.KeepFailed)
	f.choose("paused", "Queue", map[bool]string{false: "no", true: "yes"}[paused], []templates.Option{{Value: "no", Label: "runs"}, {Value: "yes", Label: "is paused"}},
		func(v string) { f.pause = v == "yes" })
	f.judge()
	return f
}

// text is the value of an input: what was given, else what is in force.
func (f *policyForm) text(name, current string) string {
	if f.given.Has(name) {
		return strings.TrimSpace(f.given.Get(name))
	}
	return current
}

func (f *policyForm) add(in templates.Input) { f.inputs = append(f.inputs, in) }

// number reads a whole number; an optional one may be taken away.
func (f *policyForm) number(name, label, help string, to *int, optional bool) {
	current := strconv.Itoa(*to)
	if optional && *to == 0 {
		current = none
	}
	text := f.text(name, current)
	f.add(templates.Input{Kind: "text", Name: name, Label: label, Value: text, Help: help})
	if optional && (text == "" || text == none) {
		*to = 0
		return
	}
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	if err != nil || n < 1 {
		f.problems[name] = "A whole number from 1 up."
		return
	}
	*to = n
}

// span reads a duration; zero is the empty text.
func (f *policyForm) span(name, label, help string, to *time.Duration) {
	current := ""
	if *to > 0 {
		current = livepolicy.DurationText(*to)
	}
	text := f.text(name, current)
	f.add(templates.Input{Kind: "text", Name: name, Label: label, Value: text, Help: help})
	if text == "" || text == none {
		*to = 0
		return
	}
	d, err := parseSpan(text)
	if err != nil {
		f.problems[name] = err.Error()
		return
	}
	*to = d
}

// choose reads one of a few words.
func (f *policyForm) choose(name, label, current string, options []templates.Option, take func(string)) {
	value := f.text(name, current)
	in := templates.Input{Kind: "select", Name: name, Label: label}
	known := false
	for _, o := range options {
		o.Chosen = o.Value == value
		known = known || o.Chosen
		in.Options = append(in.Options, o)
	}
	f.add(in)
	if !known {
		f.problems[name] = "One of the words in the list."
		return
	}
	take(value)
}

func (f *policyForm) limiter() {
	l := &f.next.Limiter
	f.number("limiter_max", "Limiter: at most", "Starts per window over all replicas; none for no limiter.", &l.Max, true)
	f.span("limiter_duration", "Limiter: per", "Such as 1s or 1min.", &l.Duration)
	scope := l.Scope
	if scope == "" {
		scope = "worker"
	}
	f.choose("limiter_scope", "Limiter: obeyed by", scope, []templates.Option{{Value: "worker", Label: "Bullpen's workers"}, {Value: "queue", Label: "workers of all clients"}},
		func(v string) { l.Scope = v })
	if l.Max == 0 && f.problems["limiter_max"] == "" {
		*l = policy.Limiter{}
	}
}

func (f *policyForm) backoff() {
	b := &f.next.Backoff
	kind := b.Type
	if kind == "" {
		kind = none
	}
	options := []templates.Option{{Value: none, Label: "at once"}, {Value: policy.Fixed, Label: "fixed"}, {Value: policy.Exponential, Label: "exponential"}}
	f.choose("backoff_type", "Backoff", kind, options, func(v string) { b.Type = strings.TrimPrefix(v, none) })
	f.span("backoff_delay", "Backoff: delay", "Before the first retry.", &b.Delay)
	f.span("backoff_max", "Backoff: at most", "Cap of every computed delay; empty for none.", &b.Max)
	jitter := f.text("backoff_jitter", strconv.FormatFloat(b.Jitter, 'g', -1, 64))
	f.add(templates.Input{Kind: "text", Name: "backoff_jitter", Label: "Backoff: jitter", Value: jitter, Help: "0 to 1."})
	v, err := strconv.ParseFloat(jitter, 64)
	switch {
	case jitter == "":
		b.Jitter = 0
	case err != nil:
		f.problems["backoff_jitter"] = "A number from 0 to 1."
	default:
		b.Jitter = v
	}
	if b.Type == "" {
		b.Delay, b.Jitter = 0, 0
	}
}

// keep reads a retention rule as KeepText writes it: all, none, a number, a duration, or a number and a duration.
func (f *policyForm) keep(name, label string, to *policy.Keep) {
	current := livepolicy.KeepText(*to)
	text := f.text(name, current)
	f.add(templates.Input{Kind: "text", Name: name, Label: label, Value: text, Help: "A number, a duration, both with a comma, all or none."})
	if text == current {
		return // also what the words do not say, the limit, stays
	}
	k, ok := parseKeep(text)
	if !ok {
		f.problems[name] = "Such as 1000, 168h, or 1000, 168h; all or none."
		return
	}
	*to = k
}

func parseKeep(text string) (policy.Keep, bool) {
	k := policy.Keep{Set: true, Count: -1}
	switch text {
	case "all":
		return k, true
	case none:
		k.Count = 0
		return k, true
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if n, err := strconv.ParseInt(part, 10, 64); err == nil {
			if n < 1 || k.Count > 0 {
				return k, false
			}
			k.Count = n
			continue
		}
		d, err := parseSpan(part)
		if err != nil || d <= 0 || k.Age > 0 {
			return k, false
		}
		k.Age = d
	}
	return k, true
}

// judge finds what is wrong with the policy as a whole and puts it beside the field, and what was found beside each
// input into it.
func (f *policyForm) judge() {
	for _, p := range f.next.Validate() {
		if name := inputOf(p.Field); !p.Warning && f.problems[name] == "" {
			f.problems[name] = p.Text
		}
	}
	for i := range f.inputs {
		f.inputs[i].Problem = f.problems[f.inputs[i].Name]
	}
}

// inputOf is the input for a field as the policy's checks name it.
func inputOf(field string) string {
	switch field {
	case "limiter":
		return "limiter_max"
	case "backoff":
		return "backoff_type"
	}
	if keep, _, ok := strings.Cut(field, "."); ok && strings.HasPrefix(keep, "keep_") {
		return keep
	}
	return strings.ReplaceAll(field, ".", "_")
}

// ok reports whether everything was understood and makes a valid policy.
func (f *policyForm) ok() bool { return len(f.problems) == 0 }

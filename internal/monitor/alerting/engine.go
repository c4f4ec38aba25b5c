package alerting

import (
	"cmp"
	"regexp"
	"slices"
	"sync"
	"time"

	"bullpen/alerts"
)

// Interval is how often Tick should be called.
const Interval = 30 * time.Second

// Sample is the value of a series now.
type Sample struct {
	Name   string
	Labels Labels
	Value  float64
}

// State is that of a rule or of one alert of it.
type State string

// The states. Unknown means that a window the rule looks at is not filled yet.
const (
	Inactive State = "inactive"
	Pending  State = "pending"
	Firing   State = "firing"
	Unknown  State = "unknown"
)

// Active is one alert that is pending or firing.
type Active struct {
	// Labels are those of the series and those the rule adds.
	Labels Labels
	State  State
	// Since is when its expression began to hold.
	Since time.Time
	// Value is the figure; Summary and Description are the rule's texts with it.
	Value                float64
	Summary, Description string
}

// Status is the state of one rule.
type Status struct {
	Rule  alerts.Alert
	State State
	// UnknownUntil is when the windows of the rule are filled; zero when they are, or when nothing was read yet. Until
	// then the rule may have missed an alert that it does not show.
	UnknownUntil time.Time
	// Active are its alerts, firing ones first, then by labels.
	Active []Active
}

// Engine keeps the history and the state of every alert. It is safe for concurrent use.
type Engine struct {
	mu         sync.Mutex
	began      time.Time
	now        time.Time
	recordings []alerts.Recording
	rules      []*rule
	raw        []string // names that are not recorded
	eval       evaluator
}

// New returns an engine for all rules that need no outside view.
func New() *Engine {
	e := &Engine{recordings: slices.Concat(alerts.Gauges(), alerts.Rates())}
	for _, a := range alerts.Alerts("bullpen") {
		if !a.Outside {
			e.rules = append(e.rules, newRule(a))
		}
	}
	keep := horizons(e.recordings, e.rules)
	needs := lookbacks(e.recordings)
	for _, r := range e.rules {
		r.needs = needs.of(r.alert.Expr)
	}
	recorded := map[string]bool{}
	for _, r := range e.recordings {
		recorded[r.Name] = true
	}
	for name := range keep {
		if !recorded[name] {
			e.raw = append(e.raw, name)
		}
	}
	e.eval = evaluator{store: &store{series: map[string]map[string]*history{}, keep: keep}, patterns: map[string]*regexp.Regexp{}}
	return e
}

// Metrics lists the names of the samples the rules ask for; Tick ignores others.
func (e *Engine) Metrics() []string { return slices.Sorted(slices.Values(e.raw)) }

// Tick takes all samples there are at a time and evaluates every rule. A series without a sample has ended. A time that
// is not after the last one is ignored.
func (e *Engine) Tick(at time.Time, samples []Sample) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at = at.Truncate(time.Millisecond)
	if !at.After(e.now) {
		return
	}
	if e.began.IsZero() {
		e.began = at
	}
	e.take(at, samples)
	e.evaluate(at)
}

// take stores samples.
func (e *Engine) take(at time.Time, samples []Sample) {
	ms := at.UnixMilli()
	for _, s := range samples {
		e.eval.store.add(s.Name, s.Labels, ms, s.Value)
	}
	for _, name := range e.raw {
		e.eval.store.settle(name, ms)
	}
}

// evaluate brings recorded series and alerts up to date.
func (e *Engine) evaluate(at time.Time) {
	e.now, e.eval.now = at, at.UnixMilli()
	for _, r := range e.recordings {
		for _, v := range e.eval.vector(r.Expr) {
			e.eval.store.add(r.Name, v.labels, e.eval.now, v.v)
		}
		e.eval.store.settle(r.Name, e.eval.now)
	}
	for _, r := range e.rules {
		r.update(at, e.eval.vector(r.alert.Expr))
	}
}

// Status returns the state of every rule, in the order of the table.
func (e *Engine) Status() []Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]Status, len(e.rules))
	for i, r := range e.rules {
		out[i] = r.status(e.began, e.now)
	}
	return out
}

// Reading is a figure of a rule and the limit it is held against.
type Reading struct {
	Labels       Labels
	Value, Limit float64
}

// Nearest returns the reading of a rule that is nearest to its limit, or furthest past it; false if there is none, for
// instance because the rule compares nothing with a limit above 0. i is the rule's place in Status.
func (e *Engine) Nearest(i int) (Reading, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, ok := leading(e.rules[i].alert.Expr)
	if !ok || e.now.IsZero() {
		return Reading{}, false
	}
	limits := map[string]float64{}
	fixed, isFixed := constant(c.R)
	if !isFixed {
		for _, v := range e.eval.vector(c.R) {
			limits[v.labels.key()] = v.v
		}
	}
	var best Reading
	for _, v := range e.eval.vector(c.L) {
		limit, ok := limits[v.labels.key()]
		if isFixed {
			limit, ok = fixed, true
		}
		if ok && limit > 0 && (best.Limit == 0 || v.v/limit > best.Value/best.Limit) {
			best = Reading{v.labels, v.v, limit}
		}
	}
	return best, best.Limit > 0
}

// leading is the comparison whose left side is the figure of the rule.
func leading(x alerts.Expr) (alerts.Binary, bool) {
	b, ok := x.(alerts.Binary)
	for ok && (b.Op == "and" || b.Op == "unless") {
		b, ok = b.L.(alerts.Binary)
	}
	return b, ok && (b.Op == ">" || b.Op == ">=")
}

// byUrgency orders alerts of one rule.
func byUrgency(a, b Active) int {
	if a.State != b.State {
		if a.State == Firing {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Labels.key(), b.Labels.key())
}

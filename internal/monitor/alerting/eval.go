package alerting

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"bullpen/alerts"
)

// value is one element of a result.
type value struct {
	labels Labels
	v      float64
}

// evaluator evaluates expressions at one time.
type evaluator struct {
	store    *store
	patterns map[string]*regexp.Regexp
	now      int64
	buf      []point
}

// vector evaluates an expression that selects series.
func (e *evaluator) vector(x alerts.Expr) []value {
	switch x := x.(type) {
	case alerts.Selector:
		return e.selector(x, func(h *history, at int64) (float64, bool) { return h.at(at) })
	case alerts.Range:
		return e.selector(x.Of, func(h *history, end int64) (float64, bool) {
			e.buf = h.window(end-x.Window.Milliseconds(), end, e.buf[:0])
			return overTime(x, e.buf, end, e.now)
		})
	case alerts.Aggregate:
		return aggregate(x, e.vector(x.Of))
	case alerts.Binary:
		return e.binary(x)
	case alerts.Call:
		return e.call(x)
	}
	panic(fmt.Sprintf("alerting: cannot evaluate a %T", x)) // the table of package alerts has no other
}

// constant returns the value of an expression that is a number.
func constant(x alerts.Expr) (float64, bool) {
	switch x := x.(type) {
	case alerts.Number:
		return float64(x), true
	case alerts.Seconds:
		return seconds(int64(x) / 1e6), true
	}
	return 0, false
}

func (e *evaluator) selector(s alerts.Selector, read func(*history, int64) (float64, bool)) []value {
	var out []value
	at := e.now - s.Offset.Milliseconds()
	for _, h := range e.store.series[s.Name] {
		if !e.matches(s.Match, h.labels) {
			continue
		}
		if v, ok := read(h, at); ok {
			out = append(out, value{h.labels, v})
		}
	}
	return out
}

func (e *evaluator) matches(matchers []alerts.Matcher, labels Labels) bool {
	return !slices.ContainsFunc(matchers, func(m alerts.Matcher) bool {
		got := labels.Get(m.Label)
		switch m.Op {
		case "=":
			return got != m.Value
		case "!=":
			return got == m.Value
		case "=~":
			return !e.pattern(m.Value).MatchString(got)
		default:
			return e.pattern(m.Value).MatchString(got)
		}
	})
}

func (e *evaluator) pattern(text string) *regexp.Regexp {
	p := e.patterns[text]
	if p == nil {
		p = regexp.MustCompile("^(?:" + text + ")$")
		e.patterns[text] = p
	}
	return p
}

func aggregate(a alerts.Aggregate, in []value) []value {
	index := map[string]int{}
	var out []value
	for _, v := range in {
		labels := v.labels
		if len(a.By) > 0 {
			labels = labels.by(a.By)
		} else {
			labels = labels.without(a.Without)
		}
		key := labels.key()
		i, seen := index[key]
		switch {
		case !seen:
			index[key] = len(out)
			out = append(out, value{labels, v.v})
		case a.Fn == "sum":
			out[i].v += v.v
		default:
			out[i].v = math.Max(out[i].v, v.v)
		}
	}
	return out
}

func (e *evaluator) call(c alerts.Call) []value {
	if c.Fn != "clamp_max" {
		panic("alerting: no function " + c.Fn) // what else the table calls is Outside
	}
	most, _ := constant(c.Args[1])
	out := e.vector(c.Args[0])
	for i := range out {
		out[i].v = math.Min(out[i].v, most)
	}
	return out
}

func (e *evaluator) binary(b alerts.Binary) []value {
	if n, ok := constant(b.R); ok {
		return each(e.vector(b.L), func(v float64) (float64, bool) { return operate(b.Op, v, n, v) })
	}
	if n, ok := constant(b.L); ok {
		return each(e.vector(b.R), func(v float64) (float64, bool) { return operate(b.Op, n, v, v) })
	}
	left, right := e.vector(b.L), e.vector(b.R)
	others := make(map[string]float64, len(right))
	for _, v := range right {
		others[v.labels.key()] = v.v
	}
	var out []value
	seen := make(map[string]bool, len(left))
	for _, v := range left {
		key := v.labels.key()
		seen[key] = true
		other, matched := others[key]
		switch b.Op {
		case "and":
			if matched {
				out = append(out, v)
			}
		case "unless":
			if !matched {
				out = append(out, v)
			}
		case "or":
			out = append(out, v)
		default:
			if !matched {
				continue
			}
			if r, ok := operate(b.Op, v.v, other, v.v); ok {
				out = append(out, value{v.labels, r})
			}
		}
	}
	if b.Op == "or" {
		for _, v := range right {
			if !seen[v.labels.key()] {
				out = append(out, v)
			}
		}
	}
	return out
}

func each(in []value, fn func(float64) (float64, bool)) []value {
	out := in[:0]
	for _, v := range in {
		if r, ok := fn(v.v); ok {
			out = append(out, value{v.labels, r})
		}
	}
	return out
}

// operate computes, or compares and then keeps a value.
func operate(op string, l, r, keep float64) (float64, bool) {
	switch op {
	case "+":
		return l + r, true
	case "-":
		return l - r, true
	case "*":
		return l * r, true
	case "/":
		return l / r, true
	case ">":
		return keep, l > r
	case ">=":
		return keep, l >= r
	case "<":
		return keep, l < r
	case "<=":
		return keep, l <= r
	case "==":
		return keep, l == r
	}
	panic("alerting: no operator " + op)
}

package alerts

import "time"

// Expr is an expression in the part of PromQL the rules need: Number, Seconds, Selector, Range, Binary, Aggregate or
// Call.
type Expr interface{ expr() }

// Number is a constant.
type Number float64

// Seconds is a constant that is a time, printed in seconds. It shrinks when rules are compressed in time.
type Seconds time.Duration

// Selector is the series with a name and labels, now or Offset ago.
type Selector struct {
	Name   string
	Match  []Matcher
	Offset time.Duration
}

// Matcher restricts a label: Op is one of = != =~ !~.
type Matcher struct{ Label, Op, Value string }

// Range is a function over the samples of a window that ends Of.Offset ago: min_over_time, max_over_time, avg_over_time,
// count_over_time, last_over_time, rate, increase, deriv or predict_linear.
type Range struct {
	Fn     string
	Of     Selector
	Window time.Duration
	// Ahead is how far predict_linear looks.
	Ahead time.Duration
}

// Binary joins two expressions with an arithmetic operator (+ - * /), a comparison that filters (> >= < <= ==), or a
// set operator (and, or, unless). On, if set, are the labels that are compared.
type Binary struct {
	Op   string
	L, R Expr
	On   []string
}

// Aggregate is sum or max of the series that are equal without some labels, or by some.
type Aggregate struct {
	Fn          string
	Without, By []string
	Of          Expr
}

// Call is a function of expressions: absent, vector or clamp_max.
type Call struct {
	Fn   string
	Args []Expr
}

func (Number) expr()    {}
func (Seconds) expr()   {}
func (Selector) expr()  {}
func (Range) expr()     {}
func (Binary) expr()    {}
func (Aggregate) expr() {}
func (Call) expr()      {}

// Walk calls fn with e and every expression in it.
func Walk(e Expr, fn func(Expr)) {
	fn(e)
	switch e := e.(type) {
	case Range:
		Walk(e.Of, fn)
	case Binary:
		Walk(e.L, fn)
		Walk(e.R, fn)
	case Aggregate:
		Walk(e.Of, fn)
	case Call:
		for _, a := range e.Args {
			Walk(a, fn)
		}
	}
}

// The rest are short names, so that the tables read like the rules they become.

func series(name string, match ...Matcher) Selector { return Selector{Name: name, Match: match} }

func is(label, value string) Matcher      { return Matcher{label, "=", value} }
func not(label, value string) Matcher     { return Matcher{label, "!=", value} }
func oneOf(label, pattern string) Matcher { return Matcher{label, "=~", pattern} }

func (s Selector) ago(d time.Duration) Selector { s.Offset = d; return s }

func minOver(s Selector, d time.Duration) Expr { return Range{Fn: "min_over_time", Of: s, Window: d} }

func maxOver(s Selector, d time.Duration) Expr { return Range{Fn: "max_over_time", Of: s, Window: d} }

func avgOver(s Selector, d time.Duration) Expr { return Range{Fn: "avg_over_time", Of: s, Window: d} }

func countOver(s Selector, d time.Duration) Expr {
	return Range{Fn: "count_over_time", Of: s, Window: d}
}

func lastOver(s Selector, d time.Duration) Expr { return Range{Fn: "last_over_time", Of: s, Window: d} }
func rate(s Selector, d time.Duration) Expr     { return Range{Fn: "rate", Of: s, Window: d} }
func increase(s Selector, d time.Duration) Expr { return Range{Fn: "increase", Of: s, Window: d} }
func deriv(s Selector, d time.Duration) Expr    { return Range{Fn: "deriv", Of: s, Window: d} }

func predict(s Selector, d, ahead time.Duration) Expr {
	return Range{Fn: "predict_linear", Of: s, Window: d, Ahead: ahead}
}

func add(l, r Expr) Expr { return Binary{Op: "+", L: l, R: r} }
func mul(l, r Expr) Expr { return Binary{Op: "*", L: l, R: r} }
func div(l, r Expr) Expr { return Binary{Op: "/", L: l, R: r} }

func above(l, r Expr) Expr   { return Binary{Op: ">", L: l, R: r} }
func atLeast(l, r Expr) Expr { return Binary{Op: ">=", L: l, R: r} }
func equal(l, r Expr) Expr   { return Binary{Op: "==", L: l, R: r} }

// all is what the first expression selects where every other one selects something too.
func all(first Expr, rest ...Expr) Expr { return chain("and", first, rest) }

// except is what the first expression selects but for what any other one does.
func except(first Expr, others ...Expr) Expr { return chain("unless", first, others) }

func chain(op string, first Expr, rest []Expr) Expr {
	for _, e := range rest {
		first = Binary{Op: op, L: first, R: e}
	}
	return first
}

func either(l, r Expr) Expr { return Binary{Op: "or", L: l, R: r} }

func clampMax(e Expr, most float64) Expr { return Call{Fn: "clamp_max", Args: []Expr{e, Number(most)}} }

// replica lists the labels that tell replicas apart.
var replica = []string{"instance", "pod", "container", "endpoint"}

// bridge is how long the last sample stands in for a missing one.
const bridge = 2 * time.Minute

func maxOfReplicas(e Expr) Expr { return Aggregate{Fn: "max", Without: replica, Of: e} }
func sumOfReplicas(e Expr) Expr { return Aggregate{Fn: "sum", Without: replica, Of: e} }
func without(label string, e Expr) Expr {
	return Aggregate{Fn: "sum", Without: []string{label}, Of: e}
}

// global is a gauge that all replicas export alike.
func global(name string, match ...Matcher) Expr {
	return maxOfReplicas(lastOver(series(name, match...), bridge))
}

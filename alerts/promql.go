package alerts

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// PromQL prints e. speed shortens every time in it: 60 makes an hour of a minute; 1 changes nothing.
func PromQL(e Expr, speed float64) string {
	return printer{speed}.print(e, 0)
}

// printer prints with all times divided by speed.
type printer struct{ speed float64 }

// Binding strength of operators, as PromQL has it.
func strength(op string) int {
	switch op {
	case "or":
		return 1
	case "and", "unless":
		return 2
	case "+", "-":
		return 4
	case "*", "/":
		return 5
	default:
		return 3 // comparisons
	}
}

// print prints e inside an operator of the given strength.
func (p printer) print(e Expr, outer int) string {
	switch e := e.(type) {
	case Number:
		return strconv.FormatFloat(float64(e), 'g', -1, 64)
	case Seconds:
		return strconv.FormatFloat(p.shrink(time.Duration(e)).Seconds(), 'g', -1, 64)
	case Selector:
		return selector(e) + p.offset(e)
	case Range:
		return p.rangeCall(e)
	case Call:
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			args[i] = p.print(a, 0)
		}
		return e.Fn + "(" + strings.Join(args, ", ") + ")"
	case Aggregate:
		return e.Fn + grouping(e) + " (" + p.print(e.Of, 0) + ")"
	case Binary:
		return p.binary(e, outer)
	default:
		panic(fmt.Sprintf("alerts: no PromQL for a %T", e))
	}
}

func selector(s Selector) string {
	if len(s.Match) == 0 {
		return s.Name
	}
	parts := make([]string, len(s.Match))
	for i, m := range s.Match {
		parts[i] = m.Label + m.Op + strconv.Quote(m.Value)
	}
	return s.Name + "{" + strings.Join(parts, ", ") + "}"
}

func (p printer) offset(s Selector) string {
	if s.Offset == 0 {
		return ""
	}
	return " offset " + p.duration(s.Offset)
}

func (p printer) rangeCall(r Range) string {
	out := r.Fn + "(" + selector(r.Of) + "[" + p.duration(r.Window) + "]" + p.offset(r.Of)
	if r.Fn == "predict_linear" {
		out += ", " + p.print(Seconds(r.Ahead), 0)
	}
	return out + ")"
}

func grouping(a Aggregate) string {
	switch {
	case len(a.Without) > 0:
		return " without (" + strings.Join(a.Without, ", ") + ")"
	case len(a.By) > 0:
		return " by (" + strings.Join(a.By, ", ") + ")"
	default:
		return ""
	}
}

// binary prints set operators one to a line, with comparisons between them in parentheses.
func (p printer) binary(b Binary, outer int) string {
	own := strength(b.Op)
	l, r := p.print(b.L, own), p.print(b.R, own+1)
	op := b.Op
	if len(b.On) > 0 {
		op += " on (" + strings.Join(b.On, ", ") + ")"
	}
	sep := " "
	if own <= 2 && outer == 0 || own == outer && own == 2 {
		sep = "\n"
	}
	out := l + sep + op + " " + r
	comparisonInSet := own == 3 && outer > 0
	if own < outer || comparisonInSet {
		return "(" + out + ")"
	}
	return out
}

// shrink divides a time by the speed, to whole milliseconds.
func (p printer) shrink(d time.Duration) time.Duration {
	return time.Duration(float64(d) / p.speed).Round(time.Millisecond)
}

// duration prints a time in the largest unit that divides it.
func (p printer) duration(d time.Duration) string {
	d = max(p.shrink(d), time.Millisecond)
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d%u.unit == 0 {
			return strconv.FormatInt(int64(d/u.unit), 10) + u.name
		}
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}

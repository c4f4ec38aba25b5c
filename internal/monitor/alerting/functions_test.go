package alerting

import (
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"bullpen/alerts"
)

// TestFunctionsAgreeWithPrometheus evaluates every function at every step of series with resets, holes and ends, and
// lets promtool compute the same.
func TestFunctionsAgreeWithPrometheus(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is not installed; install it with: apt-get install -y prometheus")
	}
	m := alerts.Selector{Name: "m"}
	ago := alerts.Selector{Name: "m", Offset: 4 * time.Minute}
	exprs := []alerts.Expr{
		m, ago,
		alerts.Call{Fn: "clamp_max", Args: []alerts.Expr{m, alerts.Number(9)}},
		alerts.Binary{Op: "-", L: alerts.Number(100), R: m},
		alerts.Binary{Op: "/", L: m, R: alerts.Seconds(time.Hour)},
		alerts.Binary{Op: "or", L: alerts.Binary{Op: "<", L: m, R: alerts.Number(6)}, R: alerts.Binary{Op: "*", L: alerts.Number(0), R: m}},
	}
	for _, fn := range []string{
		"last_over_time", "count_over_time", "min_over_time", "max_over_time", "avg_over_time",
		"rate", "increase", "deriv", "predict_linear",
	} {
		for _, window := range []time.Duration{10 * time.Minute, 30 * time.Minute} {
			exprs = append(exprs, alerts.Range{Fn: fn, Of: m, Window: window, Ahead: time.Hour})
		}
		exprs = append(exprs, alerts.Range{Fn: fn, Of: ago, Window: 12 * time.Minute, Ahead: time.Hour})
	}
	for name, series := range map[string]string{
		"counter with a reset":      "_x2 100 107 107 120 3 9 9 30 41 60",
		"counter that begins at 0":  "_x3 0 0 1 1 2 40 41 44 80 81",
		"counter that begins late":  "_x6 1000 1007 1019 1020 1050",
		"gauge with holes":          "5 7 _ _ 6 8 _x3 9 3 2 8 8 8 8 8",
		"gauge that ends and comes": "4 6 stale _x2 8 9 stale _x3 2 4",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runPromtool(t, promtool, functionTest(t, series, exprs))
		})
	}
}

// functionTest evaluates expressions at every step and writes that the values are as near to ours as floats allow.
func functionTest(t *testing.T, notation string, exprs []alerts.Expr) string {
	t.Helper()
	words := strings.Fields(notation)
	stale := map[int]bool{}
	values := expand(t, notation)
	at := 0
	for _, w := range words { // where in values each word is
		if w == "stale" {
			stale[at] = true
		}
		at += len(expand(t, w))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  - interval: %s\n    input_series:\n      - {series: 'm{x=\"y\"}', values: '%s'}\n    promql_expr_test:\n", step, notation)
	e := evaluator{
		store:    &store{series: map[string]map[string]*history{}, keep: map[string]time.Duration{"m": time.Hour}},
		patterns: map[string]*regexp.Regexp{},
	}
	zero := time.Unix(0, 0).Add(time.Hour).UnixMilli()
	for i := range len(values) + 6 {
		e.now = zero + int64(i)*step.Milliseconds()
		switch {
		case i < len(values) && !math.IsNaN(values[i]):
			e.store.add("m", NewLabels("x", "y"), e.now, values[i])
		case stale[i]:
			e.store.add("m", NewLabels("x", "y"), e.now, math.NaN())
		}
		for _, x := range exprs {
			query := alerts.PromQL(x, 1)
			got := e.vector(x)
			if len(got) == 0 {
				fmt.Fprintf(&b, "      - {expr: '%s', eval_time: %s, exp_samples: []}\n", strings.ReplaceAll(query, "\n", " "), time.Duration(i)*step)
				continue
			}
			tolerance := 1e-9 * math.Max(1, math.Abs(got[0].v))
			fmt.Fprintf(&b, "      - {expr: 'max(abs((%s) - (%v)) < bool %v)', eval_time: %s, exp_samples: [{labels: '{}', value: 1}]}\n",
				strings.ReplaceAll(query, "\n", " "), got[0].v, tolerance, time.Duration(i)*step)
		}
	}
	return b.String()
}

package alerts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// scenarios is a file of promtool test rules.
type scenarios struct {
	Tests []struct {
		Name            string
		PromqlExprTests []struct {
			Expr     string
			EvalTime string                    `yaml:"eval_time"`
			Samples  []struct{ Labels string } `yaml:"exp_samples"`
		} `yaml:"promql_expr_test"`
	}
}

// TestEveryAlertIsTested looks for each rule among what the scenarios expect to fire, and to have stopped later.
func TestEveryAlertIsTested(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.test.yml")
	if err != nil {
		t.Fatal(err)
	}
	fires, resolves := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var all scenarios
		if err := yaml.Unmarshal(b, &all); err != nil {
			t.Fatal(err)
		}
		for _, test := range all.Tests {
			var firing []string // at the moment before
			var at time.Duration
			for _, e := range test.PromqlExprTests {
				if !strings.Contains(e.Expr, "count by (alertname") {
					continue
				}
				now, err := time.ParseDuration(e.EvalTime)
				if err != nil || now < at {
					t.Errorf("%s: %q at %s: moments must follow each other: %v", f, test.Name, e.EvalTime, err)
				}
				at = now
				var there []string
				for _, sample := range e.Samples {
					there = append(there, sample.Labels)
					fires[sample.Labels] = true
				}
				for _, one := range firing {
					resolves[one] = resolves[one] || !slices.Contains(there, one)
				}
				firing = there
			}
		}
	}
	for _, a := range Alerts("bullpen") {
		want := fmt.Sprintf(`{alertname="%s", severity="%s"`, a.Name, a.Severity)
		if a.Label != "" {
			want += fmt.Sprintf(`, %s="%s"`, a.Label, a.Value)
		}
		if a.Name == "BullMQJobsLostToStalls" {
			want += `, reason="stalled"` // a label of its series
		}
		want += "}"
		if a.Severity != None && (!fires[want] || !resolves[want]) {
			t.Errorf("the scenarios expect %s to fire: %v, and to stop: %v", want, fires[want], resolves[want])
		}
	}
}

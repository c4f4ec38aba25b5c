package alerting

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bullpen/alerts"

	"go.yaml.in/yaml/v4"
)

// step is the interval of the comparison.
const step = 2 * time.Minute

// scenario is one test of a promtool file: series by their text, as values one step apart; NaN is no sample.
type scenario struct {
	name   string
	series map[string][]float64
	steps  int
}

// TestAgreesWithPrometheus feeds every scenario of package alerts to the engine and to promtool, and compares which
// alerts are pending and firing, and their labels, at every step.
func TestAgreesWithPrometheus(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is not installed; install it with: apt-get install -y prometheus")
	}
	files, err := filepath.Glob("../../../alerts/*.test.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	firing := map[string]bool{}
	for _, path := range files {
		scenarios := readScenarios(t, path)
		var tests strings.Builder
		for _, s := range scenarios {
			tests.WriteString(s.test(firing))
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			runPromtool(t, promtool, tests.String())
		})
	}
	for _, a := range alerts.Alerts("bullpen") {
		if !a.Outside && !firing[a.Name+"/"+string(a.Severity)+"/"+a.Value] {
			t.Errorf("%s (%s %s) fires in no scenario, so the comparison shows nothing", a.Name, a.Severity, a.Value)
		}
	}
}

func runPromtool(t *testing.T, promtool, tests string) {
	t.Helper()
	rules, err := filepath.Abs("../../../alerts")
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("rule_files: [%s/recording.rules.yml, %s/alerts.rules.yml]\nevaluation_interval: %s\n"+
		"group_eval_order: [bullmq.recording.gauges, bullmq.recording.rates, bullmq.alerts.exporter, bullmq.alerts.queue, bullmq.alerts.redis]\n"+
		"tests:\n", rules, rules, step)
	path := filepath.Join(t.TempDir(), "compare.yml")
	if err := os.WriteFile(path, []byte(head+tests), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(promtool, "test", "rules", path).CombinedOutput()
	if err != nil {
		t.Errorf("the engine (exp) and Prometheus (got) disagree: %v\n%.6000s", err, out)
	}
}

// test runs the engine and writes what it found as expectations for promtool.
func (s scenario) test(firing map[string]bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - name: %q\n    interval: %s\n    input_series:\n", s.name, step)
	for series, values := range s.series {
		fmt.Fprintf(&b, "      - {series: '%s', values: '%s'}\n", series, notation(values))
	}
	b.WriteString("    promql_expr_test:\n")
	e := New()
	zero := time.Unix(0, 0).Add(time.Hour)
	for i := range s.steps {
		e.Tick(zero.Add(time.Duration(i)*step), s.samples(i))
		fmt.Fprintf(&b, "      - expr: ALERTS{alertname!~\"BullMQWatchdog|BullpenExporterDown|BullpenExporterReplicaDown\"}\n"+
			"        eval_time: %s\n        exp_samples:\n", time.Duration(i)*step)
		for _, status := range e.Status() {
			for _, a := range status.Active {
				if a.State == Firing {
					firing[status.Rule.Name+"/"+string(status.Rule.Severity)+"/"+status.Rule.Value] = true
				}
				labels := a.Labels.with(map[string]string{"alertname": status.Rule.Name, "alertstate": string(a.State)})
				fmt.Fprintf(&b, "          - {labels: 'ALERTS%s', value: 1}\n", braces(labels))
			}
		}
	}
	return b.String()
}

func braces(l Labels) string {
	parts := make([]string, len(l))
	for i, x := range l {
		parts[i] = x.Name + "=" + strconv.Quote(x.Value)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func notation(values []float64) string {
	out := make([]string, len(values))
	for i, v := range values {
		switch {
		case !math.IsNaN(v):
			out[i] = strconv.FormatFloat(v, 'g', -1, 64)
		case i > 0 && !math.IsNaN(values[i-1]):
			out[i] = "stale"
		default:
			out[i] = "_"
		}
	}
	return strings.Join(out, " ")
}

var selector = regexp.MustCompile(`^([a-z_]+)\{(.*)\}$`)

// samples are those of a step.
func (s scenario) samples(i int) []Sample {
	var out []Sample
	for series, values := range s.series {
		if i >= len(values) || math.IsNaN(values[i]) {
			continue
		}
		m := selector.FindStringSubmatch(series)
		var pairs []string
		for _, p := range regexp.MustCompile(`([a-z_]+)="([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
			pairs = append(pairs, p[1], p[2])
		}
		out = append(out, Sample{Name: m[1], Labels: NewLabels(pairs...), Value: values[i]})
	}
	return out
}

// readScenarios reads a promtool file and thins its series to one sample a step.
func readScenarios(t *testing.T, path string) []scenario {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tests []struct {
			Name, Interval string
			InputSeries    []struct{ Series, Values string } `yaml:"input_series"`
			Expr           []struct {
				At string `yaml:"eval_time"`
			} `yaml:"promql_expr_test"`
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var out []scenario
	for _, test := range file.Tests {
		s := scenario{name: test.Name, series: map[string][]float64{}}
		interval, err := time.ParseDuration(test.Interval)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range test.Expr {
			at, err := time.ParseDuration(x.At)
			if err != nil {
				t.Fatal(err)
			}
			s.steps = max(s.steps, int(at/step)+1)
		}
		every := int(step / interval)
		for _, in := range test.InputSeries {
			values := expand(t, in.Values)
			var thin []float64
			for i := 0; i < len(values) && len(thin) < s.steps; i += every {
				thin = append(thin, values[i])
			}
			s.series[in.Series] = slices.Concat(thin, repeat(math.NaN(), max(0, min(1, s.steps-len(thin)))))
		}
		out = append(out, s)
	}
	return out
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// expand reads promtool's notation: "1+2x3" is 1 3 5 7, "4x2" is 4 4 4, "_" and "stale" are no sample.
func expand(t *testing.T, notation string) []float64 {
	t.Helper()
	part := regexp.MustCompile(`^(-?[0-9.]+)(?:([+-][0-9.]+))?(?:x([0-9]+))?$`)
	var out []float64
	for word := range strings.FieldsSeq(notation) {
		if word == "stale" || word == "_" {
			out = append(out, math.NaN())
			continue
		}
		if n, ok := strings.CutPrefix(word, "_x"); ok {
			count, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, repeat(math.NaN(), count)...)
			continue
		}
		m := part.FindStringSubmatch(word)
		if m == nil {
			t.Fatalf("%q is not understood", word)
		}
		v, _ := strconv.ParseFloat(m[1], 64)
		by, _ := strconv.ParseFloat(strings.TrimPrefix(m[2], "+"), 64)
		count, _ := strconv.Atoi(m[3])
		for i := range count + 1 {
			out = append(out, v+by*float64(i))
		}
	}
	return out
}

package alerts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bullpen/docs/runbooks"

	"go.yaml.in/yaml/v4"
)

// program returns the path of a program of the Prometheus project.
func program(t *testing.T, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not installed; install it with: apt-get install -y %s", name, pkg)
	}
	return path
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer // one each: the command's two streams are copied side by side
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, stderr.Bytes(), stdout.Bytes())
	}
	return stdout.String()
}

// TestFilesAreFresh fails when the table was changed and the files were not generated anew.
func TestFilesAreFresh(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(io.Writer) error{
		"recording.rules.yml": func(w io.Writer) error { return WriteRecording(w, Options{}) },
		"alerts.rules.yml":    func(w io.Writer) error { return WriteAlerts(w, Options{}) },
		"dashboard.json":      WriteDashboard,
	} {
		var want bytes.Buffer
		if err := write(&want); err != nil {
			t.Fatal(err)
		}
		got, err := Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is stale; run: go generate ./alerts", name)
		}
	}
}

func TestPromtoolCheckRules(t *testing.T) {
	t.Parallel()
	promtool := program(t, "promtool", "prometheus")
	run(t, promtool, "check", "rules", "--lint=all", "--lint-fatal", "recording.rules.yml", "alerts.rules.yml")
	run(t, promtool, "check", "config", "--syntax-only", "prometheus.yml")
	dir := t.TempDir()
	for _, o := range []Options{
		{Job: "queues", URL: "https://bullpen.example.org/ops/"},
		{Speed: 60},
		{Speed: 120},
	} {
		recording, alerting := filepath.Join(dir, "r.yml"), filepath.Join(dir, "a.yml")
		writeFile(t, recording, func(w io.Writer) error { return WriteRecording(w, o) })
		writeFile(t, alerting, func(w io.Writer) error { return WriteAlerts(w, o) })
		run(t, promtool, "check", "rules", "--lint=all", "--lint-fatal", recording, alerting)
	}
}

func writeFile(t *testing.T, path string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPromtoolTestRules runs the scenarios: each rule fires and resolves, and stays silent where it must.
func TestPromtoolTestRules(t *testing.T) {
	t.Parallel()
	promtool := program(t, "promtool", "prometheus")
	files, err := filepath.Glob("*.test.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, f := range files {
		t.Run(f, func(t *testing.T) {
			t.Parallel()
			run(t, promtool, "test", "rules", f)
		})
	}
}

// TestTable holds every rule to what the Alertmanager, the page and the reader rely on.
func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, a := range Alerts("bullpen") {
		key := fmt.Sprint(a.Name, a.Severity, a.Value)
		if seen[key] {
			t.Errorf("%s: two rules cannot be told apart", key)
		}
		seen[key] = true
		if _, ok := runbooks.Page(a.Runbook); !ok {
			t.Errorf("%s: no runbook page %q", a.Name, a.Runbook)
		}
		if a.Summary == "" || a.Description == "" {
			t.Errorf("%s: a text is missing", a.Name)
		}
		if a.Component == Queue && !strings.Contains(a.Summary, "$labels.queue") {
			t.Errorf("%s: the summary does not name the queue", a.Name)
		}
	}
}

// TestRunbooks checks that each page belongs to an alert, says what must be said, and links to pages that exist.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	of := map[string][]string{}
	for _, a := range Alerts("bullpen") {
		of[a.Runbook] = append(of[a.Runbook], a.Name)
	}
	link := regexp.MustCompile(`\]\(([^)]+)\)`)
	for _, name := range runbooks.Names() {
		text, _ := runbooks.Page(name)
		if len(of[name]) == 0 {
			t.Errorf("%s: no alert leads here", name)
		}
		for _, alert := range of[name] {
			if !strings.Contains(text, "`"+alert+"`") {
				t.Errorf("%s does not name %s", name, alert)
			}
		}
		for _, heading := range []string{"## What it means", "## How to confirm", "## What to do"} {
			if !strings.Contains(text, heading) {
				t.Errorf("%s lacks %q", name, heading)
			}
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if _, ok := runbooks.Page(m[1]); !ok {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
}

// ruleFile is a rule file of Prometheus.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Record, Expr, For string
			Labels, Annotations      map[string]string
		}
	}
}

// TestOptions adjusts the rules to an installation.
func TestOptions(t *testing.T) {
	t.Parallel()
	parse := func(o Options) ruleFile {
		var b bytes.Buffer
		if err := WriteAlerts(&b, o); err != nil {
			t.Fatal(err)
		}
		var f ruleFile
		if err := yaml.Unmarshal(b.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := parse(Options{Job: "queues", URL: "https://bullpen.example.org/ops/", Speed: 60})
	for _, g := range f.Groups {
		for _, r := range g.Rules {
			if !strings.HasPrefix(r.Annotations["runbook_url"], "https://bullpen.example.org/ops/runbooks/") {
				t.Errorf("%s leads to %s", r.Alert, r.Annotations["runbook_url"])
			}
			if strings.Contains(r.Expr, `job="bullpen"`) {
				t.Errorf("%s looks for another job: %s", r.Alert, r.Expr)
			}
			if r.Alert == "BullMQRedisMemoryFilling" {
				want := "(predict_linear(redis:bullmq_memory_used:ratio[1m], 240) > 1)\n" +
					"and (redis:bullmq_memory_used:ratio > 0.6)\n" +
					"and (count_over_time(redis:bullmq_memory_used:ratio[5s] offset 55s) > 0)"
				if r.Expr != want || r.For != "30s" {
					t.Errorf("compressed, the forecast is for %s:\n%s\nwant for 30s:\n%s", r.For, r.Expr, want)
				}
			}
		}
	}
}

func TestPromQL(t *testing.T) {
	t.Parallel()
	a, b := series("a"), series("b", is("x", `q"t`))
	for _, tt := range []struct {
		e    Expr
		want string
	}{
		{div(a, add(a, b)), `a / (a + b{x="q\"t"})`},
		{add(div(a, b), a), `a / b{x="q\"t"} + a`},
		{above(a, mul(Number(2), a)), `a > 2 * a`},
		{div(a, above(a, Number(0))), `a / (a > 0)`},
		{add(a, either(a, mul(Number(0), a))), `a + (a or 0 * a)`},
		{except(all(above(a, Number(1)), a), a), "(a > 1)\nand a\nunless a"},
		{count(a, 90*time.Minute), "a * 5400"},
		{minOver(a.ago(90*time.Second), 1500*time.Millisecond), "min_over_time(a[1500ms] offset 90s)"},
		{Aggregate{Fn: "max", By: []string{"job"}, Of: a}, "max by (job) (a)"},
	} {
		if got := PromQL(tt.e, 1); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestDashboard parses every expression and knows every metric of the Grafana dashboard.
func TestDashboard(t *testing.T) {
	t.Parallel()
	var d struct {
		UID, Title string
		Editable   bool
		Templating struct{ List []struct{ Name string } }
		Panels     []struct {
			Type, Title, Description string
			FieldConfig              struct{ Defaults struct{ Unit string } }
			Targets                  []struct{ Expr, LegendFormat string }
			GridPos                  struct{ X, W int }
		}
	}
	b, err := Files.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Editable || len(d.Panels) < 40 {
		t.Errorf("uid %q, editable %v, %d panels", d.UID, d.Editable, len(d.Panels))
	}
	var exprs []string
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" {
			t.Errorf("panel %q lacks a title, a description or a unit", p.Title)
		}
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q sticks out", p.Title)
		}
		for _, q := range p.Targets {
			if !strings.Contains(q.Expr, `job=~"$job"`) {
				t.Errorf("panel %q asks for any job: %s", p.Title, q.Expr)
			}
			if p.Type == "timeseries" && q.LegendFormat == "" {
				t.Errorf("panel %q has series without names", p.Title)
			}
			exprs = append(exprs, q.Expr)
		}
	}
	checkExpressions(t, exprs)
	checkMetrics(t, exprs)
}

// TestDashboardShowsBothTargets wants a panel for each half of the pair that tells how often the targets were met.
func TestDashboardShowsBothTargets(t *testing.T) {
	t.Parallel()
	b, err := Files.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bullmq_jobs_started_within_target_total", "bullmq_jobs_finished_within_target_total"} {
		if !strings.Contains(string(b), name) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// checkExpressions lets promtool parse expressions, as the rules they could be.
func checkExpressions(t *testing.T, exprs []string) {
	t.Helper()
	replace := strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "${histogram:raw}", "(_bucket)")
	var rules strings.Builder
	rules.WriteString("groups:\n- name: g\n  rules:\n")
	for i, e := range exprs {
		fmt.Fprintf(&rules, "  - record: r%d\n    expr: %q\n", i, replace.Replace(e))
	}
	path := filepath.Join(t.TempDir(), "dashboard.yml")
	if err := os.WriteFile(path, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, program(t, "promtool", "prometheus"), "check", "rules", path)
}

// checkMetrics looks for every metric in what Bullpen exports, what the rules record and what Prometheus makes itself.
func checkMetrics(t *testing.T, exprs []string) {
	t.Helper()
	known := []string{"up", "ALERTS", "scrape_duration_seconds", "scrape_samples_scraped", "go_goroutines", "process_resident_memory_bytes"}
	for _, r := range slices.Concat(Gauges(), Rates()) {
		known = append(known, r.Name)
	}
	for _, name := range exported(t) {
		known = append(known, name, name+"_bucket", name+"_count", name+"_sum")
	}
	// A name stands before a selector or a range, or is the pattern of a __name__ matcher.
	name := regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{|__name__=~"([a-z_]+)\$`)
	for _, e := range exprs {
		for _, m := range name.FindAllStringSubmatch(strings.ReplaceAll(e, "${", "$ "), -1) {
			if n := m[1] + m[2]; !slices.Contains(known, n) {
				t.Errorf("nobody exports %s, asked for in %s", n, e)
			}
		}
	}
}

// exported lists the catalogue of package metrics.
func exported(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("../internal/metrics/testdata/catalogue.txt")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "#") {
			names = append(names, strings.Fields(line)[0])
		}
	}
	return names
}

// TestRulesKnowTheirMetrics finds a rule that reads what nobody exports or records.
func TestRulesKnowTheirMetrics(t *testing.T) {
	t.Parallel()
	known := append(exported(t), "up")
	for _, r := range slices.Concat(Gauges(), Rates()) {
		checkSelectors(t, r.Name, r.Expr, known)
		known = append(known, r.Name)
	}
	for _, a := range Alerts("bullpen") {
		checkSelectors(t, a.Name, a.Expr, known)
	}
}

func checkSelectors(t *testing.T, rule string, e Expr, known []string) {
	t.Helper()
	Walk(e, func(e Expr) {
		if s, ok := e.(Selector); ok && !slices.Contains(known, s.Name) {
			t.Errorf("%s reads %s, which is not there, or not yet", rule, s.Name)
		}
	})
}

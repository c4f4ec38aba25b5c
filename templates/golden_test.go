package templates

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a component's markup, one tag a line, with testdata/<name>.html.
func golden(t *testing.T, name string, c templ.Component) {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	got := lines(b.String())
	path := filepath.Join("testdata", name+".html")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run go test ./templates -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); if that is meant, run go test ./templates -update\n%s", path, diff)
	}
}

// lines puts each tag on a line of its own, so that a difference is easy to see.
func lines(markup string) string {
	s := strings.ReplaceAll(markup, "><", ">\n<")
	return strings.TrimSpace(s) + "\n"
}

func TestLayout(t *testing.T) {
	p := Page{
		Title: "2 of 14 queues need attention", Base: "/ops", Style: "/ops/static/bullpen.1.css", Script: "/ops/static/app.1.js", Icon: "/ops/static/icon.1.svg",
		Where: "prod, bull", Find: "/ops/search", Query: `"quoted"`, Topic: "/?sort=name",
		Nav: []NavLink{
			{Label: "Overview", URL: "/ops/", Current: true, Key: "o"},
			{Label: "Operations", URL: "/ops/operations", Mark: "1", Class: "s-active", Meaning: "running", Key: "p"},
		},
		Status:  Status{Text: "18 s old", Stale: true, At: "2026-03-12T14:21:47Z", Tick: 1000},
		Flash:   []Notice{{Class: "s-completed", Icon: "s-completed", Strong: "Retried 4 jobs.", Details: []string{"7: no longer failed"}, Alert: true}},
		Notices: []Notice{{Class: "s-delayed", Icon: "h-warn", Strong: "These figures are 18 s old.", Text: "Bullpen tries again.", Links: []Link{{Label: "Try now", URL: "/ops/"}, {Label: "Why", URL: "/ops/redis", Quiet: true}}}},
		Foot:    Foot{Read: When{ISO: "2026-03-12T14:22:05Z", Text: "14:22:05", Exact: "12 March 2026, 14:22:05 UTC"}, Took: "2.1 ms", Zone: "UTC", Version: "0.4.0"},
	}
	golden(t, "layout", Layout(p))
}

// scripty must come out inert wherever it goes in.
const scripty = `<script>alert("x")</script>`

func TestParts(t *testing.T) {
	parts := map[string]templ.Component{
		"act-form":   ActForm(Act{Label: "Retry", Icon: "i-retry", Class: "go", URL: "/queues/a/jobs/1/retry", Fields: []Field{{"seen", "failed"}, {"back", `/x?q="`}}, Key: "e", About: "1"}),
		"act-asks":   ActForm(Act{Label: "Remove…", Class: "bad", URL: "/queues/a/jobs/1/remove", Asks: true, Disabled: true, Why: "a worker holds it"}),
		"act-button": ActButton(Act{Label: "Remove…", Icon: "i-bin", URL: "/queues/a/remove", Asks: true}),
		"ask-link":   AskLink(Act{Label: "Obliterate…", Note: "Delete the queue and all it holds", Class: "bad", URL: "/queues/a/obliterate"}),
		"empty":      Empty(EmptyState{Title: "No failed jobs", Text: "None since 9 March.", Links: []Link{{Label: "Show completed", URL: "/queues/a?state=completed"}}}),
		"pager":      PagerNav(Pager{Label: "Pages of jobs", Text: "26–50 of 1,904", PrevURL: "/a", PrevLabel: "Newer", NextLabel: "Older"}),
		"time":       Time(When{ISO: "2026-03-12T14:20:55Z", Text: "70 s ago", Exact: "12 March 2026, 14:20:55 UTC"}),
		"time-none":  Time(When{}),
		"crumbs":     Crumbs([]Crumb{{"Overview", "/"}, {scripty, ""}}),
		"error":      ErrorPage(Failure{Title: "No such page", Detail: scripty, Home: "/"}),
		"notice":     NoticeBox(Notice{Class: "s-failed", Icon: "h-crit", Strong: scripty, Text: "x", Alert: true}),
		"badge":      Badge("s-delayed", "i-limit", "limited"),
	}
	for name, c := range parts {
		t.Run(name, func(t *testing.T) { golden(t, "part-"+name, c) })
	}
}

func TestStates(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"waiting", "prioritized", "active", "delayed", "waiting-children", "completed", "failed", "paused"} {
		s := StateOf(name)
		if s.Label == "Unknown" || s.Class == "" || s.Icon == "" || seen[s.Icon] {
			t.Errorf("%s has no looks of its own: %+v", name, s)
		}
		seen[s.Icon] = true
	}
	if s := StateOf("odd"); s.Label != "Unknown" || s.Icon != "h-unknown" {
		t.Errorf("an unknown state looks like %+v", s)
	}
}

func TestOverviewPage(t *testing.T) {
	v := Overview{
		Title: "1 of 2 queues needs attention", Say: "1 healthy.",
		Filter: QueueFilter{URL: "/", Query: scripty, Group: "Group by “.”", Grouped: true, Sorts: []Option{{"health", "By health", true}, {"name", "By name", false}}},
		Worst:  &Notice{Class: "s-failed", Icon: "h-crit", Strong: "thumbnails: No worker for 14 min.", Text: "3,204 jobs wait.", Links: []Link{{Label: "Open queue", URL: "/queues/thumbnails"}}},
		Totals: []Total{
			{State: StateOf("waiting"), Label: "Waiting", Figure: []Part{{"3,204", false}}, Notes: []string{"growing 227/min"}, Line: "M0 0 1 1", Area: "M0 0 1 1z"},
			{Label: "Oldest wait", Figure: []Part{{"14", false}, {" min", true}}},
		},
		Heads: []Head{{Label: "Queue, worst first", URL: "/?sort=name", Sorted: "ascending"}, {Label: "Waiting", State: StateOf("waiting"), Class: "n"}},
		Groups: []QueueGroup{{Label: "Needs attention", Count: "1", Rows: []QueueRow{{
			Name: scripty, URL: "/queues/~3Cscript~3E", Health: Health{"Needs attention", "h-crit", "h-crit"}, Badges: []BadgeView{{"s-paused", "s-paused", "paused"}},
			Reason: "No worker for 14 min", Spark: Spark{Good: "M0 21v-3h3v3z", Bad: "M4 21v-1h3v1z", Says: "Finished per minute, last hour"},
			Cells: []Cell{
				{Label: "waiting", Text: "3,204", Why: true, URL: "/queues/x?state=waiting"},
				{Label: "active", Text: "17", Of: " / 20", Class: "act", Meter: &Meter{"s-active", 17, 20}},
				{Label: "failed", Text: "0", Zero: true, URL: "/never"},
			},
		}}}},
		Pager: &Pager{Label: "Pages of queues", Text: "1–100 of 5,000 queues", NextURL: "/?page=2", NextLabel: "Next", PrevLabel: "Previous"},
		Aged:  true,
	}
	golden(t, "overview", OverviewPage(v))
	v.Groups, v.Pager, v.Worst = nil, nil, nil
	v.Empty = &EmptyState{Title: "No queue yet"}
	golden(t, "overview-empty", OverviewQueues(v))
}

func queueModel() QueuePage {
	return QueuePage{
		Crumbs: []Crumb{{"Overview", "/"}, {"webhooks", ""}}, Name: "webhooks", Health: Health{"Watch", "h-warn", "h-warn"},
		Badges: []BadgeView{{"s-delayed", "i-limit", "limited"}}, Finding: "38 % of attempts failing for 12 min.", Say: "3,960 jobs wait.",
		Acts:  []Act{{Label: "Pause", Icon: "s-paused", URL: "/queues/webhooks/pause", Fields: []Field{{"seen", "running"}}}},
		Links: []Act{{Label: "Add job", Icon: "i-plus", URL: "/queues/webhooks/jobs"}},
		Menu:  []Act{{Label: "Clean…", Note: "Remove finished jobs by age", URL: "/queues/webhooks/clean"}},
		Facts: []Fact{
			{Label: "Active of ceiling", Value: "17 of 20", Meter: &Meter{"s-active", 17, 20}},
			{Class: "s-delayed", Label: "Limiter", Value: "50 per 1 s", Small: "full"},
			{Label: "Sizing and limits", Value: "Policy", URL: "/queues/webhooks/policy", Last: true},
		},
		Plots: []Plot{
			{
				Title: "Attempts finished per minute", Story: "Much.", ViewBox: "0 0 60 100", Legend: []LegendItem{{"s-completed", "bar", "completed", "1,860"}, {"s-waiting", "dash", "p95", "79 s"}, {"s-active", "line", "p50", "1 s"}},
				Y: []PlotTick{{"100%", "0", ""}, {"50%", "1,000", ""}}, X: []PlotTick{{"0%", "13:22", ""}, {"100%", "14:22", "e"}},
				Paths: []PlotPath{{"fill s-failed", "M0 0z"}}, Marks: []PlotMark{{"s-delayed", "16.7%", "limiter, 50 per 1 s"}},
			},
			{Title: "Wait and run time", Note: "Nothing yet."},
		},
		Tabs: []Tab{{State: StateOf("waiting"), URL: "/queues/webhooks?state=waiting", Count: "3,960", Key: "1"}, {State: StateOf("failed"), URL: "/queues/webhooks?state=failed", Count: "2", Current: true, Key: "7"}},
		List: JobList{
			State: StateOf("failed"), Caption: "Failed jobs of webhooks", Order: "Newest first", ReverseURL: "/queues/webhooks?order=asc",
			All:     []Act{{Label: "Retry all…", Icon: "i-retry", URL: "/queues/webhooks/retry?all=1"}},
			Heads:   []Head{{Label: "Job"}, {Label: "Failed ↓", Class: "n", URL: "/x", Sorted: "descending"}},
			Columns: JobColumns{Run: "last run", Text: "Error"},
			Fields:  []Field{{"state", "failed"}}, UntickURL: "/queues/webhooks",
			Bulk: []Act{{Label: "Remove…", Icon: "i-bin", Asks: true, URL: "/queues/webhooks/remove"}, {Label: "Retry", Icon: "i-retry", Class: "go", URL: "/queues/webhooks/retry"}},
			Rows: []JobRow{
				{
					ID: scripty, Shown: scripty, URL: "/queues/webhooks/jobs/x", Name: scripty, When: When{"2026-03-12T14:20:55Z", "70 s ago", "12 March"}, Attempts: "3/3", Run: "0.29 s", Text: scripty,
					Badges: []BadgeView{{"s-paused", "s-failed", "will not retry"}}, Size: "1.4 MB", Big: true, Act: &Act{Label: "Retry", URL: "/queues/webhooks/jobs/x/retry", About: scripty},
				},
				{ID: "2", Shown: "2", URL: "/queues/webhooks/jobs/2", Gone: true, Name: "–", Attempts: "–", Run: "–", Text: "data missing: the job's record is gone from Redis", Size: "–"},
			},
			Pager: &Pager{Label: "Pages of jobs", Text: "1–2 of 2", PrevLabel: "Newer", NextLabel: "Older"},
		},
	}
}

func TestQueueView(t *testing.T) {
	v := queueModel()
	golden(t, "queue", QueueView(v))
	v.List.Bulk = nil
	golden(t, "queue-readonly", JobTable(v.List))
	v.List.Trouble = &Notice{Class: "s-failed", Icon: "h-crit", Strong: "These jobs cannot be read."}
	golden(t, "queue-trouble", JobTable(v.List))
}

func TestAskPage(t *testing.T) {
	golden(t, "ask-plain", AskPage(Ask{Title: "Remove 4 failed jobs?", Body: []string{"This cannot be undone."}, Final: true, URL: "/queues/a/remove", Fields: []Field{{"id", scripty}}, Yes: "Remove 4 jobs", No: "Keep them", NoURL: "/queues/a"}))
	golden(t, "ask-typed", AskPage(Ask{Title: "Obliterate a.b?", Type: "a.b", Mistyped: true, Final: true, Grave: true, Warning: "5 workers still take jobs.", Yes: "Obliterate a.b", No: "Keep the queue"}))
	golden(t, "ask-sample", AskPage(Ask{Title: "Retry 1,904 failed jobs?", Big: true, Samples: []Sample{{"1", scripty, "1 min ago"}, {"2", "x", ""}}, LeftOut: []Sample{{"", "Record is gone", "1"}}, Note: "The limiter is full.", Hint: "Runs as an operation", Yes: "Retry", No: "Cancel"}))
	golden(t, "ask-form", AskPage(Ask{Title: "Add a job", Problem: "Not accepted.", Unconfirmed: true, Yes: "Add", No: "Cancel", Inputs: []Input{
		{Kind: "text", Name: "name", Label: "Name", Value: scripty, Problem: "A job needs a name.", Required: true},
		{Kind: "area", Name: "data", Label: "Data", Value: "\n{}</textarea>" + scripty, Help: "JSON", Mono: true, Width: "wide"},
		{Kind: "select", Name: "state", Label: "Jobs that are", Options: []Option{{"failed", "failed", true}}},
		{Kind: "check", Name: "delayed", Label: "Also delayed", Checked: true, Help: "Even those."},
	}}))
}

func TestOperationViews(t *testing.T) {
	row := OperationRow{ID: "30", URL: "/operations/30", Title: "Remove completed jobs", Queue: "in exports", Class: "s-completed", Icon: "s-completed", State: "done", Started: When{"2026-03-12T13:02:00Z", "1 h ago", "12 March"}, Took: "2.2 s", Done: "9,120", Refused: "0", Who: "ada"}
	v := OperationPage{
		Crumbs: []Crumb{{"Operations", "/operations"}, {"31", ""}}, Class: "s-active", Icon: "i-retry", Says: "running", Title: "Retrying 214,200 failed jobs of audit-log",
		Finding: "61 % done, 20 s left.", Say: "You can leave this page.", Act: &Act{Label: "Cancel the rest", Class: "bad", URL: "/operations/31/cancel"}, Max: 214200, Value: 131040, Percent: "61 %",
		Totals: []Total{{Label: "Matched", Figure: []Part{{"214,200", false}}}}, Pace: &Plot{Title: "Jobs per second", ViewBox: "0 0 30 100"},
		Asked:   []Detail{{Label: "Queue", Value: "audit-log", URL: "/queues/audit-log"}, {Label: "Set", Value: "jobs that were failed", Small: "later ones are not touched"}},
		Refused: []RefusedRow{{"No longer failed when its turn came", "148", scripty + ", 147 more"}}, AllURL: "/operations/31/refusals", AllLabel: "All 212 as JSON lines",
		Before: []OperationRow{row},
	}
	golden(t, "operation", OperationView(v))
	golden(t, "operations", OperationsView(OperationList{Title: "Operations", Say: "Bulk acts.", Rows: []OperationRow{row}}))
	golden(t, "operations-empty", OperationsView(OperationList{Title: "Operations", Empty: &EmptyState{Title: "None"}}))
}

// TestNothingRunsInline renders every golden file's component once more through its stored form: no script, no style,
// no handler may ever be in a page's markup.
func TestNothingRunsInline(t *testing.T) {
	files, err := filepath.Glob("testdata/*.html")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(raw), `<script src="/ops/static/app.1.js" defer>`, "")
		for _, bad := range []string{"<script", " style=", "<style", " onclick=", "javascript:", "http://", "https://"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", f, bad)
			}
		}
	}
}

func TestLiteralPattern(t *testing.T) {
	if got := literalPattern(`a.b(c)/[d]-e`); got != `a\.b\(c\)\/\[d\]-e` {
		t.Error(got)
	}
}

package metrics

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
)

// now is the time of the tests' snapshots.
var now = time.Unix(1_800_000_000, 0)

// fake is a Source with one snapshot.
type fake struct {
	s        *monitor.Snapshot
	policies map[keys.Queue]policy.Policy
}

func (f *fake) Snapshot() *monitor.Snapshot       { return f.s }
func (f *fake) Policy(q keys.Queue) policy.Policy { return f.policies[q] }

// queue returns a queue about which everything is known.
func queue(name string) *monitor.Queue {
	return &monitor.Queue{
		Queue:    keys.Queue{Prefix: "bull", Name: name},
		Declared: true, Discovered: true, Version: "bullmq:6.7.0",
		Counts: map[keys.State]int64{
			keys.Waiting: 1, keys.Prioritized: 2, keys.Active: 3, keys.Delayed: 4,
			keys.WaitingChildren: 5, keys.Completed: 6, keys.Failed: 7,
		},
		Overdue: 8, Paused: true, GlobalConcurrency: 9,
		Limiter: monitor.Limiter{Max: 10, Duration: 11 * time.Second, Closed: true, TTL: 1500 * time.Millisecond},
		Ceiling: 12, CeilingKnown: true, CeilingSource: "workers",
		Workers: 4, WorkersKnown: true, BullpenWorkers: 2, Announced: 6,
		OldestWait: 13 * time.Second, OldestActive: 14 * time.Second,
		Schedulers: 2, NextSchedule: now.Add(time.Minute), EventsEntries: 15, Added: 100,
		Completed: 40, FailedForGood: 6, FinishedKnown: true, TotalsKnown: true,
		Totals: monitor.EventTotals{
			Started: 60, Completed: 40, FailedExhausted: 1, FailedUnrecoverable: 2, FailedStalled: 3,
			RetriedImmediate: 4, RetriedBackoff: 5, DelayedScheduled: 6, DelayedBackoff: 7, DelayedManual: 8,
			Promoted: 9, Stalled: 10, Removed: 11, Duplicated: 12, Deduplicated: 13,
			StartedWithinTarget: 14, FinishedWithinTarget: 15,
		},
		Follower: monitor.FollowerStat{Reading: true, Read: 500, Lost: 5, Lag: 250 * time.Millisecond},
	}
}

// full is a policy with every field that is exported.
func full() policy.Policy {
	return policy.Policy{
		Attempts: 4, Backoff: policy.Backoff{Type: "exponential", Delay: time.Second, Max: 3 * time.Second},
		WorkerConcurrency: 5, WorkersExpected: 4, ProcessingTarget: 30 * time.Second, DeadLetterMax: 20, FailedBudget: 0.02,
	}
}

func snapshot(queues ...*monitor.Queue) *monitor.Snapshot {
	s := &monitor.Snapshot{
		At: now, Queues: queues, Redis: monitor.Redis{
			Known: true, Up: true, Version: "7.0.15", Mode: "standalone", Role: "master", MaxMemoryPolicy: "noeviction",
			AppendFsync: "everysec", UsedMemory: 10, MaxMemory: 20, Errors: map[string]int64{"OOM": 3, "WRONGTYPE": 2},
			RDBLastSave: now, StartTime: now,
		},
	}
	for _, name := range []string{"counts", "info", "clients", "discovery", "events"} {
		s.Parts = append(s.Parts, monitor.Part{Name: name, Took: time.Second, LastSuccess: now})
	}
	return s
}

// newTest returns metrics over a snapshot in a pedantic registry.
func newTest(o Options, s *monitor.Snapshot) (*Metrics, *fake) {
	f := &fake{s: s, policies: map[keys.Queue]policy.Policy{}}
	for _, q := range s.Queues {
		f.policies[q.Queue] = full()
	}
	o.registry = prometheus.NewPedanticRegistry()
	o.Clock = func() time.Time { return now.Add(2 * time.Second) }
	m := New(o)
	m.Watch(f)
	return m, f
}

func gathered(t *testing.T, m *Metrics) []*dto.MetricFamily {
	t.Helper()
	families, err := prometheus.Gatherers{m}.Gather() // which checks them
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// ours returns the families under our two prefixes as "name type labels".
func ours(families []*dto.MetricFamily) []string {
	var out []string
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "bull") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		sort.Strings(labels)
		line := f.GetName() + " " + strings.ToLower(f.GetType().String()) + " " + strings.Join(labels, " ")
		out = append(out, strings.TrimSpace(line))
	}
	slices.Sort(out)
	return out
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// everything exports all there is.
func everything() *Metrics {
	m, _ := newTest(Options{JobNames: []string{"mail"}, Version: "1.0.0"}, snapshot(queue("mail")))
	q := keys.Queue{Prefix: "bull", Name: "mail"}
	w := m.Worker(q)
	w.SetConcurrency(3)
	jobs := m.Jobs().(observer)
	jobs.NamedJob(q, "welcome", "completed")
	m.Request("/queues/:queue", "GET", 200, time.Millisecond)
	return m
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(readLines(t, "testdata/catalogue.txt"), ours(gathered(t, everything()))); diff != "" {
		t.Errorf("exported families differ from testdata/catalogue.txt (-want +got):\n%s", diff)
	}
}

// TestHelpSaysHowToAggregate holds every help text to the promise of metrics.md.
func TestHelpSaysHowToAggregate(t *testing.T) {
	t.Parallel()
	named, _ := newTest(Options{BullMQNames: true}, snapshot(queue("mail")))
	for _, f := range append(gathered(t, everything()), gathered(t, named)...) {
		if strings.HasPrefix(f.GetName(), "bull") && !strings.Contains(f.GetHelp(), ": aggregate with ") {
			t.Errorf("the help text of %s does not say how to aggregate it", f.GetName())
		}
	}
}

func TestBackoffTotal(t *testing.T) {
	t.Parallel()
	year := 365 * 24 * time.Hour
	for _, tt := range []struct {
		attempts int
		backoff  policy.Backoff
		ok       func(time.Duration) bool
	}{
		{4, policy.Backoff{Type: "exponential", Delay: time.Second, Jitter: 1}, func(d time.Duration) bool { return d == 7*time.Second }},
		{4, policy.Backoff{Type: "fixed", Delay: time.Second, Jitter: 0.5}, func(d time.Duration) bool { return d == 3*time.Second }},
		{4, policy.Backoff{Type: "own", Delay: time.Second}, func(d time.Duration) bool { return d == 0 }},
		{100, policy.Backoff{Type: "exponential", Delay: time.Second}, func(d time.Duration) bool { return d > 100*year }},
		{100, policy.Backoff{Type: "exponential", Delay: year}, func(d time.Duration) bool { return d > 100*year }},
	} {
		if got := backoffTotal(policy.Policy{Attempts: tt.attempts, Backoff: tt.backoff}); !tt.ok(got) {
			t.Errorf("%d attempts with %+v: %s", tt.attempts, tt.backoff, got)
		}
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(everything())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestPromtoolCheckMetrics lets the real program judge the exposition.
func TestPromtoolCheckMetrics(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is not installed; install it with: apt-get install -y prometheus")
	}
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text(t, everything(), ""))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	body := text(t, everything(), "")
	const q = `prefix="bull",queue="mail",redis="default"`
	for _, want := range []string{
		`bullmq_queue_jobs{` + q + `,state="waiting-children"} 5`,
		`bullmq_queue_delayed_overdue_jobs{` + q + `} 8`,
		`bullmq_queue_rate_limit_ttl_seconds{` + q + `} 1.5`,
		`bullmq_queue_concurrency_ceiling{` + q + `} 12`,
		`bullmq_queue_info{bullmq_version="6.7.0",ceiling_source="workers",declared="true",` + q + `} 1`,
		`bullmq_queue_policy_backoff_total_seconds{` + q + `} 6`, // 1 + 2 + 3
		`bullmq_queue_policy_failed_budget_ratio{` + q + `} 0.02`,
		`bullmq_queue_policy_worker_concurrency{` + q + `} 5`,
		`bullmq_queue_policy_wait_target_seconds{` + q + `} 300`,
		`bullmq_jobs_added_total{` + q + `} 100`,
		`bullmq_jobs_failed_total{prefix="bull",queue="mail",reason="stalled",redis="default"} 3`,
		`bullmq_jobs_delayed_total{prefix="bull",queue="mail",reason="manual",redis="default"} 8`,
		`bullmq_redis_errors_total{code="OOM",redis="default"} 3`,
		`bullmq_redis_errors_total{code="MISCONF",redis="default"} 0`,
		`bullmq_redis_errors_total{code="other",redis="default"} 2`,
		`bullmq_job_wait_seconds_count{` + q + `} 0`,
		`bullpen_events_lag_seconds{` + q + `} 0.25`,
		`bullpen_worker_concurrency{` + q + `} 3`,
		`bullpen_worker_jobs_total{outcome="completed",` + q + `} 0`,
		`bullmq_jobs_by_name_total{job_name="welcome",outcome="completed",` + q + `} 1`,
		`bullpen_queues 1`,
	} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("the exposition lacks %s", want)
		}
	}
}

// TestUnknownIsAbsent takes away what may be unknown, piece by piece.
func TestUnknownIsAbsent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*monitor.Snapshot)
		absent []string // beginnings of names
		there  []string
	}{
		{
			"no CLIENT LIST",
			func(s *monitor.Snapshot) {
				s.WorkersErr, s.Queues[0].WorkersKnown, s.Queues[0].CeilingKnown = "NOPERM", false, false
				s.Parts[2].Err = fmt.Errorf("NOPERM")
			},
			[]string{"bullmq_queue_workers", "bullmq_queue_concurrency_ceiling", `bullpen_collector_success{collector="clients"}`},
			[]string{"bullmq_queue_jobs", `bullpen_collector_success{collector="info"} 1`},
		},
		{
			"a failing client list",
			func(s *monitor.Snapshot) { s.Parts[2].Err = fmt.Errorf("timeout") },
			nil,
			[]string{`bullpen_collector_success{collector="clients"} 0`},
		},
		{
			"an unreadable queue",
			func(s *monitor.Snapshot) { s.Queues[0].Counts = nil },
			[]string{"bullmq_queue_jobs", "bullmq_queue_paused", "bullmq_queue_oldest", "bullmq_jobs_added_total"},
			[]string{"bullmq_queue_policy_attempts"},
		},
		{
			"no followers",
			func(s *monitor.Snapshot) { s.Queues[0].TotalsKnown = false },
			[]string{"bullmq_jobs_completed_total", "bullmq_jobs_failed_total"},
			[]string{"bullmq_jobs_added_total"},
		},
		{
			"Redis is down",
			func(s *monitor.Snapshot) { s.Err, s.Redis.Up = fmt.Errorf("refused"), false },
			[]string{"bullmq_queue_", "bullmq_jobs_", "bullmq_job_", "bullmq_redis_memory"},
			[]string{`bullmq_redis_up{redis="default"} 0`},
		},
		{
			"an old snapshot",
			func(s *monitor.Snapshot) { s.At = now.Add(-2 * time.Minute) },
			[]string{"bullmq_queue_", "bullmq_redis_memory"},
			[]string{`bullmq_redis_up{redis="default"} 0`},
		},
		{
			"before the first pass",
			func(s *monitor.Snapshot) { s.At = time.Time{} },
			[]string{"bullmq_queue_"},
			[]string{`bullmq_redis_up{redis="default"} 0`},
		},
		{
			"no INFO",
			func(s *monitor.Snapshot) { s.Redis.Known = false },
			[]string{"bullmq_redis_memory", "bullmq_redis_info", "bullmq_redis_errors_total"},
			[]string{`bullmq_redis_up{redis="default"} 1`},
		},
		{
			"the in-process store",
			func(s *monitor.Snapshot) { s.Redis.Embedded = true },
			[]string{"bullmq_redis_memory", "bullmq_redis_aof", "bullmq_redis_clients"},
			[]string{`bullmq_redis_up{redis="default"} 1`},
		},
		{
			"an old Redis",
			func(s *monitor.Snapshot) { s.Redis.Version = "6.0.16" },
			[]string{"bullmq_redis_errors_total"},
			[]string{"bullmq_redis_memory_used_bytes"},
		},
		{
			"no schedulers, no limiter, no global bound",
			func(s *monitor.Snapshot) {
				q := s.Queues[0]
				q.NextSchedule, q.Limiter, q.GlobalConcurrency = time.Time{}, monitor.Limiter{}, 0
			},
			[]string{"bullmq_queue_next_schedule", "bullmq_queue_policy_rate_limit", "bullmq_queue_policy_global"},
			[]string{`bullmq_queue_rate_limited{prefix="bull",queue="mail",redis="default"} 0`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := snapshot(queue("mail"))
			tt.change(s)
			m, _ := newTest(Options{}, s)
			body := text(t, m, "")
			for _, name := range tt.absent {
				if strings.Contains(body, "\n"+name) {
					t.Errorf("%s is exported though it is not known", name)
				}
			}
			for _, name := range tt.there {
				if !strings.Contains(body, "\n"+name) {
					t.Errorf("%s is missing", name)
				}
			}
		})
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	m.Request("/live", "GET", 200, 0)
	m.Request("other", "BREW", 418, 20*time.Millisecond)
	body := text(t, m, "")
	for _, want := range []string{
		`bullpen_http_requests_total{code="2xx",method="GET",route="/live"} 1`,
		`bullpen_http_requests_total{code="4xx",method="other",route="other"} 1`,
		`bullpen_http_request_duration_seconds_bucket{route="other",le="0.05"} 1`,
	} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("the exposition lacks %s", want)
		}
	}
	if strings.Contains(body, `duration_seconds_count{route="/live"}`) {
		t.Error("the time that somebody looked is taken for the time of an answer")
	}
}

func TestSeriesDisappearWithTheirQueue(t *testing.T) {
	t.Parallel()
	m, f := newTest(Options{}, snapshot(queue("a"), queue("b")))
	m.Jobs().JobWaited(keys.Queue{Prefix: "bull", Name: "b"}, "1", time.Second)
	if !strings.Contains(text(t, m, ""), `queue="b"`) {
		t.Fatal("queue b is not exported")
	}
	f.s = snapshot(queue("a"))
	if strings.Contains(text(t, m, ""), `queue="b"`) {
		t.Error("queue b is still exported after it is gone")
	}
}

func TestOddQueueNames(t *testing.T) {
	t.Parallel()
	m, _ := newTest(Options{}, snapshot(queue(`a"b\c`+"\n"+`é:/#`)))
	if body := text(t, m, ""); !strings.Contains(body, `queue="a\"b\\c\né:/#"`) {
		t.Error("the name is not escaped as the format wants")
	}
}

func TestNodesOfACluster(t *testing.T) {
	t.Parallel()
	s := snapshot(queue("a"))
	s.Nodes = []monitor.Redis{s.Redis, s.Redis}
	s.Nodes[0].Node, s.Nodes[1].Node = "10.0.0.1:6379", "10.0.0.2:6379"
	m, _ := newTest(Options{Cluster: true}, s)
	body := text(t, m, "")
	if !strings.Contains(body, "\n"+`bullmq_redis_up{redis="default"} 1`) {
		t.Error("bullmq_redis_up is of the whole")
	}
	for _, node := range []string{"10.0.0.1:6379", "10.0.0.2:6379"} {
		if !strings.Contains(body, `bullmq_redis_memory_used_bytes{node="`+node+`",redis="default"} 10`) {
			t.Errorf("node %s is missing", node)
		}
	}
}

func TestBullMQNames(t *testing.T) {
	t.Parallel()
	m, _ := newTest(Options{BullMQNames: true}, snapshot(queue("mail")))
	body := text(t, m, "")
	const q = `prefix="bull",queue="mail",redis="default"`
	for _, want := range []string{
		`bullmq_job_count{` + q + `,state="delayed"} 4`,
		`bullmq_job_completed_total{` + q + `} 40`,
		`bullmq_job_failed_total{` + q + `} 6`,
	} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("the exposition lacks %s", want)
		}
	}
}

func TestReadOnlySaysSo(t *testing.T) {
	t.Parallel()
	m, _ := newTest(Options{ReadOnly: true}, snapshot(queue("mail")))
	if !strings.Contains(text(t, m, ""), "HELP bullmq_jobs_failed_total Jobs that failed for good, by reason. Counted by this process alone") {
		t.Error("the help text does not say that the totals are this process's own")
	}
}

func TestWorkerObserver(t *testing.T) {
	t.Parallel()
	m := New(Options{registry: prometheus.NewPedanticRegistry()})
	var o engine.Observer = m.Worker(keys.Queue{Prefix: "bull", Name: "mail"})
	o.JobStarted("mail")
	o.JobStarted("mail")
	o.JobFinished("mail", engine.OutcomeCompleted, time.Second)
	o.LockLost("mail", 2)
	o.Fetched("mail", now)
	want := `
# HELP bullpen_worker_active_jobs Jobs the worker runs now. Of this process alone: aggregate with sum.
# TYPE bullpen_worker_active_jobs gauge
bullpen_worker_active_jobs{prefix="bull",queue="mail",redis="default"} 1
# HELP bullpen_worker_last_fetch_timestamp_seconds Time of the last fetch that Redis answered, jobs or not. As this process sees it: aggregate with max.
# TYPE bullpen_worker_last_fetch_timestamp_seconds gauge
bullpen_worker_last_fetch_timestamp_seconds{prefix="bull",queue="mail",redis="default"} 1.8e+09
# HELP bullpen_worker_lock_lost_total Running jobs that lost their lock. Of this process alone: aggregate with sum.
# TYPE bullpen_worker_lock_lost_total counter
bullpen_worker_lock_lost_total{prefix="bull",queue="mail",redis="default"} 2
`
	if err := testutil.GatherAndCompare(m, strings.NewReader(want), "bullpen_worker_active_jobs",
		"bullpen_worker_last_fetch_timestamp_seconds", "bullpen_worker_lock_lost_total"); err != nil {
		t.Error(err)
	}
}

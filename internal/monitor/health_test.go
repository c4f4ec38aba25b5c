package monitor

import (
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/stretchr/testify/require"
)

// noon is the present of the tests that need none of their own.
var noon = time.Date(2026, 3, 14, 14, 22, 5, 0, time.UTC)

// busyHour is an hour of watched minutes with the given use of the ceiling and backlog by minute.
func busyHour(busy, limited float64, backlog func(i int) int64) []Minute {
	h := make([]Minute, historyLength)
	for i := range h {
		h[i] = Minute{
			Start: noon.Truncate(time.Minute).Add(time.Duration(i-historyLength) * time.Minute),
			Busy:  busy, Limited: limited, BacklogMin: backlog(i), BacklogMax: backlog(i) + 3, Reads: 60,
		}
	}
	return h
}

func flat(int) int64                { return 100 }
func climbing(i int) int64          { return int64(i) * 10 }
func ago(d time.Duration) time.Time { return noon.Add(-d) }

// sound is a queue that keeps up, and the facts of one.
func sound() (*Queue, facts) {
	q := &Queue{
		Queue:   keys.Queue{Prefix: "bull", Name: "email"},
		Counts:  map[keys.State]int64{keys.Waiting: 38, keys.Active: 9},
		Workers: 3, WorkersKnown: true, Ceiling: 24, CeilingKnown: true, OldestWait: 2 * time.Second,
		Rate: Rates{Known: true, Active: 9.1, Completed: 10, Attempts: 3000, FailingShare: 0.004},
	}
	return q, facts{
		now: noon, policy: policy.Policy{}.WithDefaults(),
		since: since{seen: ago(3 * time.Hour), ready: ago(time.Hour), lastChange: ago(time.Second)},
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(q *Queue, f *facts)
		health Health
		reason string
		field  string
	}{
		{"keeps up", func(*Queue, *facts) {}, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"keeps up, rates not known yet", func(q *Queue, _ *facts) { q.Rate = Rates{} }, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"ceiling unknown", func(q *Queue, _ *facts) { q.CeilingKnown = false }, Healthy, "Keeps up", ""},

		{"no worker for 14 min", func(q *Queue, f *facts) {
			q.Workers, q.Ceiling = 0, 0
			f.since.noWorker, f.since.ready = ago(14*time.Minute+7*time.Second), ago(14*time.Minute)
		}, NeedsAttention, "No worker for 14_min", "waiting"},
		{"no worker since before we looked", func(q *Queue, f *facts) {
			q.Workers, f.since.noWorker = 0, f.since.seen
		}, NeedsAttention, "No worker for at least 3_h", "waiting"},
		{"no worker for 59 s", func(q *Queue, f *facts) {
			q.Workers, q.Ceiling, f.since.noWorker = 0, 0, ago(59*time.Second)
		}, Healthy, "No worker for 59_s", ""},
		{"no worker, job only just ready", func(q *Queue, f *facts) {
			q.Workers, q.Ceiling, f.since.noWorker, f.since.ready = 0, 0, ago(time.Hour), ago(30*time.Second)
		}, Healthy, "No worker for 1_h", ""},
		{"no worker, paused", func(q *Queue, f *facts) {
			q.Workers, q.Paused, f.since.noWorker = 0, true, ago(time.Hour)
			q.PausedSince, q.Counts[keys.Waiting] = ago(2*time.Hour+5*time.Minute), 1420
		}, PausedHealth, "Paused 2_h 05_min ago, 1,420_jobs held", ""},
		{"paused before we looked", func(q *Queue, _ *facts) { q.Paused = true; q.Counts[keys.Waiting] = 1 }, PausedHealth, "Paused, 1_job held", ""},
		{"dead letter", func(q *Queue, f *facts) {
			q.Workers, q.DeadLetter, f.since.noWorker, q.OldestWait = 0, true, ago(time.Hour), 90*time.Hour
		}, Quiet, "Dead letter, no worker expected", ""},

		{"oldest over 5 × target", func(q *Queue, _ *facts) {
			q.OldestWait, q.Rate.Growth = 25*time.Minute+time.Second, 1
		}, NeedsAttention, "Oldest waits 25_min and growing", "oldest"},
		{"oldest at 5 × target", func(q *Queue, _ *facts) { q.OldestWait = 25 * time.Minute }, Watch, "Oldest waits 25_min", "oldest"},
		{"oldest at least over target", func(q *Queue, _ *facts) {
			q.OldestWait, q.OldestWaitAtLeast = 22*time.Minute+41*time.Second, true
		}, Watch, "Oldest waits at least 22_min", "oldest"},
		{"oldest at target", func(q *Queue, _ *facts) { q.OldestWait = 5 * time.Minute }, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"own target", func(q *Queue, f *facts) {
			f.policy.WaitTarget, q.OldestWait = time.Second, 6*time.Second
		}, NeedsAttention, "Oldest waits 6_s", "oldest"},

		{"half of 20 attempts failing", func(q *Queue, f *facts) {
			q.Rate.Attempts, q.Rate.FailingShare, f.since.failing = 20, 0.5, ago(15*time.Minute)
		}, NeedsAttention, "50_% of attempts failing for 15_min", "failing"},
		{"half of 19 attempts failing", func(q *Queue, _ *facts) {
			q.Rate.Attempts, q.Rate.FailingShare = 19, 0.5
		}, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"beyond three times the tolerated share", func(q *Queue, f *facts) {
			q.Rate.FailingShare, f.since.failing = 0.38, ago(26*time.Hour)
		}, Watch, "38_% of attempts failing for 26_h", "failing"},
		{"at three times the tolerated share", func(q *Queue, _ *facts) { q.Rate.FailingShare = 0.3 }, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"a loose policy can still be broken", func(q *Queue, f *facts) {
			f.policy.AttemptFailure, q.Rate.FailingShare = 0.4, 0.49
		}, Healthy, "Keeps up at 38_% of its ceiling", ""},

		{"nothing started", func(q *Queue, f *facts) { f.since.noStart = ago(2 * time.Minute) }, NeedsAttention, "Nothing started for 2_min though jobs are ready", "active"},
		{"nothing started for 119 s", func(q *Queue, f *facts) { f.since.noStart = ago(119 * time.Second) }, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"no worker comes before nothing started", func(q *Queue, f *facts) {
			q.Workers, f.since.noWorker, f.since.noStart = 0, ago(10*time.Minute), ago(10*time.Minute)
		}, NeedsAttention, "No worker for 10_min", "waiting"},
		{"redis refuses writes", func(_ *Queue, f *facts) { f.refusing = "out of memory" }, NeedsAttention, "Redis refuses writes: out of memory", ""},

		{"at the ceiling and growing", func(q *Queue, _ *facts) { q.History = busyHour(0.95, 0, climbing) }, Watch, "At its ceiling for 1_h and growing", "active"},
		{"at the ceiling, steady", func(q *Queue, _ *facts) { q.History = busyHour(0.95, 0, flat) }, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"below the ceiling, growing", func(q *Queue, _ *facts) { q.History = busyHour(0.89, 0, climbing) }, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"at the ceiling for nine minutes", func(q *Queue, _ *facts) { q.History = busyHour(0.95, 0, climbing)[51:] }, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"limiter closed and growing", func(q *Queue, _ *facts) { q.History = busyHour(0.2, 0.92, climbing) }, Watch, "Limiter closed 92_% of the time and growing", "waiting"},
		{"limiter closed, steady", func(q *Queue, _ *facts) { q.History = busyHour(0.2, 0.92, flat) }, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"stalled", func(q *Queue, _ *facts) { q.StalledLastHour = 2 }, Watch, "2_jobs stalled in the last hour", "active"},
		{"overdue", func(q *Queue, f *facts) { q.Overdue, f.since.overdue = 12, ago(3*time.Minute) }, Watch, "12_due jobs not promoted for 3_min", "delayed"},
		{"overdue for a moment", func(q *Queue, f *facts) { q.Overdue, f.since.overdue = 12, ago(time.Second) }, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"failed kept", func(q *Queue, _ *facts) { q.Counts[keys.Failed] = 2310 }, Watch, "2,310_failed jobs kept, 100 tolerated", "failed"},
		{"as many failed as tolerated", func(q *Queue, _ *facts) { q.Counts[keys.Failed] = 100 }, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"runs twice as long", func(q *Queue, _ *facts) { q.History = runTimes(125000, 250000) }, Watch, "Run time p95 4_min 10_s, twice its usual", "active"},
		{"runs a little longer", func(q *Queue, _ *facts) { q.History = runTimes(125000, 249000) }, Healthy, "Keeps up at 38_% of its ceiling", ""},

		{"idle, next run", func(q *Queue, f *facts) {
			clear(q.Counts)
			q.NextSchedule = noon.Add(4*time.Minute + 30*time.Second)
		}, Healthy, "Idle, next run in 4_min", ""},
		{"idle, delayed", func(q *Queue, f *facts) {
			clear(q.Counts)
			q.Counts[keys.Delayed], q.NextDue = 3, noon.Add(90*time.Second)
		}, Healthy, "Idle, next job due in 1_min", ""},
		{"idle", func(q *Queue, f *facts) {
			clear(q.Counts)
			q.Added, f.since.lastChange = 7, ago(12*time.Minute)
		}, Quiet, "Idle for 12_min", ""},
		{"just emptied", func(q *Queue, f *facts) {
			clear(q.Counts)
			q.Added = 7
		}, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"parents only", func(q *Queue, f *facts) {
			clear(q.Counts)
			q.Added, q.Counts[keys.WaitingChildren], f.since.lastChange = 7, 18, ago(12*time.Minute)
		}, Quiet, "18_jobs waiting for children", ""},
		{"new", func(q *Queue, _ *facts) { clear(q.Counts) }, Quiet, "No jobs yet", ""},
		{"left by Bull", func(q *Queue, f *facts) {
			q.Legacy, q.Workers, q.OldestWait, f.since.noWorker = true, 0, time.Hour, ago(time.Hour)
		}, Quiet, "Left by Bull 3 or 4, shown only", ""},
		{"Bull still at work", func(q *Queue, _ *facts) { q.Legacy = true }, Healthy, "Keeps up at 38_% of its ceiling", ""},
		{"not read", func(q *Queue, _ *facts) { q.Counts = nil }, UnknownHealth, "Not read yet", ""},
		{"unreadable", func(q *Queue, _ *facts) {
			q.Counts, q.Unreadable = nil, "this user may not run LLEN on bull:email:wait"
		}, UnknownHealth, "Cannot be read: this user may not run LLEN on bull:email:wait", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q, f := sound()
			tt.change(q, &f)
			got := judge(q, f)
			got.reason = strings.ReplaceAll(got.reason, "\u00a0", "_")
			require.Equal(t, verdict{tt.health, tt.reason, tt.field}, got)
		})
	}
}

// runTimes is an hour in which the last five minutes have another p95 run time (ms) than the rest.
func runTimes(usual, now float64) []Minute {
	h := busyHour(0.3, 0, flat)
	for i := range h {
		h[i].RunP95, h[i].Seen = usual, 30
		if i >= len(h)-5 {
			h[i].RunP95 = now
		}
	}
	return h
}

func TestSince(t *testing.T) {
	t.Parallel()
	q, _ := sound()
	q.Workers, q.Ceiling, q.Paused = 0, 0, true
	var s since
	at := noon
	step := func(d time.Duration, started, changed bool) since {
		at = at.Add(d)
		s.update(q, 0.3, at, started, changed)
		return s
	}
	s = step(0, false, false)
	require.Equal(t, since{seen: noon, noWorker: noon, paused: noon, lastChange: noon}, s, "all that holds at the first read")

	q.Paused = false
	step(time.Second, false, true)
	require.Zero(t, s.paused)
	require.Equal(t, at, s.ready)
	require.Equal(t, at, s.lastChange)
	require.Zero(t, s.noStart, "no worker, no slots")

	q.Workers, q.Ceiling = 1, 10
	step(time.Second, false, false)
	require.Zero(t, s.noWorker)
	began := at
	require.Equal(t, began, s.noStart)
	step(time.Second, false, false)
	require.Equal(t, began, s.noStart, "keeps the beginning")
	step(time.Second, true, false)
	require.Zero(t, s.noStart, "a start ends it")

	q.Overdue = 3
	step(time.Second, false, false)
	require.Equal(t, at, s.overdue)
	q.Limiter.Closed = true
	step(time.Second, false, false)
	require.Zero(t, s.overdue, "a closed limiter explains it")
	require.Zero(t, s.noStart)
	q.Limiter.Closed, q.Counts[keys.Active] = false, 10
	step(time.Second, false, false)
	require.Zero(t, s.overdue, "full slots explain it")
	q.CeilingKnown = false
	step(time.Second, false, false)
	require.Zero(t, s.noStart, "what runs may be all that fits")

	q.Rate.FailingShare = 0.4
	minute := at.Truncate(time.Minute)
	q.History = []Minute{
		{Start: minute.Add(-3 * time.Minute), Completed: 10},
		{Start: minute.Add(-2 * time.Minute), Completed: 1, Retried: 9},
		{Start: minute.Add(-time.Minute), Completed: 1, Failed: 9},
	}
	step(time.Second, false, false)
	require.Equal(t, minute.Add(-2*time.Minute), s.failing, "the minute in which it began")
	q.Rate.FailingShare = 0.2
	step(time.Second, false, false)
	require.Zero(t, s.failing)
}

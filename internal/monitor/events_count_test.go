package monitor

import (
	"container/list"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// seen records observations.
type seen struct {
	waits, completed, failed []time.Duration
	attempts                 []int
}

func (s *seen) JobWaited(_ keys.Queue, _ string, d time.Duration) { s.waits = append(s.waits, d) }
func (s *seen) JobEnded(_ keys.Queue, _ string, n int)            { s.attempts = append(s.attempts, n) }

func (s *seen) JobRan(_ keys.Queue, _ string, ok bool, d time.Duration) {
	if ok {
		s.completed = append(s.completed, d)
	} else {
		s.failed = append(s.failed, d)
	}
}

func newTestCounter(max int) (*eventCounter, *seen) {
	o := &seen{}
	return &eventCounter{
		table: &jobTable{max: max}, jobs: map[string]*list.Element{}, observer: o,
		minutes: newMinuteLog(time.UnixMilli(0)),
	}, o
}

// epoch is the time 0 of the tests.
const epoch = 1_700_000_000_000

// ev builds an entry of job 1 at a time in milliseconds.
func ev(at int64, kind string, change ...func(*entry)) entry {
	at += epoch
	e := entry{id: fmt.Sprintf("%d-0", at), at: at, kind: kind, job: "1"}
	for _, c := range change {
		c(&e)
	}
	return e
}

func prev(p string) func(*entry)   { return func(e *entry) { e.prev = p } }
func due(ms int64) func(*entry)    { return func(e *entry) { e.due = epoch + ms } }
func madeN(n int) func(*entry)     { return func(e *entry) { e.made = n } }
func stalledOut(e *entry)          { e.stalledOut = true }
func jobID(id string) func(*entry) { return func(e *entry) { e.job = id } }

func TestCount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		batches [][]entry
		facts   []jobFacts // of job 1, one per batch
		want    EventTotals
		seen    seen
	}{
		{
			name: "wait of a delayed job runs from its due time, not from its promotion",
			batches: [][]entry{{
				ev(1000, "added"), ev(1000, "delayed", due(2000)),
				ev(5000, "waiting", prev("delayed")), ev(5500, "active"), ev(6000, "completed"),
			}},
			want: EventTotals{
				DelayedScheduled: 1, Promoted: 1, Started: 1, Completed: 1, StartedWithinTarget: 0, FinishedWithinTarget: 1,
			},
			seen: seen{waits: []time.Duration{3500 * time.Millisecond}, completed: []time.Duration{500 * time.Millisecond}, attempts: []int{1}},
		},
		{
			name: "promoted by hand before its time",
			batches: [][]entry{{
				ev(1000, "added"), ev(1000, "delayed", due(900000)), ev(2000, "waiting", prev("delayed")), ev(2100, "active"),
			}},
			want: EventTotals{DelayedScheduled: 1, Promoted: 1, Started: 1, StartedWithinTarget: 1},
			seen: seen{waits: []time.Duration{100 * time.Millisecond}},
		},
		{
			name: "retry, then done, in one batch",
			batches: [][]entry{{
				ev(0, "added"), ev(0, "waiting"), ev(1, "active"), ev(2, "waiting", prev("active")), ev(3, "active"), ev(4, "completed"),
			}},
			facts: []jobFacts{{found: true, made: 2, started: 2}},
			want:  EventTotals{Started: 2, RetriedImmediate: 1, Completed: 1, StartedWithinTarget: 2, FinishedWithinTarget: 2},
			seen:  seen{waits: ms(1, 1), completed: ms(1), failed: ms(1), attempts: []int{2}},
		},
		{
			name: "put back by a rate limit, then done, in one batch",
			batches: [][]entry{{
				ev(0, "added"), ev(0, "waiting"), ev(1, "active"), ev(2, "waiting", prev("active")), ev(3, "active"), ev(4, "completed"),
			}},
			facts: []jobFacts{{found: true, made: 1, started: 2}},
			want:  EventTotals{Started: 2, Completed: 1, StartedWithinTarget: 2, FinishedWithinTarget: 1},
			seen:  seen{waits: ms(1, 1), completed: ms(1), attempts: []int{1}},
		},
		{
			name: "backoff, then moved by its processor",
			batches: [][]entry{
				{ev(0, "added"), ev(0, "waiting"), ev(1, "active"), ev(2, "delayed", due(10))},
				{ev(10, "waiting", prev("delayed")), ev(11, "active"), ev(12, "delayed", due(20))},
			},
			facts: []jobFacts{{found: true, made: 1, started: 1}, {found: true, made: 1, started: 2}},
			want: EventTotals{
				Started: 2, RetriedBackoff: 1, DelayedBackoff: 1, DelayedManual: 1, Promoted: 1,
				StartedWithinTarget: 2, FinishedWithinTarget: 1,
			},
			seen: seen{waits: ms(1, 1), failed: ms(1)},
		},
		{
			name:    "another due time is not another move",
			batches: [][]entry{{ev(0, "added"), ev(0, "delayed", due(50)), ev(5, "delayed", due(90))}},
			want:    EventTotals{DelayedScheduled: 1},
		},
		{
			name: "stalled, then failed for it",
			batches: [][]entry{{
				ev(0, "waiting", prev("active")), ev(0, "stalled"), ev(1, "active"), ev(1, "failed", stalledOut), ev(1, "retries-exhausted", madeN(1)),
			}},
			want: EventTotals{Stalled: 1, Started: 1, FailedStalled: 1, StartedWithinTarget: 1, FinishedWithinTarget: 1},
			seen: seen{waits: ms(1), failed: ms(0), attempts: []int{1}},
		},
		{
			name:    "exhausted and unrecoverable",
			batches: [][]entry{{ev(5, "failed"), ev(5, "retries-exhausted", madeN(3)), ev(6, "failed", jobID("2")), ev(6, "drained", jobID(""))}},
			want:    EventTotals{FailedExhausted: 1, FailedUnrecoverable: 1, FinishedWithinTarget: 2},
			seen:    seen{attempts: []int{3}},
		},
		{
			name:    "the next job's exhaustion is not this one's",
			batches: [][]entry{{ev(5, "failed"), ev(5, "retries-exhausted", jobID("2"))}},
			want:    EventTotals{FailedUnrecoverable: 1, FinishedWithinTarget: 1},
		},
		{
			name:    "seen first when it went to backoff",
			batches: [][]entry{{ev(5, "delayed", due(9))}},
			facts:   []jobFacts{{found: true, made: 2, started: 2}},
			want:    EventTotals{RetriedBackoff: 1, DelayedBackoff: 1, FinishedWithinTarget: 1},
		},
		{
			name:    "seen first when it was put back, and running again",
			batches: [][]entry{{ev(5, "waiting", prev("active"))}},
			facts:   []jobFacts{{found: true, made: 1, started: 3, running: true}},
			want:    EventTotals{},
		},
		{
			name:    "gone before it could be looked at",
			batches: [][]entry{{ev(0, "added"), ev(0, "waiting"), ev(1, "active"), ev(2, "waiting", prev("active"))}},
			facts:   []jobFacts{{}},
			want:    EventTotals{Started: 1, RetriedImmediate: 1, StartedWithinTarget: 1, FinishedWithinTarget: 1},
			seen:    seen{waits: ms(1), failed: ms(1)},
		},
		{
			name:    "run again by hand counts from its new beginning",
			batches: [][]entry{{ev(1, "failed"), ev(1, "retries-exhausted", madeN(1)), ev(9, "waiting", prev("failed")), ev(10, "active"), ev(12, "completed")}},
			want:    EventTotals{FailedExhausted: 1, Started: 1, Completed: 1, StartedWithinTarget: 1, FinishedWithinTarget: 2},
			seen:    seen{waits: ms(1), completed: ms(2), attempts: []int{1}},
		},
		{
			name:    "removed after its end is not removed before it",
			batches: [][]entry{{ev(1, "removed", prev("completed")), ev(1, "removed", prev("failed")), ev(1, "removed", prev("wait"))}},
			want:    EventTotals{Removed: 1},
		},
		{
			name:    "too late and too long",
			batches: [][]entry{{ev(0, "added"), ev(0, "waiting"), ev(1001, "active"), ev(3002, "completed")}},
			want:    EventTotals{Started: 1, Completed: 1},
			seen:    seen{waits: ms(1001), completed: ms(2001), attempts: []int{1}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, got := newTestCounter(10)
			c.waitTarget, c.runTarget = 1000, 2000
			for i, batch := range tt.batches {
				facts := c.undecided(batch)
				for job := range facts {
					facts[job] = tt.facts[i]
				}
				c.count(batch, facts)
			}
			if diff := cmp.Diff(tt.want, c.fresh); diff != "" {
				t.Errorf("totals (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.seen, *got, cmp.AllowUnexported(seen{})); diff != "" {
				t.Errorf("observed (-want +got):\n%s", diff)
			}
		})
	}
}

func ms(n ...int64) []time.Duration {
	var out []time.Duration
	for _, v := range n {
		out = append(out, time.Duration(v)*time.Millisecond)
	}
	return out
}

func TestJobTableForgetsTheOldest(t *testing.T) {
	t.Parallel()
	c, got := newTestCounter(3)
	for i := range 5 {
		id := fmt.Sprint(i)
		c.count([]entry{ev(0, "added", jobID(id)), ev(0, "waiting", jobID(id))}, nil)
	}
	if len(c.jobs) != 3 || c.table.recent.Len() != 3 {
		t.Fatalf("%d jobs are remembered, want 3", len(c.jobs))
	}
	for i := range 5 {
		c.count([]entry{ev(7, "active", jobID(fmt.Sprint(i)))}, nil)
	}
	if want := ms(7, 7, 7); !slices.Equal(got.waits, want) && len(got.waits) > 3 {
		t.Errorf("waits are %v, want at most %v: the two oldest are forgotten", got.waits, want)
	}
	if c.fresh.Started != 5 {
		t.Errorf("%d starts, want 5: forgetting loses times, not counts", c.fresh.Started)
	}
	c.forgetAll()
	if len(c.jobs) != 0 || c.table.recent.Len() != 0 {
		t.Error("jobs are remembered after a gap")
	}
}

// TestPairsAreReadTogether cuts a reply between two entries of one script.
func TestPairsAreReadTogether(t *testing.T) {
	t.Parallel()
	messages := []redis.XMessage{
		{ID: "1-0", Values: map[string]any{"event": "active", "jobId": "1"}},
		{ID: "2-0", Values: map[string]any{"event": "failed", "jobId": "1", "failedReason": stalledTooOften}},
	}
	cut := newBatch(nil, messages, 2)
	if len(cut.entries) != 1 || !cut.full {
		t.Errorf("%d entries of a full reply are taken, want 1: the reason of the failure comes next", len(cut.entries))
	}
	whole := newBatch(nil, messages, 3)
	if len(whole.entries) != 2 || whole.full {
		t.Errorf("%d entries of a reply that reached the end are taken, want 2", len(whole.entries))
	}
	if !whole.entries[1].stalledOut {
		t.Error("the reason of the failure is not seen")
	}
}

func TestNextCountBoundsTheReply(t *testing.T) {
	t.Parallel()
	b := func(n, size int) batch { return batch{entries: make([]entry, n), size: n * size} }
	for _, tt := range []struct {
		batches []batch
		want    int64
	}{
		{nil, 77},
		{[]batch{b(500, 100)}, 500},
		{[]batch{b(10, 1<<20)}, 10},
		{[]batch{b(100, 100<<10)}, 81},
		{[]batch{b(100, 10<<10), b(100, 10<<10)}, 409},
	} {
		if got := nextCount(tt.batches, 77); got != tt.want {
			t.Errorf("nextCount = %d, want %d", got, tt.want)
		}
	}
}

func TestSketchIsFivePercentOffAtMost(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	var s sketch
	values := make([]int64, 5000)
	for i := range values {
		values[i] = 1 + int64(math.Exp(rnd.Float64()*14)) // 2 ms to 20 min
		s.add(values[i])
	}
	slices.Sort(values)
	for _, q := range []float64{0.5, 0.95, 0.99} {
		want := float64(values[int(math.Ceil(q*5000))-1])
		if got := s.quantile(q); math.Abs(got-want)/want > 0.05 {
			t.Errorf("quantile %v is %.1f, want %.1f within 5 %%", q, got, want)
		}
	}
	if (&sketch{}).quantile(0.5) != 0 {
		t.Error("the quantile of nothing is not 0")
	}
}

func TestMinuteLog(t *testing.T) {
	t.Parallel()
	start := time.UnixMilli(epoch).Truncate(time.Minute)
	at := func(d time.Duration) int64 { return start.Add(d).UnixMilli() }
	l := newMinuteLog(start)
	l.at(at(time.Second)).Completed++
	l.ran(at(time.Second), 100)
	if got := l.minutes(start.Add(62 * time.Second)); len(got) != 0 {
		t.Errorf("a minute is closed %v after its end, want %v", 2*time.Second, minuteGrace)
	}
	l.at(at(3 * time.Minute)).Completed += 2
	l.at(at(time.Second)).Completed++ // late
	got := l.minutes(start.Add(4*time.Minute + 6*time.Second))
	want := []int64{1, 0, 0, 3}
	if len(got) != len(want) {
		t.Fatalf("%d minutes are closed, want %d", len(got), len(want))
	}
	for i, n := range want {
		if got[i].Completed != n || !got[i].Start.Equal(start.Add(time.Duration(i)*time.Minute)) {
			t.Errorf("minute %d is %+v, want %d completed", i, got[i], n)
		}
	}
	if got[0].Seen != 1 || math.Abs(got[0].RunP50-100) > 5 {
		t.Errorf("the first minute says %+v, want 1 run of 100 ms", got[0])
	}
	if got = l.minutes(start.Add(24 * time.Hour)); len(got) != maxMinutes {
		t.Errorf("%d minutes are kept, want %d", len(got), maxMinutes)
	}
}

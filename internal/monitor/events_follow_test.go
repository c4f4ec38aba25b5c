package monitor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
)

// run is the events of one job that completes.
func run(id string) [][]string {
	return [][]string{
		{"event", "added", "jobId", id, "name", "x"},
		{"event", "waiting", "jobId", id},
		{"event", "active", "jobId", id, "prev", "waiting"},
		{"event", "completed", "jobId", id, "returnvalue", "1", "prev", "active"},
	}
}

func emitRuns(t *testing.T, c redis.UniversalClient, q keys.Queue, from, n int) {
	t.Helper()
	for i := range n {
		emit(t, c, q, run(fmt.Sprint(from+i))...)
	}
}

func completed(n uint64) func(EventTotals) bool {
	return func(t EventTotals) bool { return t.Completed >= n }
}

func TestFirstSightStartsAtZero(t *testing.T) {
	t.Parallel()
	c, q := testredis.Start(t).Client(t), keys.Queue{Prefix: "bull", Name: "q"}
	emitRuns(t, c, q, 0, 5)
	f := follow(t, c, q)
	f.waitUntilReading(t, q)

	if got, _ := f.Totals(q); got != (EventTotals{}) {
		t.Errorf("totals at first sight are %+v, want zeros: what went before is not counted", got)
	}
	hash := c.HGetAll(t.Context(), "bullpen:metrics:bull:q").Val()
	for _, field := range totalFields() {
		if hash[field.name] != "0" {
			t.Errorf("field %s is %q, want \"0\", so that the first event is an increase", field.name, hash[field.name])
		}
	}
	emitRuns(t, c, q, 5, 3)
	if got := f.waitForTotals(t, q, completed(3)); got.Completed != 3 || got.Started != 3 {
		t.Errorf("totals are %+v, want 3 completed of 3 started", got)
	}
}

func TestOneReaderPerQueueAndAllSeeTheSame(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	queues := make([]keys.Queue, 40)
	for i := range queues {
		queues[i] = keys.Queue{Prefix: "bull", Name: fmt.Sprintf("q%02d", i)}
	}
	a, b := follow(t, srv.Client(t), queues...), follow(t, srv.Client(t), queues...)
	readers := func() (both, none, ofA int) {
		for _, q := range queues {
			switch x, y := a.Stat(q).Reading, b.Stat(q).Reading; {
			case x && y:
				both++
			case !x && !y:
				none++
			case x:
				ofA++
			}
		}
		return both, none, ofA
	}
	eventually(t, "both replicas read their share", func() bool {
		both, none, ofA := readers()
		return both == 0 && none == 0 && ofA > 0 && ofA < len(queues)
	})
	for _, q := range queues {
		emitRuns(t, c, q, 0, 2)
	}
	for _, q := range queues {
		for name, f := range map[string]testFollowers{"a": a, "b": b} {
			if got := f.waitForTotals(t, q, completed(2)); got.Completed != 2 || got.Started != 2 {
				t.Errorf("%s says %+v of %s, want 2 completed", name, got, q.Name)
			}
		}
	}
	a.stop()
	eventually(t, "the other takes over at once", func() bool {
		for _, q := range queues {
			if !b.Stat(q).Reading {
				return false
			}
		}
		return true
	})
}

// TestTakeover kills readers and stops readers in the middle of a flow of events: nothing is lost or counted twice.
func TestTakeover(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c, q := srv.Client(t), keys.Queue{Prefix: "bull", Name: "q"}
	const n = 3000
	var sent atomic.Int64
	first := srv.Client(t)
	a := follow(t, first, q)
	a.waitUntilReading(t, q)
	go func() {
		for i := range n {
			pipe := c.Pipeline()
			for _, e := range run(fmt.Sprint(i)) {
				pipe.XAdd(context.Background(), &redis.XAddArgs{Stream: q.Events(), Values: e})
			}
			_, _ = pipe.Exec(context.Background())
			sent.Add(1)
		}
	}()
	b := follow(t, srv.Client(t), q)
	eventually(t, "a third is sent", func() bool { return sent.Load() > n/3 })
	_ = first.Close() // as if the process were gone: its lease runs out
	eventually(t, "two thirds are sent", func() bool { return sent.Load() > 2*n/3 })
	d := follow(t, srv.Client(t), q)
	b.waitForTotals(t, q, completed(1))
	b.stop()
	got := d.waitForTotals(t, q, completed(n))
	if got.Completed != n || got.Started != n {
		t.Errorf("totals are %+v, want %d started and completed", got, n)
	}
}

// TestGap trims entries while nobody reads. What was lost is counted to the entry, and finished jobs are taken from
// BullMQ's metrics.
func TestGap(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c, q := srv.Client(t), keys.Queue{Prefix: "bull", Name: "q"}
	ctx := t.Context()
	c.HSet(ctx, q.MetricsCompleted(), "count", 100)
	a := follow(t, c, q)
	a.waitUntilReading(t, q)
	emitRuns(t, c, q, 0, 10)
	c.HIncrBy(ctx, q.MetricsCompleted(), "count", 10)
	a.waitForTotals(t, q, completed(10))
	a.stop()

	emitRuns(t, c, q, 10, 50) // 200 entries
	c.HIncrBy(ctx, q.MetricsCompleted(), "count", 50)
	c.HIncrBy(ctx, q.MetricsFailed(), "count", 7)
	c.XTrimMaxLen(ctx, q.Events(), 40) // 10 runs are left
	b := follow(t, c, q)
	got := b.waitForTotals(t, q, func(t EventTotals) bool { return t.Completed >= 60 && t.Failed() >= 7 })
	if got.Completed != 60 || got.FailedExhausted != 7 || got.Started != 20 {
		t.Errorf("totals are %+v, want 60 completed and 7 failed, as the metrics say, and 20 starts seen", got)
	}
	if lost := b.Stat(q).Lost; lost != 160 {
		t.Errorf("lost %d entries, want 160", lost)
	}
}

// TestRefusedWrites fills Redis while events arrive: they are counted once writes are allowed again.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c, q := srv.Client(t), keys.Queue{Prefix: "bull", Name: "q"}
	f := follow(t, srv.Client(t), q)
	f.waitUntilReading(t, q)

	pipe := c.TxPipeline()
	for _, e := range run("1") {
		pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: q.Events(), Values: e})
	}
	pipe.ConfigSet(t.Context(), "maxmemory", "1")
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the refusal is reported", func() bool {
		err := f.Part().Err
		return err != nil && strings.Contains(err.Error(), "OOM")
	})
	eventually(t, "the events are read all the same", func() bool { return f.Stat(q).Read == 4 })
	if got, _ := f.Totals(q); got.Completed != 0 {
		t.Errorf("%d completed before the write, want 0: all replicas show what is stored", got.Completed)
	}
	c.ConfigSet(t.Context(), "maxmemory", "0")
	if got := f.waitForTotals(t, q, completed(1)); got.Completed != 1 || got.Started != 1 {
		t.Errorf("totals are %+v, want 1 completed", got)
	}
	eventually(t, "all is well again", func() bool { return f.Part().Err == nil })
}

// lostAnswers is a hook that lets the first n pipelines with a commit run and then loses their answers.
type lostAnswers struct{ n atomic.Int64 }

func (h *lostAnswers) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (h *lostAnswers) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *lostAnswers) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if cmds[0].Name() == "evalsha" && cmds[0].Err() == nil && h.n.Add(-1) >= 0 {
			for _, c := range cmds {
				c.SetErr(errors.New("connection reset"))
			}
		}
		return err
	}
}

func TestLostAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	own, q := srv.Client(t), keys.Queue{Prefix: "bull", Name: "q"}
	hook := &lostAnswers{}
	own.AddHook(hook)
	f := follow(t, own, q)
	f.waitUntilReading(t, q)
	c := srv.Client(t)
	for i := range 20 {
		hook.n.Store(2)
		emitRuns(t, c, q, i, 1)
		f.waitForTotals(t, q, completed(uint64(i+1)))
	}
	if got, _ := f.Totals(q); got.Completed != 20 || got.Started != 20 {
		t.Errorf("totals are %+v, want 20 completed: each commit was sent three times", got)
	}
}

func TestReadOnlyWritesNothing(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c, q := srv.Client(t), keys.Queue{Prefix: "bull", Name: "q"}
	readOnly := func(o *followerOptions) { o.readOnly = true }
	emitRuns(t, c, q, 0, 3)
	a, b := followWith(t, c, readOnly, q), followWith(t, c, readOnly, q)
	a.waitUntilReading(t, q)
	b.waitUntilReading(t, q)
	emitRuns(t, c, q, 3, 4)
	for _, f := range []testFollowers{a, b} {
		if got := f.waitForTotals(t, q, completed(4)); got.Completed != 4 {
			t.Errorf("totals are %+v, want 4 completed", got)
		}
	}
	a.stop()
	if own := c.Keys(t.Context(), "bullpen:*").Val(); len(own) > 0 {
		t.Errorf("a read-only process left %v", own)
	}
}

// TestObliteratedQueue begins a stream anew under the same name.
func TestObliteratedQueue(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c, q := srv.Client(t), keys.Queue{Prefix: "bull", Name: "q"}
	f := follow(t, c, q)
	f.waitUntilReading(t, q)
	emitRuns(t, c, q, 0, 30)
	f.waitForTotals(t, q, completed(30))
	c.Del(t.Context(), q.Events(), q.MetricsCompleted())
	emitRuns(t, c, q, 30, 4)
	if got := f.waitForTotals(t, q, completed(34)); got.Completed != 34 {
		t.Errorf("totals are %+v, want 34 completed", got)
	}
	if lost := f.Stat(q).Lost; lost != 0 {
		t.Errorf("lost %d entries, want 0", lost)
	}
}

// TestRedisRestart kills Redis while jobs run and brings it back with its data.
func TestRedisRestart(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	q := keys.Queue{Prefix: "bull", Name: "q"}
	f := follow(t, srv.Client(t), q)
	f.waitUntilReading(t, q)
	emitRuns(t, srv.Client(t), q, 0, 5)
	f.waitForTotals(t, q, completed(5))
	srv.Kill()
	eventually(t, "the failure is reported", func() bool { return f.Part().Err != nil })
	srv.Restart(t)
	emitRuns(t, srv.Client(t), q, 5, 5)
	got := f.waitForTotals(t, q, completed(10))
	if got.Completed != 10 {
		t.Errorf("totals are %+v, want 10 completed", got)
	}
}

// TestFollowTheInProcessStore runs on the store for a first look, which tells less about streams.
func TestFollowTheInProcessStore(t *testing.T) {
	t.Parallel()
	c, q := testredis.Memory(t), keys.Queue{Prefix: "bull", Name: "q"}
	f := follow(t, c, q)
	f.waitUntilReading(t, q)
	emitRuns(t, c, q, 0, 10)
	if got := f.waitForTotals(t, q, completed(10)); got.Completed != 10 || got.Started != 10 {
		t.Errorf("totals are %+v, want 10 completed", got)
	}
}

func TestQueueThatComesAndGoes(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c, q := srv.Client(t), keys.Queue{Prefix: "bull", Name: "q"}
	var there atomic.Bool
	f := followWith(t, c, func(o *followerOptions) {
		o.queues = func() []keys.Queue {
			if there.Load() {
				return []keys.Queue{q}
			}
			return nil
		}
	}, q)
	if _, ok := f.Totals(q); ok {
		t.Error("totals of a queue nobody named")
	}
	there.Store(true)
	f.waitUntilReading(t, q)
	there.Store(false)
	eventually(t, "the queue is dropped", func() bool { _, ok := f.Totals(q); return !ok })
	there.Store(true)
	f.waitUntilReading(t, q)
}

func TestMinutesOfAStream(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c, q := srv.Client(t), keys.Queue{Prefix: "bull", Name: "q"}
	var shift atomic.Int64
	f := followWith(t, c, func(o *followerOptions) {
		o.clock = func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }
	}, q)
	f.waitUntilReading(t, q)
	emitRuns(t, c, q, 0, 7)
	f.waitForTotals(t, q, completed(7))
	shift.Store(int64(2 * time.Minute))
	var sum Minute
	for _, m := range f.Minutes(q) {
		sum.Added += m.Added
		sum.Completed += m.Completed
		sum.Seen += m.Seen
	}
	if sum.Added != 7 || sum.Completed != 7 || sum.Seen != 7 {
		t.Errorf("the closed minutes add up to %+v, want 7 added, completed and seen", sum)
	}
}

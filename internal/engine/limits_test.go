package engine

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

func TestLimiterOverTwoWorkers(t *testing.T) {
	t.Parallel()
	const jobs, most = 40, 5
	q := newQueue(t)
	ids := addMany(t, q, jobs, JobOptions{})
	var ran runs
	limited := func(o *WorkerOptions) {
		o.Concurrency, o.Limiter = 20, &Limiter{Max: most, Duration: 300 * time.Millisecond}
	}
	started := time.Now()
	h := func(_ context.Context, j *Job) (any, error) { ran.add(j.ID); return nil, nil }
	startWorker(t, q, h, limited)
	startWorker(t, q, h, limited)
	awaitCount(t, q, keys.Completed, jobs)
	took := time.Since(started)
	for _, id := range ids {
		if n := ran.of(id); n != 1 {
			t.Errorf("job %s ran %d times", id, n)
		}
	}
	if least := 7 * 300 * time.Millisecond; took < least {
		t.Errorf("eight windows of %d took %s, want at least %s", most, took, least)
	}
	starts := startsPerWindow(t, q, 300*time.Millisecond)
	for i, n := range starts {
		if n > most {
			t.Errorf("window %d of %v has %d starts, want at most %d", i, starts, n, most)
		}
	}
}

// startsPerWindow groups the starts into windows that open with the first start after the last one has closed. It takes
// Redis' own time, by which the limiter's key lives, from the ids of the events.
func startsPerWindow(t *testing.T, q *Queue, window time.Duration) []int {
	t.Helper()
	entries, err := q.client.XRange(t.Context(), q.Events(), "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	var windows []int
	var closes int64
	for _, e := range entries {
		if e.Values["event"] != "active" {
			continue
		}
		text, _, _ := strings.Cut(e.ID, "-")
		at, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if at >= closes {
			windows, closes = append(windows, 0), at+window.Milliseconds()-1 // ids and expiry are rounded apart
		}
		windows[len(windows)-1]++
	}
	return windows
}

func TestRateLimitByHandler(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	const limit = 700 * time.Millisecond
	var began atomic.Pointer[time.Time]
	h := func(context.Context, *Job) (any, error) {
		now := time.Now()
		if began.CompareAndSwap(nil, &now) {
			return nil, RateLimit(limit)
		}
		if waited := time.Since(*began.Load()); waited < limit {
			t.Errorf("a job ran %s into a limit of %s", waited, limit)
		}
		return nil, nil
	}
	j := add(t, q, "x", nil, JobOptions{Attempts: 1})
	a := startWorker(t, q, h, nil)
	eventually(t, "the queue is limited", func() bool {
		ttl, err := q.RateLimitTTL(ctx, 0)
		return err == nil && ttl > 0
	})
	// A second worker, without a limiter of its own, obeys the manual limit too.
	b := startWorker(t, q, h, nil)
	add(t, q, "y", nil, JobOptions{})
	awaitCount(t, q, keys.Completed, 2)
	got := read(t, q, j.ID)
	if got.AttemptsMade != 1 || got.AttemptsStarted != 2 || got.FailedReason != "" {
		t.Errorf("limited job: made %d, started %d, reason %q; want 1, 2, none", got.AttemptsMade, got.AttemptsStarted, got.FailedReason)
	}
	if !a.Healthy() || !b.Healthy() {
		t.Error("a rate-limited worker counts as unhealthy")
	}
}

// TestRateLimitIsNeverShortened has many workers limit the queue at once: the longest limit holds.
func TestRateLimitIsNeverShortened(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	var workers sync.WaitGroup
	for i := range 100 {
		workers.Go(func() {
			if err := q.extendRateLimit(t.Context(), time.Duration(1+i%50)*time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	if ttl, err := q.ManualRateLimit(t.Context()); err != nil || ttl < 49*time.Minute {
		t.Errorf("limit lasts %s, %v, want 50 minutes", ttl, err)
	}
}

func TestRateLimitIsLifted(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	if err := q.RateLimit(ctx, time.Hour); err != nil {
		t.Fatal(err)
	}
	// A 429 of a second must not shorten what an operator set for an hour.
	if err := q.extendRateLimit(ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	if ttl, err := q.RateLimitTTL(ctx, 0); err != nil || ttl < 59*time.Minute {
		t.Fatalf("limit lasts %s, %v, want an hour", ttl, err)
	}
	j := add(t, q, "x", nil, JobOptions{})
	fetched := make(chan struct{}, 100)
	startWorker(t, q, nothing, func(o *WorkerOptions) {
		o.MaxRateLimitWait = 50 * time.Millisecond
		o.Observer = observed{fetched: func() { fetched <- struct{}{} }}
	})
	<-fetched
	<-fetched // it looks again while limited
	if s := state(t, q, j.ID); s != keys.Waiting {
		t.Fatalf("job is %s under a manual limit", s)
	}
	if err := q.RemoveRateLimit(ctx); err != nil {
		t.Fatal(err)
	}
	awaitState(t, q, j.ID, keys.Completed)
}

// observed is an observer of single calls.
type observed struct {
	nobody
	fetched  func()
	finished func(Outcome)
	lost     func(int)
}

func (o observed) Fetched(string, time.Time) {
	if o.fetched != nil {
		o.fetched()
	}
}

func (o observed) JobFinished(_ string, outcome Outcome, _ time.Duration) {
	if o.finished != nil {
		o.finished(outcome)
	}
}

func (o observed) LockLost(_ string, n int) {
	if o.lost != nil {
		o.lost(n)
	}
}

func TestGlobalConcurrency(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	if err := q.SetGlobalConcurrency(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	addMany(t, q, 40, JobOptions{})
	var now, most atomic.Int64
	h := func(context.Context, *Job) (any, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return nil, nil
	}
	wide := func(o *WorkerOptions) { o.Concurrency, o.DrainDelay = 5, 50*time.Millisecond }
	startWorker(t, q, h, wide)
	startWorker(t, q, h, wide)
	awaitCount(t, q, keys.Completed, 40)
	if most.Load() != 2 {
		t.Errorf("%d jobs ran at once, want 2", most.Load())
	}
}

func TestConcurrencyIsLive(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	addMany(t, q, 9, JobOptions{})
	release := make(chan struct{})
	var once sync.Once
	open := func() { once.Do(func() { close(release) }) }
	w := startWorker(t, q, func(context.Context, *Job) (any, error) { <-release; return nil, nil }, nil)
	t.Cleanup(open)
	eventually(t, "one job runs", func() bool { return w.Running() == 1 })
	w.SetConcurrency(4)
	eventually(t, "four jobs run", func() bool { return w.Running() == 4 })
	w.SetConcurrency(2)
	if w.Running() != 4 || w.Concurrency() != 2 {
		t.Errorf("%d running of %d, want 4 of 2: nothing is interrupted", w.Running(), w.Concurrency())
	}
	open()
	awaitCount(t, q, keys.Completed, 9)
}

func TestLimiterIsLive(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	addMany(t, q, 3, JobOptions{})
	w := startWorker(t, q, nothing, func(o *WorkerOptions) {
		o.Limiter, o.MaxRateLimitWait = &Limiter{Max: 1, Duration: time.Hour}, 20*time.Millisecond
	})
	awaitCount(t, q, keys.Completed, 1)
	if err := w.SetLimiter(&Limiter{Max: 1}); err == nil {
		t.Error("a limiter without a duration was accepted")
	}
	if err := w.SetLimiter(nil); err != nil {
		t.Fatal(err)
	}
	awaitCount(t, q, keys.Completed, 3)
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	fetched := make(chan struct{}, 1000)
	startWorker(t, q, nothing, func(o *WorkerOptions) {
		o.DrainDelay = 10 * time.Millisecond
		o.Observer = observed{fetched: func() { fetched <- struct{}{} }}
	})
	if err := q.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	j := add(t, q, "x", nil, JobOptions{})
	for range 3 {
		<-fetched
	}
	if s := state(t, q, j.ID); s != keys.Waiting {
		t.Fatalf("job of a paused queue is %s", s)
	}
	if paused, err := q.IsPaused(ctx); err != nil || !paused {
		t.Fatalf("IsPaused = %t, %v", paused, err)
	}
	if err := q.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	awaitState(t, q, j.ID, keys.Completed)
}

func TestDelayedJobRunsWhenDue(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	// The poll cannot be what finds the job.
	startWorker(t, q, nothing, func(o *WorkerOptions) { o.DrainDelay = time.Hour })
	for range 2 { // the second finds an idle worker that knows no due time
		j := add(t, q, "x", nil, JobOptions{Delay: 150 * time.Millisecond})
		awaitState(t, q, j.ID, keys.Completed)
		if late := read(t, q, j.ID).ProcessedOn.Sub(j.Timestamp); late < 150*time.Millisecond || late > 2*time.Second {
			t.Errorf("job due after 150 ms ran after %s", late)
		}
	}
}

func TestWakeUpIsPassedOn(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	w := newWorker(t, q, nothing, nil)
	// A marker this worker consumed while it has no free slot goes back for others.
	w.loop.running[&attempt{}] = true
	w.loop.woken(wake{member: baseMarker})
	w.loop.act(time.Now())
	w.loop.beside.Wait()
	if score, err := q.client.ZScore(t.Context(), q.Marker(), baseMarker).Result(); err != nil || score != 0 {
		t.Errorf("marker = %v, %v", score, err)
	}
}

func TestPollFindsWhatNoMarkerAnnounces(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	fetched := make(chan struct{}, 1000)
	startWorker(t, q, nothing, func(o *WorkerOptions) {
		o.DrainDelay = 50 * time.Millisecond
		o.Observer = observed{fetched: func() { fetched <- struct{}{} }}
	})
	<-fetched
	j := add(t, q, "x", nil, JobOptions{Priority: 3})
	awaitState(t, q, j.ID, keys.Completed)
	// A job put there without any marker.
	q.client.HSet(ctx, q.JobKey("silent"), "name", "x", "data", "{}", "opts", "{}", "timestamp", 1)
	q.client.LPush(ctx, q.Wait(), "silent")
	awaitState(t, q, "silent", keys.Completed)
}

// TestWorkerGoesOnAfterABound takes the one job behind more than one script looks at, without waiting for its next poll.
func TestWorkerGoesOnAfterABound(t *testing.T) {
	t.Parallel()
	work := map[string]func(*testing.T, *Queue){
		"started": func(t *testing.T, q *Queue) {
			startWorker(t, q, nothing, func(o *WorkerOptions) { o.DrainDelay = 10 * patience })
		},
		"by hand": func(t *testing.T, q *Queue) {
			if j, err := newWorker(t, q, nothing, nil).RunOnce(t.Context()); err != nil || j == nil {
				t.Errorf("RunOnce = %v, %v", j, err)
			}
		},
	}
	for name, seed := range map[string]string{
		"ids without a job": `redis.call("RPUSH", KEYS[1] .. "wait", i)`,
		"due jobs":          `redis.call("ZADD", KEYS[1] .. "delayed", i * 4096, i)`,
	} {
		for way, run := range work {
			t.Run(way+", "+name, func(t *testing.T) {
				t.Parallel()
				q := newQueue(t)
				j := add(t, q, "job", nil, JobOptions{ID: "real"})
				if name == "due jobs" {
					q.client.Del(t.Context(), q.Wait())
					q.client.ZAdd(t.Context(), q.Delayed(), redis.Z{Score: 1e9, Member: j.ID})
				}
				if err := q.client.Eval(t.Context(), "for i = 1, 3500 do "+seed+" end return 1", []string{q.Base()}).Err(); err != nil {
					t.Fatal(err)
				}
				run(t, q)
				awaitState(t, q, j.ID, keys.Completed)
			})
		}
	}
}

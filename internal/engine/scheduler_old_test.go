package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// TestASuccessorSurvivesAnOutage lets Redis fail when the successor is to be added: the job runs meanwhile, and does not
// end before its successor exists.
func TestASuccessorSurvivesAnOutage(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	broken := &brokenScripts{Client: srv.Client(t)}
	broken.AddHook(broken)
	wq := queueOn(t, broken, q.Prefix)
	if _, err := q.UpsertScheduler(t.Context(), "s", Repeat{Every: 40 * time.Millisecond}, JobTemplate{}); err != nil {
		t.Fatal(err)
	}
	var runs atomic.Int64
	startWorker(t, wq, func(_ context.Context, j *Job) (any, error) {
		runs.Add(1)
		return nil, nil
	}, nil)
	eventually(t, "some firings", func() bool { return runs.Load() > 5 })
	s := scheduler(t, q)
	if broken.failures() == 0 {
		t.Fatal("nothing failed")
	}
	if done := q.client.ZCard(t.Context(), q.Completed()).Val(); s.Iterations < done {
		t.Errorf("%d firings, but %d jobs have ended", s.Iterations, done)
	}
}

// brokenScripts loses two of five calls of the scripts of scheduler s: one before it runs, one after.
type brokenScripts struct {
	*redis.Client
	mu     sync.Mutex
	calls  int
	failed int
}

func (b *brokenScripts) failures() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

func (*brokenScripts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*brokenScripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (b *brokenScripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		words := cmd.Args()
		if len(words) < 10 || words[6] != "s" {
			return next(ctx, cmd)
		}
		b.mu.Lock()
		b.calls++
		n := b.calls % 5
		fails := n == 1 || n == 3
		if fails {
			b.failed++
		}
		b.mu.Unlock()
		if n == 3 {
			_ = next(ctx, cmd)
		}
		if fails {
			err := errors.New("connection reset by peer")
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func TestSchedulersOfOldVersions(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	seed := [][]any{
		{"ZADD", q.Repeat(), 1, "cron::::0 0 1 1 *", 2, "rep:::60000", 3, "tz:id:99:Asia/Tokyo:5000", 4, "6f1ed002ab5595859014ebf0951522d9", 5, "bare", 6, "a:b:7:d:1 2"},
		{"HSET", q.Queue.Scheduler("6f1ed002ab5595859014ebf0951522d9"), "name", "old", "tz", "UTC", "pattern", "0 * * * *"},
		{"HSET", q.Queue.Scheduler("a:b:7:d:1 2"), "name", "ours", "every", "1000", "ic", "4", "limit", "9"},
	}
	for _, words := range seed {
		if err := q.client.Do(ctx, words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	all, total, err := q.Schedulers(ctx, 0, -1, true)
	if err != nil || total != 6 {
		t.Fatal(total, err)
	}
	nine := int64(9)
	want := []Scheduler{
		{ID: "cron::::0 0 1 1 *", Origin: OriginLegacy, Name: "cron", Repeat: Repeat{Pattern: "0 0 1 1 *"}},
		{ID: "rep:::60000", Origin: OriginLegacy, Name: "rep", Repeat: Repeat{Every: time.Minute}},
		{ID: "tz:id:99:Asia/Tokyo:5000", Origin: OriginLegacy, Name: "tz", Repeat: Repeat{Every: 5 * time.Second, TZ: "Asia/Tokyo", EndDate: time.UnixMilli(99)}},
		{ID: "6f1ed002ab5595859014ebf0951522d9", Origin: OriginRepeatable, Name: "old", Repeat: Repeat{Pattern: "0 * * * *", TZ: "UTC"}},
		{ID: "bare", Origin: OriginUnknown},
		{ID: "a:b:7:d:1 2", Origin: OriginBullMQ, Name: "ours", Repeat: Repeat{Every: time.Second, Limit: &nine}, Iterations: 4},
	}
	for i, got := range all {
		want[i].Next, want[i].JobID, want[i].Fields = got.Next, got.JobID, got.Fields
		if diff := cmp.Diff(got, want[i]); diff != "" {
			t.Errorf("%s (-got +want):\n%s", got.ID, diff)
		}
	}
	for i, s := range all {
		_, err := q.UpsertScheduler(ctx, s.ID, Repeat{Every: time.Hour}, JobTemplate{})
		_, errFire := q.FireScheduler(ctx, s.ID)
		_, errRemove := q.RemoveScheduler(ctx, s.ID)
		legacy := s.Origin == OriginLegacy
		if legacy != errors.Is(err, ErrLegacyScheduler) || legacy != errors.Is(errRemove, ErrLegacyScheduler) || legacy == (errFire == nil) {
			t.Errorf("%d %s: upsert %v, fire %v, remove %v", i, s.ID, err, errFire, errRemove)
		}
	}
	if n, err := q.CountSchedulers(ctx); n != 3 || err != nil {
		t.Errorf("%d schedulers are left, %v; want the three old ones", n, err)
	}
}

func TestAJobOfAnOldSchedulerRuns(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	id := "repeat:6f1ed002ab5595859014ebf0951522d9:1700006400000"
	old := "name:::UTC:* * * * *"
	for _, words := range [][]any{
		{"ZADD", q.Repeat(), 1700006400000, old},
		{"HSET", q.JobKey(id), "name", "old", "data", "{}", "opts", `{"repeat":{"pattern":"* * * * *"}}`, "timestamp", 1, "delay", 0, "priority", 0, "rjk", old},
		{"LPUSH", q.Wait(), id},
	} {
		if err := q.client.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorker(t, q, func(context.Context, *Job) (any, error) { return nil, nil }, nil)
	if j, err := w.RunOnce(t.Context()); err != nil || j == nil || state(t, q, id) != keys.Completed {
		t.Fatalf("ran %v, %v", j, err)
	}
	if n, _ := q.CountSchedulers(t.Context()); n != 1 || q.client.ZCard(t.Context(), q.Delayed()).Val() != 0 {
		t.Error("the old scheduler was touched")
	}
}

package engine

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// inMemory returns options for clients of a store inside the process, so that a test can run in virtual time.
func inMemory(t *testing.T) *redis.Options {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	t.Cleanup(m.Close)
	return &redis.Options{
		Dialer:   func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
		Protocol: 2,
	}
}

// TestHoursOfWork runs a worker with its default times, in virtual time: a job that is due in an hour and takes ten
// minutes, twenty lifetimes of its lock, while a second worker looks for stalled jobs.
func TestHoursOfWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := inMemory(t)
		client := redis.NewClient(o)
		defer func() { _ = client.Close() }()
		q := queueOn(t, client, "bull")
		var took, other atomic.Int64
		defaults := func(w *WorkerOptions) { w.DrainDelay, w.Blocking = 0, blockingOn(o) }
		w := newWorker(t, q, func(context.Context, *Job) (any, error) {
			began := time.Now()
			time.Sleep(10 * time.Minute)
			took.Store(int64(time.Since(began)))
			return nil, nil
		}, defaults)
		watcher := newWorker(t, q, func(context.Context, *Job) (any, error) { other.Add(1); return nil, nil }, defaults)
		j := add(t, q, "x", nil, JobOptions{Delay: time.Hour})
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour + time.Minute)
		if s := state(t, q, j.ID); s != keys.Active {
			t.Fatalf("a minute after its time the job is %s", s)
		}
		if late := read(t, q, j.ID).ProcessedOn.Sub(j.Timestamp.Add(time.Hour)); late < 0 || late > 100*time.Millisecond {
			t.Errorf("the job started %s after its time", late)
		}
		if err := watcher.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if s := state(t, q, j.ID); s != keys.Completed || other.Load() != 0 {
			t.Errorf("the job is %s and ran %d times elsewhere", s, other.Load())
		}
		if got := read(t, q, j.ID); got.StalledCount != 0 || got.AttemptsStarted != 1 {
			t.Errorf("stalled %d times, started %d times", got.StalledCount, got.AttemptsStarted)
		}
		for _, w := range []*Worker{w, watcher} {
			if _, err := w.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// starts notes the order in which jobs were started.
type starts struct {
	mu  sync.Mutex
	ids []string
}

func (s *starts) note(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids = append(s.ids, id)
}

func (s *starts) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ids)
}

// TestReentry runs jobs one at a time: a retried job goes to the back, and with lifo to the front.
func TestReentry(t *testing.T) {
	for name, tt := range map[string]struct {
		jobs []string // "+" in front: lifo, "!" behind: fails once
		want []string
	}{
		"fifo": {[]string{"a", "b", "+c", "+d", "e!", "f", "g"}, []string{"d", "c", "a", "b", "e", "f", "g", "e"}},
		"lifo": {[]string{"a", "+e!", "f", "g"}, []string{"e", "e", "a", "f", "g"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.q.Pause(t.Context()))
			for _, j := range tt.jobs {
				o := engine.JobOptions{Attempts: 2, LIFO: j[0] == '+'}
				id := string(slices.DeleteFunc([]byte(j), func(c byte) bool { return c == '+' || c == '!' }))
				o.ID = id
				data := map[string]bool{"fails": j[len(j)-1] == '!'}
				_, err := w.q.Add(t.Context(), "job", data, o)
				require.NoError(t, err)
			}
			require.NoError(t, w.q.Resume(t.Context()))
			var order starts
			w.start(engine.WorkerOptions{Handler: func(_ context.Context, j *engine.Job) (any, error) {
				order.note(j.ID)
				if string(j.Data) == `{"fails":true}` && j.AttemptsMade == 0 {
					return nil, errors.New("once")
				}
				return nil, nil
			}})
			w.awaitFinished(len(tt.jobs))
			require.Equal(t, tt.want, order.names())
		})
	}
}

// TestLimiterWindows has an engine worker and a Node worker share one limiter: never more starts than allowed while a
// window's key lives, and no window that creeps.
func TestLimiterWindows(t *testing.T) {
	const jobs, most, window = 40, 5, 300 * time.Millisecond
	w := newWorld(t)
	limiter := map[string]any{"max": most, "duration": window.Milliseconds()}
	begin := time.Now()
	w.ask(reference, "work", map[string]any{"worker": map[string]any{"concurrency": 20, "drainDelay": 1, "limiter": limiter}}, nil)
	w.start(engine.WorkerOptions{
		Concurrency: 20, Limiter: &engine.Limiter{Max: most, Duration: window}, DrainDelay: time.Second,
		Handler: func(context.Context, *engine.Job) (any, error) { return nil, nil },
	})
	specs := make([]engine.JobSpec, jobs)
	for i := range specs {
		specs[i] = engine.JobSpec{Name: "ok"}
	}
	_, err := w.q.AddBulk(t.Context(), specs)
	require.NoError(t, err)
	w.awaitFinished(jobs)
	took := time.Since(begin)
	w.ask(reference, "stopWork", struct{}{}, nil)
	require.GreaterOrEqual(t, took, (jobs/most-1)*window, "faster than the limit allows")
	require.Less(t, took, (jobs/most-1)*window*2, "windows creep")

	at := w.activations()
	require.Len(t, at, jobs)
	for i, n := 0, 0; i < len(at); i, n = i+n, 0 {
		for i+n < len(at) && at[i+n]-at[i] < window.Milliseconds()-2 {
			n++
		}
		require.LessOrEqual(t, n, most, "starts within the window that began with start %d: %v", i, at)
	}
}

// activations are the times of all starts by the clock of Redis, which is the clock of the limiter's windows.
func (w *world) activations() (at []int64) {
	w.t.Helper()
	entries, err := w.client.XRange(w.t.Context(), w.q.Events(), "-", "+").Result()
	require.NoError(w.t, err)
	for _, e := range entries {
		if e.Values["event"] == "active" {
			ms, _, _ := strings.Cut(e.ID, "-")
			n, err := strconv.ParseInt(ms, 10, 64)
			require.NoError(w.t, err)
			at = append(at, n)
		}
	}
	return at
}

// TestDueTogether delays thousands of jobs to one millisecond: they come out in their order, and all of them.
func TestDueTogether(t *testing.T) {
	const jobs = 3000
	w := newWorld(t)
	now := time.Now()
	specs := make([]engine.JobSpec, jobs)
	for i := range specs {
		specs[i] = engine.JobSpec{Name: "ok", Options: engine.JobOptions{Timestamp: now, Delay: 3 * time.Second}}
	}
	_, err := w.q.AddBulk(t.Context(), specs)
	require.NoError(t, err)
	var order starts
	w.start(engine.WorkerOptions{Handler: func(_ context.Context, j *engine.Job) (any, error) {
		order.note(j.ID)
		return nil, nil
	}})
	w.awaitFinished(jobs)
	for i, id := range order.names() {
		require.Equal(t, fmt.Sprint(i+1), id)
	}
}

// TestAddAgainstFinish races adding an id against the end of the job that has it and is removed at once: every add is
// either run or a duplicate, and nothing is left.
func TestAddAgainstFinish(t *testing.T) {
	const adds = 1500
	w := newWorld(t)
	tally := newTally()
	w.start(engine.WorkerOptions{Concurrency: 2, Handler: func(_ context.Context, j *engine.Job) (any, error) {
		_, end := tally.begin(j.ID)
		defer end()
		return nil, nil
	}})
	duplicates := 0
	for range adds {
		j, err := w.q.Add(t.Context(), "job", nil, engine.JobOptions{ID: "same", KeepCompleted: engine.KeepCount(0)})
		require.NoError(t, err)
		if j.Existing {
			duplicates++
		}
	}
	w.await("the last one is gone", func() bool {
		s, err := w.q.State(t.Context(), "same")
		return err == nil && s == keys.Unknown
	})
	require.Empty(t, tally.doubles)
	require.Equal(t, adds, tally.runs["same"]+duplicates)
	require.Positive(t, duplicates)
	w.sound()
}

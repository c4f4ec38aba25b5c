package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/google/go-cmp/cmp"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	q := clockQueue(t, &now)
	finish := func(at time.Duration, n int) {
		now.Store(noon.Add(at).UnixMilli())
		w := newWorker(t, q, func(context.Context, *Job) (any, error) { return nil, nil }, func(o *WorkerOptions) { o.MetricsPoints = 5 })
		for range n {
			add(t, q, "n", nil, JobOptions{})
			if _, err := w.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(s keys.State, start, end int64) Metrics {
		m, err := q.Metrics(t.Context(), s, start, end)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if m := read(keys.Completed, 0, -1); m.Count != 0 || !m.ClosedUntil.IsZero() || len(m.Minutes) != 0 {
		t.Errorf("of nothing: %+v", m)
	}
	finish(0, 3)
	finish(time.Minute+5*time.Second, 3)
	finish(4*time.Minute, 1)
	want := Metrics{Count: 7, Minutes: []int64{0, 0, 3, 3}, Kept: 4, ClosedUntil: noon.Add(4 * time.Minute), ClosedCount: 6}
	m := read(keys.Completed, 0, -1)
	if diff := cmp.Diff(m, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if !m.Minute(3).Equal(noon) || !m.Minute(0).Equal(noon.Add(3*time.Minute)) || m.Open() != 1 {
		t.Errorf("minute 3 began at %s, %d are open", m.Minute(3), m.Open())
	}
	if m := read(keys.Completed, 2, 2); !m.Minute(0).Equal(noon.Add(time.Minute)) || m.Kept != 4 || len(m.Minutes) != 1 {
		t.Errorf("one minute: %+v at %s", m, m.Minute(0))
	}
	if m := read(keys.Failed, 0, -1); m.Count != 0 {
		t.Errorf("failed: %+v", m)
	}
	if _, err := q.Metrics(t.Context(), keys.Active, 0, -1); !errors.Is(err, ErrInvalid) {
		t.Errorf("of active jobs: %v", err)
	}
}

func TestDeduplicationKeys(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	owner := func() string {
		id, err := q.GetDeduplicationJobID(t.Context(), "d:1")
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if got := owner(); got != "" {
		t.Errorf("owner %q", got)
	}
	o := JobOptions{Deduplication: &Deduplication{ID: "d:1"}}
	first := add(t, q, "a", nil, o)
	if got := owner(); got != first.ID {
		t.Errorf("owner %q, want %s", got, first.ID)
	}
	if freed, err := q.RemoveDeduplicationKey(t.Context(), "d:1"); !freed || err != nil || owner() != "" {
		t.Errorf("%v, %v", freed, err)
	}
	second := add(t, q, "b", nil, o)
	for i, j := range []*Job{first, second} {
		if freed, err := j.RemoveDeduplicationKey(t.Context()); err != nil || freed != (i == 1) {
			t.Errorf("job %s: %v, %v", j.ID, freed, err)
		}
	}
	if got := owner(); got != "" {
		t.Errorf("owner %q", got)
	}
	plain := add(t, q, "c", nil, JobOptions{})
	if freed, err := plain.RemoveDeduplicationKey(t.Context()); freed || err != nil {
		t.Errorf("without an id: %v, %v", freed, err)
	}
}

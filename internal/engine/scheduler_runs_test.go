package engine

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestLastRun(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Repeat{
		"interval": {Every: time.Minute}, "pattern": {Pattern: "*/7 * * * *"}, "rare pattern": {Pattern: "30 4 1 1 *", TZ: "Europe/Berlin"},
		"every second": {Pattern: "* * * * * *"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var now atomic.Int64
			q := clockQueue(t, &now)
			upsert(t, q, r, JobTemplate{})
			if at, id := scheduler(t, q).LastRun(); id != "" || !at.IsZero() {
				t.Errorf("before the first firing the last was %s at %v", id, at)
			}
			for range 3 {
				j := fire(t, q, &now)
				if at, id := scheduler(t, q).LastRun(); id != j.ID || at.UnixMilli() != now.Load() {
					t.Errorf("the last firing was %s at %v, want %s at %d", id, at, j.ID, now.Load())
				}
			}
		})
	}
}

func TestLastRunOfAScheduleThatEnded(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	q := clockQueue(t, &now)
	limit := int64(1)
	upsert(t, q, Repeat{Every: time.Minute, Limit: &limit}, JobTemplate{})
	j := fire(t, q, &now)
	if _, id := scheduler(t, q).LastRun(); id != j.ID {
		t.Errorf("the last firing was %s, want %s", id, j.ID)
	}
}

// TestPreviewUpsert replaces schedulers in every situation and compares with what was said before.
func TestPreviewUpsert(t *testing.T) {
	t.Parallel()
	minute, once := Repeat{Every: time.Minute}, int64(1)
	for name, tt := range map[string]struct {
		before, after Repeat
		later         time.Duration
		fires         int
	}{
		"same interval":          {before: minute, after: minute, fires: 1, later: 10 * time.Second},
		"same interval, overdue": {before: minute, after: minute, later: time.Hour},
		"same interval, ended":   {before: Repeat{Every: time.Minute, Limit: &once}, after: minute, fires: 1, later: 10 * time.Second},
		"ended long ago":         {before: Repeat{Every: time.Minute, Limit: &once}, after: minute, fires: 1, later: 95 * time.Second},
		"other interval":         {before: minute, after: Repeat{Every: time.Hour}, fires: 1, later: 10 * time.Second},
		"pattern instead":        {before: minute, after: Repeat{Pattern: "*/7 * * * *"}, fires: 2, later: 10 * time.Second},
		"other pattern":          {before: Repeat{Pattern: "*/7 * * * *"}, after: Repeat{Pattern: "0 9 * * *", TZ: "America/New_York"}, later: time.Second},
		"interval instead":       {before: Repeat{Pattern: "*/7 * * * *"}, after: minute, later: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var now atomic.Int64
			q := clockQueue(t, &now)
			upsert(t, q, tt.before, JobTemplate{})
			for range tt.fires {
				fire(t, q, &now)
			}
			now.Add(tt.later.Milliseconds())
			runs, err := q.PreviewUpsert(scheduler(t, q), tt.after, 1)
			if err != nil || len(runs) != 1 {
				t.Fatalf("preview = %v, %v", runs, err)
			}
			if j := upsert(t, q, tt.after, JobTemplate{}); scheduledAt(t, j) != runs[0].UnixMilli() {
				t.Errorf("made %s, said %d", j.ID, runs[0].UnixMilli())
			}
		})
	}
}

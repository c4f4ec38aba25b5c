package engine

import (
	"encoding/json"
	"fmt"
	"sort"
	"time"
)

// LastRun tells when the firing before the current one was taken, and the id its job has if no firing was missed. Both
// are zero when there was none since the last upsert. Of a scheduler that is not Pending it is the current firing, by the
// time it was due.
func (s Scheduler) LastRun() (at time.Time, jobID string) {
	if !s.Pending {
		return s.Next, s.JobID
	}
	if s.Count < 2 || s.Made.IsZero() {
		return time.Time{}, ""
	}
	slot, ok := s.Next.Add(-s.Repeat.Every), true
	if s.Repeat.Pattern != "" {
		slot, ok = s.Repeat.latest(s.Made)
	}
	if !ok {
		return s.Made, ""
	}
	return s.Made, iterationID(s.ID, slot)
}

// iterationID is the id of the job of a firing.
func iterationID(scheduler string, at time.Time) string {
	return fmt.Sprintf("repeat:%s:%d", scheduler, at.UnixMilli())
}

// madeAt reads from the options of a scheduler's job when it was added: that is when the one before it was taken
// (features 1.5).
func madeAt(options string) time.Time {
	var o struct{ Timestamp json.RawMessage }
	if json.Unmarshal([]byte(options), &o) != nil {
		return time.Time{}
	}
	ms, _ := jsonNumber(o.Timestamp)
	return instant(ms)
}

// latest is the newest firing of a pattern at t or up to a year before; false if there is none.
func (r Repeat) latest(t time.Time) (time.Time, bool) {
	const year = 366 * 24 * int(time.Hour/time.Second)
	at := func(back int) (time.Time, bool) {
		next, ok, err := r.next(t.Add(-time.Duration(back) * time.Second))
		return next, err == nil && ok && !next.After(t)
	}
	return at(sort.Search(year, func(back int) bool {
		_, fired := at(back)
		return fired
	}))
}

// PreviewUpsert lists the first n firings that UpsertScheduler would lead to now in place of a scheduler that exists. It
// is PreviewScheduler, except that an interval that stays the same keeps its slots (features 1.3).
func (q *Queue) PreviewUpsert(s *Scheduler, r Repeat, n int) ([]time.Time, error) {
	runs, err := q.PreviewScheduler(s.ID, r, n)
	if err != nil || len(runs) == 0 || r.Every == 0 || r.Every != s.Repeat.Every {
		return runs, err
	}
	now, first := q.clock(), s.Next
	if !s.Pending {
		first = r.after(s.Next, now)
	}
	if !r.EndDate.IsZero() && first.After(r.EndDate) {
		return nil, nil
	}
	return r.follow([]time.Time{first}, 1, now, n)
}

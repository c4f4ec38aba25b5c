package search

import (
	"context"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
)

// page is a read of some rows; after holds where to go on behind each.
type page struct {
	rows  []engine.Row
	after []Cursor
	last  bool // the list has no more
}

// source reads at most n rows of a list from a place on.
type source func(ctx context.Context, c Cursor, n int) (page, error)

func sourceOf(l List, q *Query) source {
	switch {
	case l.IDs != nil:
		return givenIDs(l)
	case l.State == keys.Completed || l.State == keys.Failed:
		from, to := q.Ended()
		bound := times{to: l.Until}.and(times{from, to})
		return byTime(l, bound.from, bound.to)
	}
	return byPlace(l)
}

// givenIDs reads the jobs named.
func givenIDs(l List) source {
	return func(ctx context.Context, c Cursor, n int) (page, error) {
		start := min(int(c.At), len(l.IDs))
		end := min(start+n, len(l.IDs))
		rows, err := l.Queue.RowsByID(ctx, l.IDs[start:end])
		if err != nil {
			return page{}, err
		}
		return page{rows: rows, after: places(c, len(rows)), last: end == len(l.IDs)}, nil
	}
}

// byPlace reads by position. What is added or taken meanwhile moves the rest: looking from the newest on, a job may be
// seen twice, and one is missed only when newer ones are removed out of turn.
func byPlace(l List) source {
	return func(ctx context.Context, c Cursor, n int) (page, error) {
		first := c.At
		if l.Part != nil {
			first += l.Part.First
			if n = int(min(int64(n), l.Part.Count-c.At)); n <= 0 {
				return page{last: true}, nil
			}
		}
		rows, _, err := l.Queue.Rows(ctx, l.State, first, first+int64(n)-1, l.Oldest)
		return page{rows: rows, after: places(c, len(rows)), last: len(rows) < n}, err
	}
}

// places are the positions behind each of n rows read at c.
func places(c Cursor, n int) []Cursor {
	after := make([]Cursor, n)
	for i := range after {
		after[i] = c
		after[i].At = c.At + int64(i) + 1
	}
	return after
}

// byTime reads ended jobs by when they ended, so that what comes and goes meanwhile moves nothing.
func byTime(l List, from, to time.Time) source {
	var at tie
	return func(ctx context.Context, c Cursor, n int) (page, error) {
		r := engine.EndedRange{From: from, To: to, Oldest: l.Oldest, Limit: int64(n), Offset: at.offset(c)}
		if c.At > 0 {
			if when := time.UnixMilli(c.At); l.Oldest {
				r.From = when
			} else {
				r.To = when
			}
		}
		for {
			found, err := l.Queue.Ended(ctx, l.State, r)
			if err != nil {
				return page{}, err
			}
			if at.moved(r, found) {
				at, r.Offset = tie{}, 0
				continue
			}
			var p page
			var ids []string
			for i, e := range found {
				if c.passed(e, l.Oldest) {
					continue
				}
				after := c
				after.At, after.ID = e.At, e.ID
				ids, p.after = append(ids, e.ID), append(p.after, after)
				at.saw(e, r.Offset+int64(i)+1, c.At)
			}
			if p.last = len(found) < n; p.last || len(ids) > 0 {
				p.rows, err = l.Queue.RowsByID(ctx, ids)
				return p, err
			}
			r.Offset += int64(n) // all of these ended in the same millisecond and were seen
		}
	}
}

// tie remembers the last job seen and how many jobs with its time come up to it, so that a bulk of jobs that ended in
// one millisecond is not read again from its start for every page.
type tie struct {
	last  engine.Ended
	count int64
}

// offset leaves out what was seen but for the last job.
func (t *tie) offset(c Cursor) int64 {
	if c.At == 0 || c.At != t.last.At || c.ID != t.last.ID {
		*t = tie{}
	}
	return max(t.count-1, 0)
}

// moved says that the last job is not where it was: others with its time have come or gone.
func (t *tie) moved(r engine.EndedRange, found []engine.Ended) bool {
	return t.count > 1 && r.Offset == t.count-1 && (len(found) == 0 || found[0] != t.last)
}

// saw counts a job; place is its number in a range that begins at the time start.
func (t *tie) saw(e engine.Ended, place, start int64) {
	switch {
	case e.At == t.last.At:
		t.count++
	case e.At == start:
		t.count = place
	default:
		t.count = 1
	}
	t.last = e
}

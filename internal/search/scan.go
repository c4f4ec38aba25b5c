package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
)

// pageRows is how many rows one read takes: a few milliseconds of Redis's time.
const pageRows = 250

// maxTroubles is how many lists may be unreadable before a scan gives up.
const maxTroubles = 3

// List is what a scan looks through: the jobs of one state of a queue.
type List struct {
	Queue *engine.Queue
	State keys.State
	// Oldest begins with the oldest, or next to run; otherwise with the newest.
	Oldest bool
	// IDs, if set, are the jobs to look at, instead of those the state has now.
	IDs []string
	// Part, if set, is the part of the list to look through. It is not for ended jobs.
	Part *Part
	// Until leaves out ended jobs that ended later; the zero time leaves out none.
	Until time.Time
}

// Part is a stretch of a list: Count jobs from the First-th on, in the order they are looked through.
type Part struct{ First, Count int64 }

func (l List) name() string { return l.Queue.Qualified() }

// Limits bound one scan; zero is no limit.
type Limits struct {
	// Rows is how many jobs are looked at, Found how many are found.
	Rows, Found int64
	// Payload is the largest payload that is read, Bytes how much is read of all; at least one always fits.
	Payload, Bytes int64
	Time           time.Duration
	// Rest leaves Redis as long to others after each read as the read took.
	Rest bool
}

// Trouble is a list that could not be read.
type Trouble struct {
	Queue keys.Queue
	State keys.State
	Err   error
}

// Outcome is how far a scan came.
type Outcome struct {
	Looked, Found int64
	// Bytes is how much was read of payloads, Unread how many were too large to be read: their jobs do not count as found.
	Bytes, Unread int64
	Took          time.Duration
	// Next is where to go on, nil when everything was looked through.
	Next     *Cursor
	Troubles []Trouble
}

// order is the order in which lists are looked through: what failed first, what is long done last.
var order = [...]keys.State{keys.Failed, keys.Active, keys.Waiting, keys.Prioritized, keys.Delayed, keys.WaitingChildren, keys.Completed}

func rank(st keys.State) int { return slices.Index(order[:], st) }

// scan is one run.
type scan struct {
	query  *Query
	limits Limits
	found  func(*Job)
	start  time.Time
	out    Outcome
}

// Scan looks through lists, from a place an earlier scan returned or, with nil, from the beginning, and calls found for
// every job that meets the query. It ends at the first limit; an error comes with what was seen before it. The lists
// are sorted: by state, failed first and completed last, then by the name of the queue.
func (q *Query) Scan(ctx context.Context, lists []List, from *Cursor, limits Limits, found func(*Job)) (Outcome, error) {
	s := &scan{query: q, limits: limits, found: found, start: time.Now()}
	slices.SortFunc(lists, func(a, b List) int {
		return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)), cmp.Compare(a.name(), b.name()))
	})
	err := s.run(ctx, lists, from)
	s.out.Took = time.Since(s.start)
	return s.out, err
}

func (s *scan) run(ctx context.Context, lists []List, from *Cursor) error {
	for _, l := range lists {
		c := Cursor{Queue: l.name(), State: l.State}
		switch from.against(l) {
		case 1:
			continue // looked through already
		case 0:
			c = *from
		}
		if !s.query.possible(l.State) || !s.query.In(l.Queue.Queue) {
			continue
		}
		next, err := s.list(ctx, l, c)
		if s.out.Next = next; next != nil && err == nil {
			return nil
		}
		if err == nil {
			continue
		}
		s.out.Troubles = append(s.out.Troubles, Trouble{l.Queue.Queue, l.State, err})
		if ctx.Err() != nil || len(s.out.Troubles) == maxTroubles || len(lists) == 1 {
			return fmt.Errorf("search: %w", err)
		}
		s.out.Next = nil
	}
	return nil
}

// list looks through one list from c on. It returns where to go on, nil at the end.
func (s *scan) list(ctx context.Context, l List, c Cursor) (*Cursor, error) {
	read := sourceOf(l, s.query)
	for {
		n := s.room()
		if n == 0 {
			return &c, nil
		}
		begin := time.Now()
		p, err := read(ctx, c, n)
		if err != nil {
			return &c, err
		}
		used, err := s.sift(ctx, l, p.rows)
		if used > 0 {
			c = p.after[used-1]
		}
		s.out.Looked += int64(used)
		if err != nil || used < len(p.rows) {
			return &c, err
		}
		if p.last {
			return nil, nil
		}
		if s.limits.Rest {
			rest(ctx, time.Since(begin))
		}
	}
}

// room is how many more rows may be read now, 0 when a limit is reached.
func (s *scan) room() int {
	l, o := s.limits, s.out
	switch {
	case l.Found > 0 && o.Found >= l.Found, l.Bytes > 0 && o.Bytes >= l.Bytes, l.Time > 0 && time.Since(s.start) >= l.Time:
		return 0
	case l.Rows > 0:
		return int(max(min(l.Rows-o.Looked, pageRows), 0))
	}
	return pageRows
}

// sift tells the jobs that meet the query and returns how many rows it could decide on.
func (s *scan) sift(ctx context.Context, l List, rows []engine.Row) (used int, err error) {
	var jobs []*Job
	var places []int
	for i, r := range rows {
		if j := (&Job{Queue: l.Queue.Queue, State: l.State, Row: r}); s.query.Row(j) {
			jobs, places = append(jobs, j), append(places, i)
		}
	}
	verdicts, err := s.payloads(ctx, l, jobs)
	if err != nil {
		return 0, err
	}
	for i, j := range jobs {
		switch {
		case verdicts != nil && verdicts[i] == undecided:
			return places[i], nil
		case verdicts != nil && verdicts[i] == rejected:
			continue
		}
		s.found(j)
		if s.out.Found++; s.limits.Found > 0 && s.out.Found == s.limits.Found {
			return places[i] + 1, nil
		}
	}
	return len(rows), nil
}

// verdict is what the payloads of a job say.
type verdict int

const (
	accepted verdict = iota
	rejected
	undecided // the limit of bytes left it unread
)

// payloads reads what the query needs of the jobs; nil verdicts accept all.
func (s *scan) payloads(ctx context.Context, l List, jobs []*Job) ([]verdict, error) {
	fields := s.query.Payloads()
	if len(fields) == 0 || len(jobs) == 0 {
		return nil, nil
	}
	verdicts := make([]verdict, len(jobs))
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	for _, field := range fields {
		each, total := s.bytesLeft()
		texts, err := l.Queue.Texts(ctx, ids, field, each, total)
		if err != nil {
			return nil, err
		}
		for i, text := range texts {
			switch {
			case verdicts[i] != accepted:
			case text.Size > each:
				verdicts[i] = rejected
				s.out.Unread++
			case text.Left:
				verdicts[i] = undecided
			case !s.query.Payload(field, []byte(text.Value)):
				verdicts[i] = rejected
			}
			s.out.Bytes += int64(len(text.Value))
		}
	}
	return verdicts, nil
}

const unlimited = int64(1) << 62

func (s *scan) bytesLeft() (each, total int64) {
	return cmp.Or(s.limits.Payload, unlimited), max(cmp.Or(s.limits.Bytes, unlimited)-s.out.Bytes, 0)
}

func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(min(d, 100*time.Millisecond))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

package failures

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
)

// Options configure New.
type Options struct {
	// Queue opens a queue. Required.
	Queue func(keys.Queue) (*engine.Queue, error)
	// List lists the jobs that are counted; default Failed.
	List Lister
	// Step is how many more jobs of a queue one pass looks at; default 1,000. A queue's first pass sees its newest Step.
	Step int
	// Depth is how many jobs of a queue are remembered; default 10,000.
	Depth int
	// Pass is how many jobs one pass reads in all; default 20,000.
	Pass int
	// Memory is how many jobs are remembered in all; default 200,000.
	Memory int
	// Time is how long one pass may take; default 1 s.
	Time time.Duration
	// Every is the shortest time between passes; default 2 s. It stretches, so that passes take at most 5 % of the time.
	Every time.Duration
	// Clock defaults to time.Now.
	Clock func() time.Time
}

func (o Options) withDefaults() Options {
	o.Step, o.Depth = cmp.Or(o.Step, 1000), cmp.Or(o.Depth, 10_000)
	o.Pass, o.Memory = cmp.Or(o.Pass, 20_000), cmp.Or(o.Memory, 200_000)
	o.Time, o.Every = cmp.Or(o.Time, time.Second), cmp.Or(o.Every, 2*time.Second)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.List == nil {
		o.List = Failed
	}
	return o
}

// Lister lists the newest of the jobs that are counted, at most limit, with when each failed, and says how many there
// are.
type Lister func(ctx context.Context, q *engine.Queue, limit int64) (newest []engine.Ended, total int64, err error)

// Failed lists failed jobs.
func Failed(ctx context.Context, q *engine.Queue, limit int64) (newest []engine.Ended, total int64, err error) {
	if total, err = q.CountEnded(ctx, keys.Failed, time.Time{}, time.Time{}); err == nil {
		newest, err = q.Ended(ctx, keys.Failed, engine.EndedRange{Limit: limit})
	}
	return newest, total, err
}

// Letters lists dead letters.
func Letters(ctx context.Context, q *engine.Queue, limit int64) (newest []engine.Ended, total int64, err error) {
	return q.Letters(ctx, limit)
}

// Collector remembers failed jobs by kind. It works when it is asked, for everybody who asks.
type Collector struct {
	o     Options
	last  atomic.Pointer[Report]
	dirty atomic.Bool

	mu      sync.Mutex // held by the pass under way
	shelves map[keys.Queue]*shelf
	held    int // jobs on all shelves
}

// New returns a collector that has seen nothing yet.
func New(o Options) (*Collector, error) {
	if o.Queue == nil {
		return nil, errors.New("failures: Queue is required")
	}
	return &Collector{o: o.withDefaults(), shelves: map[keys.Queue]*shelf{}}, nil
}

// Refresh makes the next Look read again, however young the last report is.
func (c *Collector) Refresh() { c.dirty.Store(true) }

// Look returns the last report, after a pass over the queues given if the last one is old. While somebody else's pass is
// under way, the report before it is returned; only the very first is waited for.
func (c *Collector) Look(ctx context.Context, queues []keys.Queue) *Report {
	if r := c.last.Load(); r != nil && (!c.due(r) || !c.mu.TryLock()) {
		return r
	} else if r == nil {
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	if r := c.last.Load(); r != nil && !c.due(r) {
		return r // made while this one waited
	}
	c.dirty.Store(false)
	r := c.pass(ctx, queues)
	c.last.Store(r)
	return r
}

func (c *Collector) due(r *Report) bool {
	return c.dirty.Load() || c.o.Clock().Sub(r.At) >= max(c.o.Every, 20*r.Took)
}

// budget is what is left for a pass.
type budget struct {
	jobs int
	end  time.Time
}

func (b *budget) spent() bool { return b.jobs <= 0 || !time.Now().Before(b.end) }

// pass brings every shelf up to date: first all as deep as they were, then one step deeper, as far as the budget goes.
func (c *Collector) pass(ctx context.Context, queues []keys.Queue) *Report {
	start := time.Now()
	b := &budget{jobs: c.o.Pass, end: start.Add(c.o.Time)}
	c.forget(queues)
	for _, deeper := range []bool{false, true} {
		for _, id := range queues {
			s := c.shelf(id)
			if deeper && !c.deepen(s) || !deeper && ctx.Err() != nil {
				continue
			}
			if b.spent() && s.jobs != nil {
				s.behind = true
				continue
			}
			before := len(s.jobs)
			s.err = s.sync(ctx, c.o.Queue, b)
			c.held += len(s.jobs) - before
		}
	}
	r := &Report{Took: time.Since(start)}
	for _, id := range queues {
		if s := c.shelves[id]; s.total > 0 || s.err != nil {
			r.Queues = append(r.Queues, s.report(c.o.Clock()))
		}
	}
	r.At = c.o.Clock()
	return r
}

// shelf returns the shelf of a queue, an empty one for a queue not seen before.
func (c *Collector) shelf(id keys.Queue) *shelf {
	s := c.shelves[id]
	if s == nil {
		s = &shelf{queue: id, list: c.o.List, depth: max(1, min(c.o.Step, c.o.Depth, c.o.Memory-c.held))}
		c.shelves[id] = s
	}
	return s
}

// deepen lets a shelf hold more, if there are more and there is room.
func (c *Collector) deepen(s *shelf) bool {
	if s.err != nil || s.behind || int64(s.depth) >= s.total || s.depth >= c.o.Depth || c.held+c.o.Step > c.o.Memory || len(s.jobs) < s.depth {
		return false
	}
	s.depth = min(s.depth+c.o.Step, c.o.Depth)
	return true
}

// forget drops the shelves of queues that are gone.
func (c *Collector) forget(queues []keys.Queue) {
	for id, s := range c.shelves {
		if !slices.Contains(queues, id) {
			c.held -= len(s.jobs)
			delete(c.shelves, id)
		}
	}
}

package monitor

import (
	"context"
	"encoding/json"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// maxOptsSize bounds what is read of a job's options to learn its delay.
const maxOptsSize = 4 << 10

// front is what the jobs at the front of a queue tell.
type front struct {
	// ready is since when the oldest ready job could run, zero when none waits; atLeast says it may be longer.
	ready   time.Time
	atLeast bool
	// started is when the longest running job started; zero when none runs.
	started time.Time
}

// ticket asks when one job became ready. Its hash tells for a job that never ran and never was a parent: its timestamp
// plus the delay it was added with. For others only the event stream knew.
type ticket struct {
	id     string
	base   *redis.SliceCmd // timestamp, ats
	parent *redis.IntCmd   // keys that only a parent's children leave
	size   *redis.IntCmd
	opts   *redis.StringCmd // nil when there is no need to ask
}

// lookup asks for the jobs at the front of a queue. It takes two round trips: the second is for the options.
type lookup struct {
	t                 *track
	wait, prioritized []*ticket
	active            *redis.SliceCmd
}

func askFront(ctx context.Context, p redis.Pipeliner, t *track, h heads) *lookup {
	l := &lookup{t: t}
	for _, id := range append(h.wait, h.paused...) {
		l.wait = append(l.wait, askTicket(ctx, p, t.q, id))
	}
	if h.prioritized != "" {
		l.prioritized = append(l.prioritized, askTicket(ctx, p, t.q, h.prioritized))
	}
	if h.active != "" {
		l.active = p.HMGet(ctx, t.q.Job(h.active), "processedOn")
	}
	return l
}

func askTicket(ctx context.Context, p redis.Pipeliner, q keys.Queue, id string) *ticket {
	return &ticket{
		id:     id,
		base:   p.HMGet(ctx, q.Job(id), "timestamp", "ats"),
		parent: p.Exists(ctx, q.Processed(id), q.IgnoredFailures(id), q.Unsuccessful(id)),
		size:   p.HStrLen(ctx, q.Job(id), "opts"),
	}
}

// askOptions asks for the options of the jobs whose hash can tell when they became ready.
func (l *lookup) askOptions(ctx context.Context, p redis.Pipeliner) {
	for _, list := range [][]*ticket{l.wait, l.prioritized} {
		for _, k := range list {
			if _, ran := at(k.base.Val(), 1).(string); !ran && k.parent.Val() == 0 && k.size.Val() <= maxOptsSize {
				k.opts = p.HGet(ctx, l.t.q.Job(k.id), "opts")
			}
		}
	}
}

// ready is when the job became ready; ok is false when its hash does not tell. lifo says it may have overtaken others.
func (k *ticket) ready() (at time.Time, lifo, ok bool) {
	at = timeField(k.base, 0)
	if k.opts == nil || at.IsZero() {
		return time.Time{}, false, false
	}
	var o struct {
		Delay float64 `json:"delay"`
		LIFO  bool    `json:"lifo"`
	}
	if s := k.opts.Val(); s != "" && json.Unmarshal([]byte(s), &o) != nil {
		return time.Time{}, false, false
	}
	return at.Add(time.Duration(max(o.Delay, 0)) * time.Millisecond), o.LIFO, true
}

// settle reads the answers at now.
func (l *lookup) settle(now time.Time) front {
	f := front{atLeast: l.t.counts.prioritized > 1}
	if len(l.wait) == 0 {
		l.t.tail = sighting{}
	}
	if len(l.prioritized) == 0 {
		l.t.next = sighting{}
	}
	for i, k := range l.wait {
		ready, lifo, ok := k.ready()
		if i == 0 {
			// What was retried, recovered or added at the tail may have overtaken older jobs.
			f.atLeast = f.atLeast || lifo || !ok
			f.older(l.t.tail.since(k.id, now))
		}
		if ok {
			f.older(ready)
		}
	}
	for _, k := range l.prioritized {
		ready, _, ok := k.ready()
		f.atLeast = f.atLeast || !ok
		if ok {
			f.older(ready)
		} else {
			f.older(l.t.next.since(k.id, now))
		}
	}
	if l.active != nil {
		f.started = timeField(l.active, 0)
	}
	return f
}

func (f *front) older(ready time.Time) {
	if f.ready.IsZero() || ready.Before(f.ready) {
		f.ready = ready
	}
}

// sighting remembers since when the same id has been seen at a place.
type sighting struct {
	id    string
	first time.Time
}

func (s *sighting) since(id string, now time.Time) time.Time {
	if s.id != id {
		s.id, s.first = id, now
	}
	return s.first
}

// timeField reads a millisecond time out of an HMGET; zero when it is absent.
func timeField(c *redis.SliceCmd, i int) time.Time {
	s, _ := at(c.Val(), i).(string)
	return millis(float64(integer(s)))
}

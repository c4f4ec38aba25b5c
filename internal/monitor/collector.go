package monitor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// rhythm is how often the collector does what. Passes are counted, the rest is time.
type rhythm struct {
	ages       int // passes between two reads of ages and limiter
	quiet      int // passes between two reads of a quiet queue
	quietAbove int // queues from which on quiet ones are read less often
	clients    time.Duration
	// quietAfter is how long nothing may have moved in a quiet queue, noted how long a queue may have no keys after
	// somebody said it exists.
	quietAfter, noted time.Duration
}

func usualRhythm() rhythm {
	return rhythm{
		ages: 5, quiet: 5, quietAbove: maxBatch,
		clients: 10 * time.Second, quietAfter: time.Minute, noted: 10 * time.Second,
	}
}

// collector owns everything that is read from Redis. One goroutine uses it.
type collector struct {
	o        Options
	log      *slog.Logger
	policies policies
	rhythm   rhythm
	source   totalsSource // nil when nothing follows the event streams
	finds    *finds
	wire     wire

	pass    int
	tracks  map[keys.Queue]*track
	order   []*track // by name, then prefix
	dropped map[keys.Queue]find
	server  server
	clients clients
	counts  Part
}

func newCollector(o Options, p policies, f *finds, source totalsSource) *collector {
	_, cluster := o.Client.(*redis.ClusterClient)
	c := &collector{
		o: o, log: o.Logger.With("component", "monitor"), policies: p, rhythm: usualRhythm(), source: source, finds: f,
		wire:   wire{client: o.Client, timed: !cluster, clock: o.Clock},
		tracks: map[keys.Queue]*track{}, dropped: map[keys.Queue]find{},
		server: newServer(o), clients: newClients(o), counts: Part{Name: "counts"},
	}
	for _, q := range p.queues() {
		c.watch(q, true)
	}
	return c
}

// watch returns the track of q, a new one if there is none.
func (c *collector) watch(q keys.Queue, declared bool) *track {
	if t := c.tracks[q]; t != nil {
		return t
	}
	t := &track{q: q, declared: declared, policy: c.policies.of(q), deadLetter: c.policies.deadLetters[q]}
	t.fleet.known, t.fleet.listed = c.clients.known, c.clients.workers[q]
	t.queue = &Queue{Queue: q, Declared: declared, DeadLetter: t.deadLetter, Health: UnknownHealth, Reason: "Not read yet"}
	c.tracks[q] = t
	c.finds.watch(q, true)
	i, _ := slices.BinarySearchFunc(c.order, q, func(t *track, q keys.Queue) int { return compareQueues(t.q, q) })
	c.order = slices.Insert(c.order, i, t)
	return t
}

// collect reads everything that is due and returns the snapshot. all reads also what would not be due yet.
func (c *collector) collect(ctx context.Context, all bool) (*Snapshot, error) {
	began := time.Now()
	now := c.o.Clock()
	c.pass++
	c.wire.busy = 0
	c.adopt(now)
	err := c.read(ctx, now, all)
	c.counts.Err, c.counts.Took = err, time.Since(began)
	if err != nil {
		return nil, fmt.Errorf("read queues: %w", err)
	}
	c.counts.LastSuccess = c.o.Clock()
	c.forget(now)
	return c.snapshot(time.Since(began)), nil
}

func (c *collector) read(ctx context.Context, now time.Time, all bool) error {
	latency, err := c.ping(ctx)
	if err != nil {
		return err
	}
	// One that failed is asked again at once: old figures are not to pass for new ones until its turn comes.
	if (c.pass-1)%c.rhythm.ages == 0 || fatal(c.server.part.Err) {
		if err := c.server.readInfo(ctx, now); err != nil {
			return err
		}
	}
	c.server.observe(now, latency)
	if now.Sub(c.clients.at) >= c.rhythm.clients {
		if err := c.readClients(ctx, now); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(c.due(now, all), maxBatch) {
		if err := c.readChunk(ctx, now, chunk); err != nil {
			return err
		}
	}
	c.server.redis.ClockOffset = c.wire.offset
	return nil
}

func (c *collector) ping(ctx context.Context) (time.Duration, error) {
	sent := time.Now()
	if err := c.o.Client.Ping(ctx).Err(); fatal(err) {
		return 0, fmt.Errorf("ping: %w", err)
	}
	return time.Since(sent), nil
}

// due lists what this pass reads. The queues whose ages are read, and the quiet ones, take turns, so that all passes
// cost about the same.
func (c *collector) due(now time.Time, all bool) []*reading {
	list := make([]*reading, 0, len(c.order))
	many := len(c.order) > c.rhythm.quietAbove
	for i, t := range c.order {
		t.policy = c.policies.of(t.q)
		first := t.passes == 0
		turn := c.pass + i
		if !first && !all && many && t.quiet(now, c.rhythm.quietAfter) && turn%c.rhythm.quiet != 0 {
			continue
		}
		ages := first || all && !many || turn%c.rhythm.ages == 0
		list = append(list, &reading{t: t, ages: ages, limiter: ages || t.limited()})
	}
	return list
}

// quiet says that nothing waits or runs in the queue and nothing has happened for a while.
func (t *track) quiet(now time.Time, after time.Duration) bool {
	return t.counts.ready() == 0 && t.counts.active == 0 && lasts(t.since.lastChange, after, now)
}

// adopt begins to watch the queues found since the last pass, as far as there is room.
func (c *collector) adopt(now time.Time) {
	found, ended := c.finds.take()
	maps.DeleteFunc(c.dropped, func(_ keys.Queue, f find) bool { return f.search < ended })
	for _, f := range found {
		t := c.tracks[f.queue]
		if t == nil && len(c.tracks) >= c.o.MaxQueues {
			c.dropped[f.queue] = f
			continue
		}
		delete(c.dropped, f.queue)
		t = c.watch(f.queue, false)
		t.noted = now
		if f.checked {
			t.legacy = f.legacy
		}
	}
}

// forget drops found queues that are gone.
func (c *collector) forget(now time.Time) {
	c.order = slices.DeleteFunc(c.order, func(t *track) bool {
		if t.declared || t.passes == 0 || !t.gone(now, c.rhythm.noted) {
			return false
		}
		delete(c.tracks, t.q)
		c.finds.watch(t.q, false)
		return true
	})
}

func (c *collector) snapshot(took time.Duration) *Snapshot {
	s := &Snapshot{
		At: c.o.Clock(), Took: took, Queues: make([]*Queue, len(c.order)), Redis: c.server.redis, Nodes: c.server.nodes,
		Dropped: len(c.dropped), WorkersErr: c.clients.refused,
	}
	for i, t := range c.order {
		s.Queues[i] = t.queue
		s.Workers = append(s.Workers, t.fleet.merge(t.q)...)
	}
	_, s.DiscoveryErr = c.finds.state()
	s.Parts = c.parts()
	return s
}

// parts says how each part of the collection went.
func (c *collector) parts() []Part {
	discovery, _ := c.finds.state()
	parts := []Part{c.counts, c.server.part, c.clients.part, discovery}
	if c.source != nil {
		parts = append(parts, c.source.Part())
	}
	return parts
}

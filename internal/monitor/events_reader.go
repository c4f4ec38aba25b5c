package monitor

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// Bounds of one XREAD.
const (
	maxEntries = 500     // per stream
	minEntries = 10      // per stream
	maxReply   = 8 << 20 // bytes in all, as far as the size of the last entries foretells
)

// busyFor is how long a reader that met a full stream looks more often.
const busyFor = time.Second

// stopTimeout bounds the last writes of a reader that stops.
const stopTimeout = 3 * time.Second

// reader follows the streams of some prefixes with one connection. One goroutine does everything; mu guards what
// others look at.
type reader struct {
	o       followerOptions
	replica string
	conn    redis.UniversalClient
	scripts followerScripts
	table   *jobTable

	nextHouse, nextRenew time.Time
	busyUntil            time.Time
	replicas             map[string][]string // live ones by prefix
	entries              int64               // COUNT of the next read

	mu      sync.Mutex
	streams map[keys.Queue]*stream
	part    Part
}

// stream is one queue's event stream.
type stream struct {
	reader *reader
	queue  keys.Queue
	// counter is nil while another replica reads the stream; read, pending and committed belong to it.
	counter   *eventCounter
	read      readerState
	unsettled int64 // entries read since the last probe
	pending   *commit
	committed time.Time
	// totals are those in Redis, as of the last commit or look; known says there are any.
	totals EventTotals
	known  bool
	stat   FollowerStat
}

func newReader(o followerOptions, replica string, prefixes []string, conn redis.UniversalClient) *reader {
	o.prefixes = prefixes
	return &reader{
		o: o, replica: replica, conn: conn, scripts: newFollowerScripts(),
		table: &jobTable{max: maxJobs}, entries: maxEntries,
		streams: map[keys.Queue]*stream{}, replicas: map[string][]string{},
		part: Part{Name: "events"},
	}
}

// run follows until ctx ends, then hands the streams over.
func (r *reader) run(ctx context.Context) {
	var houseErr error
	for ctx.Err() == nil {
		began := r.o.clock()
		if !began.Before(r.nextHouse) {
			r.nextHouse = began.Add(r.o.pace.house)
			houseErr = r.keepHouse(ctx, began)
		}
		full, err := r.readOnce(ctx) // also when writes are refused: they are repeated, reads are not
		if ctx.Err() != nil {
			break
		}
		r.report(began, errors.Join(houseErr, err))
		switch {
		case err != nil:
			sleep(ctx, r.o.pace.house)
		case full:
			r.busyUntil = began.Add(busyFor)
		default:
			sleep(ctx, r.rest(began))
		}
	}
	r.leave(context.WithoutCancel(ctx))
}

// leave writes the last counts and lets other replicas take over at once.
func (r *reader) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := r.handOver(ctx, r.ours()); err != nil {
		r.o.logger.Warn("the next reader counts the last events again", "component", "events", "err", err)
	}
	if r.o.readOnly {
		return
	}
	for _, prefix := range r.o.prefixes {
		if err := r.o.client.ZRem(ctx, replicasKey(prefix), r.replica).Err(); err != nil {
			r.o.logger.Warn("cannot sign off as a follower", "component", "events", "err", err)
		}
	}
}

// rest is how long to wait after a round that began at a time: many streams make a read dear, so it is done less often;
// a stream that was full a moment ago fills fast, so it is read more often.
func (r *reader) rest(began time.Time) time.Duration {
	pace := r.o.pace.read * time.Duration(1+len(r.streams)/500)
	now := r.o.clock()
	if now.Before(r.busyUntil) {
		pace /= 8
	}
	return max(0, pace-now.Sub(began))
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// report records how a round went and logs when that changes.
func (r *reader) report(began time.Time, err error) {
	now := r.o.clock()
	r.mu.Lock()
	was := r.part.Err
	r.part.Err, r.part.Took = err, now.Sub(began)
	if err == nil {
		r.part.LastSuccess = now
	}
	r.mu.Unlock()
	switch {
	case err != nil && was == nil:
		r.o.logger.Warn("cannot follow events", "component", "events", "err", err)
	case err == nil && was != nil:
		r.o.logger.Info("following events again", "component", "events")
	}
}

// keepHouse takes and gives up streams, commits what was counted and looks at the totals of other replicas.
func (r *reader) keepHouse(ctx context.Context, now time.Time) error {
	r.updateQueues()
	// What fails must not keep the rest from being tried: a Redis that is out of memory still answers reads.
	return errors.Join(r.share(ctx, now), r.commitDue(ctx, now), r.lookAtOthers(ctx))
}

// updateQueues follows the list of queues. A queue that is gone loses its stream; its lease runs out by itself.
func (r *reader) updateQueues() {
	wanted := map[keys.Queue]bool{}
	for _, q := range r.o.queues() {
		if slices.Contains(r.o.prefixes, q.Prefix) {
			wanted[q] = true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for q, s := range r.streams {
		if !wanted[q] {
			s.drop()
			delete(r.streams, q)
		}
	}
	for q := range wanted {
		if r.streams[q] == nil {
			r.streams[q] = &stream{reader: r, queue: q}
		}
	}
}

// drop forgets everything that belongs to the reader of the stream.
func (s *stream) drop() {
	if s.counter != nil {
		s.counter.forgetAll()
	}
	s.counter, s.pending, s.unsettled, s.stat.Lag = nil, nil, 0, 0
}

// follow makes this process the reader of the stream from the given state on.
func (s *stream) follow(state readerState) {
	r := s.reader
	s.read, s.unsettled = state, 0
	s.counter = &eventCounter{
		queue: s.queue, table: r.table, jobs: map[string]*list.Element{}, observer: r.o.observer,
		minutes: newMinuteLog(r.o.clock()),
	}
	if n, ok := r.o.observer.(JobNameObserver); ok && n.WantsJobNames(s.queue) {
		s.counter.names = n
	}
}

// ours returns the streams this process reads, in a fixed order.
func (r *reader) ours() []*stream {
	return r.pick(func(s *stream) bool { return s.counter != nil })
}

func (r *reader) pick(want func(*stream) bool) []*stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*stream
	for _, s := range r.streams {
		if want(s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *stream) int { return compareQueues(a.queue, b.queue) })
	return out
}

// readOnce waits for events of all our streams until the next housekeeping, and counts what came.
func (r *reader) readOnce(ctx context.Context) (full bool, err error) {
	ours := r.ours()
	block := max(r.nextHouse.Sub(r.o.clock()), time.Millisecond)
	if len(ours) == 0 {
		sleep(ctx, block)
		return false, nil
	}
	args := make([]string, 0, 2*len(ours))
	byKey := make(map[string]*stream, len(ours))
	for _, s := range ours {
		args = append(args, s.queue.Events())
		byKey[s.queue.Events()] = s
	}
	for _, s := range ours {
		args = append(args, s.read.id)
	}
	count := r.entries
	reply, err := r.conn.XRead(ctx, &redis.XReadArgs{Streams: args, Count: count, Block: block}).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, fmt.Errorf("reading events: %w", err)
	}
	batches := make([]batch, 0, len(reply))
	for _, s := range reply {
		b := newBatch(byKey[s.Stream], s.Messages, count)
		full = full || b.full
		batches = append(batches, b)
	}
	r.entries = nextCount(batches, r.entries)
	return full, r.take(ctx, batches)
}

// batch is what one read returned of one stream.
type batch struct {
	*stream
	entries []entry
	full    bool
	size    int
}

// newBatch parses what was read. If the reply was cut before an entry that tells what the last one means, the last
// one is left to the next read.
func newBatch(s *stream, messages []redis.XMessage, count int64) batch {
	b := batch{stream: s, full: int64(len(messages)) >= count}
	for _, m := range messages {
		e := parseEntry(m)
		b.size += e.size
		b.entries = append(b.entries, e)
	}
	if n := len(b.entries); b.full && n > 1 && b.entries[n-1].needsNext() {
		b.entries = b.entries[:n-1]
	}
	return b
}

// nextCount bounds the size of the next reply: completed events carry return values of any size.
func nextCount(batches []batch, last int64) int64 {
	entries, size := 0, 0
	for _, b := range batches {
		entries += len(b.entries)
		size += b.size
	}
	if entries == 0 {
		return last
	}
	fit := int64(maxReply / max(1, size/entries) / len(batches))
	return min(max(fit, minEntries), maxEntries)
}

// take counts batches, after one look at the jobs whose events leave something open.
func (r *reader) take(ctx context.Context, batches []batch) error {
	facts, err := r.lookUp(ctx, batches)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, b := range batches {
		p := r.o.policy(b.queue).WithDefaults()
		b.counter.waitTarget, b.counter.runTarget = p.WaitTarget.Milliseconds(), p.ProcessingTarget.Milliseconds()
		b.counter.count(b.entries, facts[i])
		last := b.entries[len(b.entries)-1]
		b.read.id = last.id
		b.unsettled += int64(len(b.entries))
		b.stat.Read += uint64(len(b.entries))
		b.stat.Lag = 0
		if b.full {
			b.stat.Lag = max(0, r.o.clock().Sub(time.UnixMilli(last.at)))
		}
	}
	return nil
}

// lookUp reads the hashes of the undecided jobs of all batches in one round trip.
func (r *reader) lookUp(ctx context.Context, batches []batch) ([]map[string]jobFacts, error) {
	facts := make([]map[string]jobFacts, len(batches))
	type look struct {
		batch int
		job   string
		hash  *redis.SliceCmd
		lock  *redis.IntCmd
	}
	var looks []look
	pipe := r.o.client.Pipeline()
	for i, b := range batches {
		facts[i] = b.counter.undecided(b.entries)
		for job := range facts[i] {
			hash := pipe.HMGet(ctx, b.queue.Job(job), "name", "ats", "atm", "stc")
			looks = append(looks, look{i, job, hash, pipe.Exists(ctx, b.queue.Lock(job))})
		}
	}
	if len(looks) == 0 {
		return facts, nil
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for _, l := range looks {
		values, err := l.hash.Result()
		if err != nil {
			if redis.HasErrorPrefix(err, "WRONGTYPE") {
				continue // an id that is no job's
			}
			return nil, fmt.Errorf("reading jobs: %w", err)
		}
		facts[l.batch][l.job] = jobFacts{
			found: values[0] != nil, started: number(values[1]), made: number(values[2]), stalls: number(values[3]),
			running: l.lock.Val() > 0,
		}
	}
	return facts, nil
}

package monitor

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// maxBatch is the most queues one pipeline or script takes, so that Redis is never held for long.
const maxBatch = 200

// share takes the streams that are this replica's share, prolongs the leases of those it has and gives back the rest.
// Each queue has one place in a fixed order of the live replicas, so all agree without talking.
func (r *reader) share(ctx context.Context, now time.Time) error {
	if r.o.readOnly {
		return r.open(ctx, r.pick(func(s *stream) bool { return s.counter == nil }))
	}
	renew := !now.Before(r.nextRenew)
	if renew {
		r.nextRenew = now.Add(r.o.pace.renew)
	}
	var errs []error
	for _, prefix := range r.o.prefixes {
		errs = append(errs, r.sharePrefix(ctx, prefix, renew))
	}
	return errors.Join(errs...)
}

func (r *reader) sharePrefix(ctx context.Context, prefix string, renew bool) error {
	replicas, err := r.heartbeat(ctx, prefix)
	if err == nil {
		r.replicas[prefix] = replicas
	}
	// Without an answer the share of last time holds; a Redis out of memory still prolongs leases.
	mine := func(s *stream) bool {
		return s.queue.Prefix == prefix && winner(s.queue, r.replicas[prefix]) == r.replica
	}
	surplus := r.pick(func(s *stream) bool { return s.queue.Prefix == prefix && s.counter != nil && !mine(s) })
	claims := r.pick(func(s *stream) bool { return mine(s) && (s.counter == nil || renew) })
	return errors.Join(err, r.handOver(ctx, surplus), r.claim(ctx, claims))
}

// heartbeat says this replica is alive and returns all that are.
func (r *reader) heartbeat(ctx context.Context, prefix string) ([]string, error) {
	replicas, err := r.scripts.heartbeat.Run(ctx, r.o.client, []string{replicasKey(prefix)},
		r.replica, r.o.pace.lease.Milliseconds()).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("announcing the follower: %w", err)
	}
	return replicas, nil
}

// winner returns the replica with the highest hash of itself and the queue: a replica that comes or goes moves only
// its own share.
func winner(q keys.Queue, replicas []string) string {
	var best string
	var top uint64
	for _, name := range replicas {
		sum := sha256.Sum256([]byte(name + "\x00" + q.Qualified()))
		if h := binary.BigEndian.Uint64(sum[:8]); best == "" || h > top {
			best, top = name, h
		}
	}
	return best
}

// Answers of lease.lua.
const (
	leaseOther = 0
	leaseKept  = 1
	leaseTaken = 2
)

// claim takes or prolongs leases and opens the streams that are new to us.
func (r *reader) claim(ctx context.Context, streams []*stream) error {
	var fresh []*stream
	for chunk := range slices.Chunk(streams, maxBatch) {
		got, err := r.scripts.lease.Run(ctx, r.o.client, leaseKeys(chunk), r.replica, r.o.pace.lease.Milliseconds()).Int64Slice()
		if err != nil {
			return fmt.Errorf("claiming event streams: %w", err)
		}
		r.mu.Lock()
		for i, s := range chunk {
			if got[i] != leaseKept {
				s.drop() // lost meanwhile, or run out: somebody may have written since
			}
			if got[i] == leaseTaken || got[i] == leaseKept && s.counter == nil {
				fresh = append(fresh, s)
			}
		}
		r.mu.Unlock()
	}
	return r.open(ctx, fresh)
}

func leaseKeys(streams []*stream) []string {
	out := make([]string, len(streams))
	for i, s := range streams {
		out[i] = leaseKey(s.queue)
	}
	return out
}

// open begins to read streams where their last reader stopped, or at their end at first sight.
func (r *reader) open(ctx context.Context, streams []*stream) error {
	for chunk := range slices.Chunk(streams, maxBatch) {
		pipe := r.o.client.Pipeline()
		hashes := make([]*redis.MapStringStringCmd, len(chunk))
		probes := make([]probeCmds, len(chunk))
		for i, s := range chunk {
			if !r.o.readOnly {
				hashes[i] = pipe.HGetAll(ctx, totalsKey(s.queue))
			}
			probes[i] = queueProbe(ctx, pipe, s.queue)
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		for i, s := range chunk {
			if err := r.openOne(s, hashes[i], probes[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) openOne(s *stream, hash *redis.MapStringStringCmd, cmds probeCmds) error {
	p, err := cmds.result()
	if err != nil {
		return fmt.Errorf("opening the events of %s: %w", s.queue.Qualified(), err)
	}
	state, totals, stored := begin(p), EventTotals{}, false
	if hash != nil {
		fields, err := hash.Result()
		if err != nil {
			return fmt.Errorf("reading the totals of %s: %w", s.queue.Qualified(), err)
		}
		t, old, ok, err := decodeTotals(fields)
		if err != nil {
			return fmt.Errorf("reading the totals of %s: %w", s.queue.Qualified(), err)
		}
		if ok {
			state, totals, stored = old, t, true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.follow(state)
	s.committed = time.Time{} // a first commit creates the totals, and finds a gap since the last reader
	if stored || r.o.readOnly {
		s.totals, s.known = totals, true
	}
	return nil
}

// handOver writes what was counted and gives the leases back.
func (r *reader) handOver(ctx context.Context, streams []*stream) error {
	if len(streams) == 0 {
		return nil
	}
	err := r.commit(ctx, streams)
	if !r.o.readOnly {
		for chunk := range slices.Chunk(streams, maxBatch) {
			if e := r.scripts.release.Run(ctx, r.o.client, leaseKeys(chunk), r.replica).Err(); e != nil {
				err = errors.Join(err, fmt.Errorf("releasing event streams: %w", e))
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range streams {
		s.drop()
	}
	return err
}

// lookAtOthers reads the totals of the queues that other replicas follow.
func (r *reader) lookAtOthers(ctx context.Context) error {
	if r.o.readOnly {
		return nil
	}
	for chunk := range slices.Chunk(r.pick(func(s *stream) bool { return s.counter == nil }), maxBatch) {
		pipe := r.o.client.Pipeline()
		cmds := make([]*redis.MapStringStringCmd, len(chunk))
		for i, s := range chunk {
			cmds[i] = pipe.HGetAll(ctx, totalsKey(s.queue))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("reading totals: %w", err)
		}
		r.mu.Lock()
		for i, s := range chunk {
			if t, _, ok, err := decodeTotals(cmds[i].Val()); err == nil {
				s.totals, s.known = t, ok
			}
		}
		r.mu.Unlock()
	}
	return nil
}

// number reads a hash field that should be an integer; anything else is 0.
func number(v any) int64 {
	text, _ := v.(string)
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

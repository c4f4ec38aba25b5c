package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bullpen/internal/engine/scripts"

	"github.com/redis/go-redis/v9"
)

// A fetch whose reply was lost may have taken jobs under a token only we know. They would wait in active until the stall
// check found them, one stall used up. Instead the worker looks for its own locks among the active jobs and runs what
// it finds.

// adopt searches the active jobs for locks of the suspected tokens and takes the jobs it did not know.
func (t *trip) adopt(ctx context.Context) error {
	if len(t.suspects) == 0 {
		return nil
	}
	found, err := t.w.q.lockedBy(ctx, t.suspects)
	if err != nil {
		return fmt.Errorf("search for jobs taken by a lost reply: %w", err)
	}
	for _, lock := range found {
		if t.known[lock] {
			continue
		}
		fields, err := t.w.q.client.HGetAll(ctx, t.w.q.JobKey(lock.ID)).Result()
		if err != nil && !isRefusal(err) {
			return fmt.Errorf("search for jobs taken by a lost reply: %w", err)
		}
		t.add(lock.ID, fields, lock.Token)
	}
	t.searched = true
	t.reserve(len(t.jobs))
	return nil
}

// reserve takes slots from those that are to be filled by a fetch.
func (t *trip) reserve(n int) {
	if t.next == nil {
		return
	}
	if t.next.Count -= n; t.next.Count <= 0 {
		t.next = nil
	}
}

// lockedBy lists the active jobs whose lock is one of the tokens.
func (q *Queue) lockedBy(ctx context.Context, tokens map[string]bool) ([]scripts.Lock, error) {
	active, err := q.client.LRange(ctx, q.Active(), 0, -1).Result()
	if err != nil {
		return nil, err
	}
	var found []scripts.Lock
	for ids := range slices.Chunk(active, bulkSize) {
		held := make([]*redis.StringCmd, len(ids))
		_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, id := range ids {
				held[i] = p.Get(ctx, q.Lock(id))
			}
			return nil
		})
		for i, id := range ids {
			if token := held[i].Val(); tokens[token] {
				found = append(found, scripts.Lock{ID: id, Token: token})
			}
		}
		if err != nil && err != redis.Nil && !isRefusal(err) {
			return nil, err
		}
	}
	return found, nil
}

// suspected returns the tokens still worth a search and forgets those whose locks have expired.
func (l *loop) suspected(now time.Time) map[string]bool {
	tokens := map[string]bool{}
	for token, until := range l.suspects {
		if now.After(until) {
			delete(l.suspects, token)
			continue
		}
		tokens[token] = true
	}
	return tokens
}

// locks are the jobs the loop knows it holds, those that the trip is about to end included.
func (l *loop) locks(t *trip) map[scripts.Lock]bool {
	known := map[scripts.Lock]bool{}
	for a := range l.running {
		known[a.lock()] = true
	}
	for _, a := range slices.Concat(l.ended, t.ending) {
		known[a.lock()] = true
	}
	return known
}

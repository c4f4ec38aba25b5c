// Package presence lets Bullpen's workers announce themselves in Redis, so that every replica knows which workers a
// queue has and what they can run at once; BullMQ itself stores nothing about workers (features 5).
//
// The key is keys.Queue.Presence(), "bullpen:workers:<prefix>:<queue>": a hash with one field per worker, its value the
// JSON of Worker. A worker writes its field every Interval and is gone once it has been silent for TTL; the whole key
// expires with its last worker. Times are those of Redis's clock, so that the clocks of the hosts need not agree.
//
// Read answers for one queue. Whoever reads many queues sends TIME and an HGETALL per queue in a pipeline of its own
// and gives each answer to Decode.
package presence

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

const (
	// Interval is the time between two announcements of a worker.
	Interval = 5 * time.Second
	// TTL is how long a silent worker is still taken to be there.
	TTL = 15 * time.Second
)

// Worker is one announced worker.
type Worker struct {
	// ID tells this run of the worker from all others; it is the hash field.
	ID string `json:"-"`
	// Host and Process say where it runs; Process is the process id.
	Host    string `json:"host"`
	Process int    `json:"process"`
	// Name is what jobs show as "processed by".
	Name string `json:"name"`
	// Concurrency is how many jobs it runs at once.
	Concurrency int `json:"concurrency"`
	// Version is Bullpen's version.
	Version string `json:"version"`
	// Policy is the hash of the policy it runs under; replicas whose files differ show different hashes.
	Policy string `json:"policy"`
	// Revision is that of the live policy it acts by, 0 when the file alone counts.
	Revision int64 `json:"revision,omitempty"`
	// Seen is the last announcement in milliseconds of Redis's clock; Announce sets it.
	Seen int64 `json:"seen"`
}

// Entry is a worker of a queue.
type Entry struct {
	Queue  keys.Queue
	Worker Worker
}

// Announce writes the entries and removes workers of the same queues that have been silent for TTL. It takes at most
// three round trips, whatever the number of entries.
func Announce(ctx context.Context, c redis.UniversalClient, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	now, err := c.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("announce workers: %w", err)
	}
	present := make([]*redis.MapStringStringCmd, len(entries))
	_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, e := range entries {
			key := e.Queue.Presence()
			p.HSet(ctx, key, e.Worker.ID, encode(e.Worker, now))
			p.PExpire(ctx, key, TTL)
			present[i] = p.HGetAll(ctx, key)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("announce workers: %w", err)
	}
	return removeSilent(ctx, c, entries, present, now)
}

// removeSilent deletes the fields that Decode would not show. Those it cannot read are of a newer version and stay.
func removeSilent(ctx context.Context, c redis.UniversalClient, entries []Entry, present []*redis.MapStringStringCmd, now time.Time) error {
	silent := map[string][]string{}
	for i, e := range entries {
		for id, value := range present[i].Val() {
			if w, err := decode(id, value); err == nil && !w.there(now) {
				silent[e.Queue.Presence()] = append(silent[e.Queue.Presence()], id)
			}
		}
	}
	if len(silent) == 0 {
		return nil
	}
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for key, ids := range silent {
			p.HDel(ctx, key, ids...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove silent workers: %w", err)
	}
	return nil
}

// Withdraw removes the entries at once, so that a worker that stopped is not shown until TTL.
func Withdraw(ctx context.Context, c redis.UniversalClient, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, e := range entries {
			p.HDel(ctx, e.Queue.Presence(), e.Worker.ID)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("withdraw workers: %w", err)
	}
	return nil
}

// Read returns the workers of a queue that are there now, sorted by name.
func Read(ctx context.Context, c redis.UniversalClient, q keys.Queue) ([]Worker, error) {
	now, err := c.Time(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("read workers of %s: %w", q.Qualified(), err)
	}
	fields, err := c.HGetAll(ctx, q.Presence()).Result()
	if err != nil {
		return nil, fmt.Errorf("read workers of %s: %w", q.Qualified(), err)
	}
	return Decode(fields, now), nil
}

// Decode turns the answer of HGETALL into the workers that are there at now (Redis's clock), sorted by name. Fields it
// cannot read are left out.
func Decode(fields map[string]string, now time.Time) []Worker {
	var workers []Worker
	for id, value := range fields {
		if w, err := decode(id, value); err == nil && w.there(now) {
			workers = append(workers, w)
		}
	}
	slices.SortFunc(workers, func(a, b Worker) int {
		return strings.Compare(a.Name+a.ID, b.Name+b.ID)
	})
	return workers
}

func (w Worker) there(now time.Time) bool { return now.UnixMilli()-w.Seen < TTL.Milliseconds() }

func encode(w Worker, now time.Time) string {
	w.Seen = now.UnixMilli()
	b, _ := json.Marshal(w) // strings and integers cannot fail
	return string(b)
}

func decode(id, value string) (Worker, error) {
	w := Worker{ID: id}
	return w, json.Unmarshal([]byte(value), &w)
}

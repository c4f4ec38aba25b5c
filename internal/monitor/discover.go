package monitor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// searchRhythm is how often queues are looked for.
type searchRhythm struct {
	// every is the pause between two searches; one that took at most cheap calls is repeated after soon.
	every, soon time.Duration
	cheap       int
	// deep is how often queues without settings are looked for, which are mostly Bull's. A cheap search is always deep.
	deep time.Duration
	// retry is the pause after a failure.
	retry time.Duration
}

func usualSearchRhythm() searchRhythm {
	return searchRhythm{
		every: time.Minute, cheap: 40, soon: 3 * time.Second, deep: 10 * time.Minute, retry: 2 * time.Second,
	}
}

const (
	scanCount = 1000
	// restFactor makes the pause after a SCAN call this many times as long as the call took, and leastRest at least.
	restFactor = 10
	leastRest  = time.Millisecond
)

// search looks for queues by SCAN, in the background. There is no index of queues (features 6).
type search struct {
	client   redis.UniversalClient
	prefixes []string
	finds    *finds
	rhythm   searchRhythm
	clock    func() time.Time
}

// run searches until ctx ends.
func (s *search) run(ctx context.Context) {
	var lastDeep time.Time
	calls := 0
	for ctx.Err() == nil {
		deep := lastDeep.IsZero() || calls <= s.rhythm.cheap || s.clock().Sub(lastDeep) >= s.rhythm.deep
		var err error
		calls, err = s.runOnce(ctx, deep)
		pause := s.rhythm.every
		switch {
		case err != nil && fatal(err):
			pause = s.rhythm.retry
		case err == nil && calls <= s.rhythm.cheap:
			pause = s.rhythm.soon
		}
		if err == nil && deep {
			lastDeep = s.clock()
		}
		sleep(ctx, jitter(pause))
	}
}

// jitter keeps replicas apart: d and up to a tenth more.
func jitter(d time.Duration) time.Duration { return d + rand.N(d/10+1) }

// runOnce searches all keys once and returns how many SCAN calls it took, each about a third of a millisecond for Redis.
func (s *search) runOnce(ctx context.Context, deep bool) (calls int, err error) {
	s.finds.begin()
	began := time.Now()
	calls, err = s.searchAll(ctx, deep)
	refused := ""
	if err != nil && !fatal(err) {
		refused = refusedText("SCAN", "scan", err)
	}
	s.finds.end(s.clock(), time.Since(began), refused, err)
	return calls, err
}

func (s *search) searchAll(ctx context.Context, deep bool) (calls int, err error) {
	nodes, err := masters(ctx, s.client)
	if err != nil {
		return 0, err
	}
	suffixes := []string{"meta"}
	if deep {
		suffixes = append(suffixes, "id")
	}
	for _, n := range nodes {
		for _, prefix := range s.prefixes {
			for _, suffix := range suffixes {
				n, err := s.scan(ctx, n.client, prefix, suffix)
				calls += n
				if err != nil {
					return calls, err
				}
			}
		}
	}
	return calls, nil
}

// scan walks the keys of one server once for prefix:*:suffix.
func (s *search) scan(ctx context.Context, c redis.Cmdable, prefix, suffix string) (calls int, err error) {
	match := escapeGlob(prefix) + ":*:" + suffix
	for cursor := uint64(0); ; {
		sent := time.Now()
		found, next, err := c.Scan(ctx, cursor, match, scanCount).Result()
		took := time.Since(sent)
		calls++
		if err != nil {
			return calls, fmt.Errorf("scan: %w", err)
		}
		if err := s.check(ctx, queuesOf(found, prefix, suffix), suffix == "meta"); err != nil {
			return calls, err
		}
		if cursor = next; cursor == 0 {
			return calls, nil
		}
		sleep(ctx, max(took*restFactor, leastRest))
		if ctx.Err() != nil {
			return calls, ctx.Err()
		}
	}
}

// queuesOf cuts prefix and suffix off; what has a colon left belongs to another prefix or is a job's key.
func queuesOf(found []string, prefix, suffix string) []keys.Queue {
	var queues []keys.Queue
	for _, key := range found {
		name := strings.TrimSuffix(strings.TrimPrefix(key, prefix+":"), ":"+suffix)
		if name != "" && !strings.Contains(name, ":") {
			queues = append(queues, keys.Queue{Prefix: prefix, Name: name})
		}
	}
	return queues
}

// signs are what tells a queue of BullMQ from one of Bull 3 or 4, and both from a key that only looks like a queue's
// (features 6.3).
type signs struct {
	meta        *redis.SliceCmd
	bullmq, any *redis.IntCmd
}

func askSigns(ctx context.Context, p redis.Pipeliner, q keys.Queue) signs {
	return signs{
		meta:   p.HMGet(ctx, q.Meta(), "opts.maxLenEvents", "version", "library", "concurrency", "max"),
		bullmq: p.Exists(ctx, q.Events(), q.Marker(), q.Prioritized(), q.PriorityCounter()),
		any:    p.Exists(ctx, q.Wait(), q.Paused(), q.Active(), q.Delayed(), q.Completed(), q.Failed()),
	}
}

// queue says whether there is a queue, and whether it is one of Bull.
func (s signs) queue() (exists, legacy bool) {
	for _, v := range s.meta.Val() {
		if v != nil {
			return true, false
		}
	}
	return s.bullmq.Val()+s.any.Val() > 0, s.bullmq.Val() == 0
}

// check offers those of the queues that are queues. strict is for keys that are called meta: one that is not a hash is
// something else.
func (s *search) check(ctx context.Context, queues []keys.Queue, strict bool) error {
	for len(queues) > 0 {
		chunk := queues[:min(len(queues), maxBatch)]
		queues = queues[len(chunk):]
		found := make([]signs, len(chunk))
		cmds, _ := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, q := range chunk {
				found[i] = askSigns(ctx, p, q)
			}
			return nil
		})
		for _, cmd := range cmds {
			if err := cmd.Err(); fatal(err) {
				return fmt.Errorf("look at found queues: %w", err)
			}
		}
		for i, q := range chunk {
			exists, legacy := found[i].queue()
			if exists && !(strict && found[i].meta.Err() != nil) {
				s.finds.offer(find{queue: q, checked: true, legacy: legacy})
			}
		}
	}
	return nil
}

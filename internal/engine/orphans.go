package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

const (
	// scanStep is how many keys of the database one round trip looks at.
	scanStep = 1000
	// orphansPerScript is small: each id is looked for in every list and set of the queue.
	orphansPerScript = 100
)

// RemoveOrphanedJobs deletes jobs that are in no state: a hash, or what belonged to one, whose id is in none of the
// queue's lists and sets, as a crash of an old client or an eviction leaves behind. At most limit are deleted, 0 means
// all of them; their ids are returned, also with an error. It reads the names of all keys of the database
// (lifecycle 8.22).
func (q *Queue) RemoveOrphanedJobs(ctx context.Context, limit int) (ids []string, err error) {
	ctx, end := q.begin(ctx, "removeOrphanedJobs")
	defer end(&err)
	if limit < 0 {
		return nil, invalid("limit", "a limit must not be negative")
	}
	err = q.eachCandidate(ctx, func(candidates []string) (more bool, err error) {
		for part := range slices.Chunk(candidates, orphansPerScript) {
			most := len(part)
			if limit > 0 {
				most = min(most, limit-len(ids))
			}
			gone, err := q.runner.RemoveOrphans(ctx, q.target, part, most)
			ids = append(ids, gone...)
			if err != nil || limit > 0 && len(ids) >= limit {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return ids, fmt.Errorf("remove orphaned jobs of %s: %w", q.Name, err)
	}
	return ids, nil
}

// eachCandidate calls visit with ids whose keys, by their names, may be those of jobs, until it wants no more.
func (q *Queue) eachCandidate(ctx context.Context, visit func(ids []string) (more bool, err error)) error {
	node := redis.Cmdable(q.client)
	if c, ok := q.client.(*redis.ClusterClient); ok {
		master, err := c.MasterForKey(ctx, q.Meta())
		if err != nil {
			return err
		}
		node = master
	}
	for cursor := uint64(0); ; {
		names, next, err := node.Scan(ctx, cursor, globText(q.Base())+"*", scanStep).Result()
		if err != nil {
			return err
		}
		var ids []string
		for _, name := range names {
			if id, ok := orphanID(strings.TrimPrefix(name, q.Base())); ok {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		if more, err := visit(slices.Compact(ids)); err != nil || !more {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// globText writes a text so that a pattern matches it alone.
func globText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}

// orphanID is the id of the job that a key, without the queue's base, may belong to. Ids with colons are left alone:
// nothing tells them from keys that are no job's.
func orphanID(name string) (id string, ok bool) {
	id, part, isPart := strings.Cut(name, ":")
	if id == "" || keys.Reserved(id) || slices.Contains(keys.Families, id) {
		return "", false
	}
	if isPart && !slices.Contains(keys.JobParts, part) {
		return "", false
	}
	return id, true
}

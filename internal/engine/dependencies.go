package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"bullpen/internal/engine/scripts"

	"github.com/redis/go-redis/v9"
)

// ChildKind is how a child of a job stands, in BullMQ's words (features 2.1).
type ChildKind string

// The kinds of children.
const (
	// ChildUnprocessed has not ended, or has failed without saying what that means to its parent.
	ChildUnprocessed ChildKind = "unprocessed"
	// ChildProcessed has completed.
	ChildProcessed ChildKind = "processed"
	// ChildIgnored has failed, and its parent goes on.
	ChildIgnored ChildKind = "ignored"
	// ChildFailed has failed, and its parent with it.
	ChildFailed ChildKind = "failed"
)

// ChildKinds lists all kinds in the order pages show them.
var ChildKinds = []ChildKind{ChildUnprocessed, ChildFailed, ChildIgnored, ChildProcessed}

// Child is a child of a job as the job remembers it.
type Child struct {
	Key    string          // full key of the child's hash
	Value  json.RawMessage // what it returned, of processed children
	Reason string          // why it failed, of ignored children
}

// Dependencies are all children of a job by how they stand.
type Dependencies struct {
	Processed   map[string]json.RawMessage // by full key: what they returned
	Unprocessed []string                   // full keys
	Ignored     map[string]string          // by full key: why they failed
	Failed      []string                   // full keys, in the order they failed
}

// DependencyCounts is how many children a job has of each kind.
type DependencyCounts struct{ Processed, Unprocessed, Ignored, Failed int64 }

// Of is the number of children of one kind.
func (c DependencyCounts) Of(kind ChildKind) int64 {
	switch kind {
	case ChildProcessed:
		return c.Processed
	case ChildUnprocessed:
		return c.Unprocessed
	case ChildIgnored:
		return c.Ignored
	case ChildFailed:
		return c.Failed
	}
	return 0
}

// All is the number of all children.
func (c DependencyCounts) All() int64 { return c.Processed + c.Unprocessed + c.Ignored + c.Failed }

// Dependencies reads all children of a job at once, with their values; DependenciesPage is for jobs with many
// (features 2.8).
func (j *Job) Dependencies(ctx context.Context) (*Dependencies, error) {
	q := j.queue
	var processed, ignored *redis.MapStringStringCmd
	var pending, failed *redis.StringSliceCmd
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		processed, pending = p.HGetAll(ctx, q.Processed(j.ID)), p.SMembers(ctx, q.Queue.Dependencies(j.ID))
		ignored, failed = p.HGetAll(ctx, q.IgnoredFailures(j.ID)), p.ZRange(ctx, q.Unsuccessful(j.ID), 0, -1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read children of job %s: %w", j.ID, err)
	}
	return &Dependencies{
		Processed: rawValues(processed.Val()), Unprocessed: pending.Val(), Ignored: ignored.Val(), Failed: failed.Val(),
	}, nil
}

func rawValues(stored map[string]string) map[string]json.RawMessage {
	values := make(map[string]json.RawMessage, len(stored))
	for child, value := range stored {
		values[child] = json.RawMessage(value)
	}
	return values
}

// DependencyCounts counts the children of a job (features 2.8).
func (j *Job) DependencyCounts(ctx context.Context) (DependencyCounts, error) {
	q := j.queue
	var counts [4]*redis.IntCmd
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		counts = [4]*redis.IntCmd{
			p.HLen(ctx, q.Processed(j.ID)), p.SCard(ctx, q.Queue.Dependencies(j.ID)),
			p.HLen(ctx, q.IgnoredFailures(j.ID)), p.ZCard(ctx, q.Unsuccessful(j.ID)),
		}
		return nil
	})
	if err != nil {
		return DependencyCounts{}, fmt.Errorf("count children of job %s: %w", j.ID, err)
	}
	return DependencyCounts{counts[0].Val(), counts[1].Val(), counts[2].Val(), counts[3].Val()}, nil
}

// DependenciesPage reads about count children of one kind. Reading starts with cursor 0 and goes on with the cursor
// returned until that is 0; a child can come twice if children change kinds meanwhile, and more than count come when
// Redis keeps them in one piece (features 2.8).
func (j *Job) DependenciesPage(ctx context.Context, kind ChildKind, cursor uint64, count int64) (page []Child, next uint64, err error) {
	if count < 1 {
		return nil, 0, invalid("count", "%d is not a positive number", count)
	}
	q, c := j.queue, j.queue.client
	var list []string
	switch kind {
	case ChildProcessed:
		list, next, err = c.HScan(ctx, q.Processed(j.ID), cursor, "", count).Result()
		page = children(list, func(child *Child, value string) { child.Value = json.RawMessage(value) })
	case ChildIgnored:
		list, next, err = c.HScan(ctx, q.IgnoredFailures(j.ID), cursor, "", count).Result()
		page = children(list, func(child *Child, reason string) { child.Reason = reason })
	case ChildUnprocessed:
		list, next, err = c.SScan(ctx, q.Queue.Dependencies(j.ID), cursor, "", count).Result()
		page = childrenOf(list)
	case ChildFailed:
		list, err = c.ZRange(ctx, q.Unsuccessful(j.ID), int64(cursor), int64(cursor)+count-1).Result()
		page = childrenOf(list)
		if int64(len(list)) == count {
			next = cursor + uint64(count)
		}
	default:
		return nil, 0, invalid("kind", "%q is none of %v", kind, ChildKinds)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s children of job %s: %w", kind, j.ID, err)
	}
	return page, next, nil
}

// children reads a flat list of keys and what goes with them.
func children(list []string, set func(*Child, string)) []Child {
	page := make([]Child, 0, len(list)/2)
	for pair := range slices.Chunk(list, 2) {
		child := Child{Key: pair[0]}
		set(&child, pair[1])
		page = append(page, child)
	}
	return page
}

func childrenOf(keys []string) []Child {
	page := make([]Child, len(keys))
	for i, key := range keys {
		page[i].Key = key
	}
	return page
}

// RemoveChildDependency takes the job from its parent, which is released if this was the last child it waited for. It
// reports whether the job was one that has not ended. ErrJobNotFound and ErrParentNotFound if one of them is gone
// (features 2.9).
func (j *Job) RemoveChildDependency(ctx context.Context) (bool, error) {
	code, err := j.queue.runner.RemoveChildDependency(ctx, j.queue.target, j.ID, j.ParentKey)
	if err != nil {
		return false, fmt.Errorf("take job %s from its parent: %w", j.ID, err)
	}
	if err := codeError(code, j.ID, "removeChildDependency", "", j.ParentKey); err != nil {
		return false, err
	}
	if code == scripts.NotMoved {
		return false, nil
	}
	j.Fields = maps.Clone(j.Fields)
	delete(j.Fields, "parentKey")
	delete(j.Fields, "parent")
	j.ParentKey, j.Parent = "", nil
	return true, nil
}

// RemoveUnprocessedChildren deletes the children of the job that have not ended, with those below them. Children held by
// a worker stay, and so do failed ones (features 2.9).
func (j *Job) RemoveUnprocessedChildren(ctx context.Context) error {
	if err := j.queue.runner.RemoveUnprocessedChildren(ctx, j.queue.target, j.ID); err != nil {
		return fmt.Errorf("remove unprocessed children of job %s: %w", j.ID, err)
	}
	return nil
}

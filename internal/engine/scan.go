package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// Ended is the entry of an ended job in the sorted set of its state.
type Ended struct {
	ID string
	// At is when it ended, in milliseconds since 1970.
	At int64
}

// EndedRange is a range of the jobs in state Completed or Failed, by the time they ended.
type EndedRange struct {
	// From and To are inclusive; the zero time leaves that end open.
	From, To time.Time
	// Oldest lists the oldest first, otherwise the newest.
	Oldest bool
	// Offset leaves out the first entries of the range, Limit bounds how many are returned.
	Offset, Limit int64
}

// Ended lists ended jobs by the time they ended. Jobs with the same time are ordered by id, as Redis orders them.
func (q *Queue) Ended(ctx context.Context, s keys.State, r EndedRange) ([]Ended, error) {
	if s != keys.Completed && s != keys.Failed {
		return nil, invalid("state", "only completed and failed jobs have ended, not %s ones", s)
	}
	set, _ := q.stateSet(s)
	by := redis.ZRangeArgs{Key: set, Start: bound(r.From, "-inf"), Stop: bound(r.To, "+inf"), ByScore: true, Offset: r.Offset, Count: r.Limit}
	if !r.Oldest {
		by.Rev, by.Start, by.Stop = true, by.Stop, by.Start
	}
	found, err := q.client.ZRangeArgsWithScores(ctx, by).Result()
	if err != nil {
		return nil, fmt.Errorf("list %s jobs of %s: %w", s, q.Name, err)
	}
	out := make([]Ended, len(found))
	for i, z := range found {
		out[i] = Ended{ID: fmt.Sprint(z.Member), At: int64(z.Score)}
	}
	return out, nil
}

// CountEnded counts the jobs in state Completed or Failed that ended between two times, both inclusive; the zero time
// leaves that end open.
func (q *Queue) CountEnded(ctx context.Context, s keys.State, from, to time.Time) (int64, error) {
	if s != keys.Completed && s != keys.Failed {
		return 0, invalid("state", "only completed and failed jobs have ended, not %s ones", s)
	}
	set, _ := q.stateSet(s)
	n, err := q.client.ZCount(ctx, set, bound(from, "-inf"), bound(to, "+inf")).Result()
	if err != nil {
		return 0, fmt.Errorf("count %s jobs of %s: %w", s, q.Name, err)
	}
	return n, nil
}

func bound(t time.Time, open string) string {
	if t.IsZero() {
		return open
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

// Text is a field of a job's hash.
type Text struct {
	Value string
	// Size is its length in bytes, 0 when the job has no such field.
	Size int64
	// Left says that it was not read, because of a limit.
	Left bool
}

// Texts reads one field of many jobs, lengths first: a text longer than each bytes stays where it is, and so does
// every one after those that fill total bytes; one is always read, so that callers get on. Fields of keys that are not
// hashes read as absent.
func (q *Queue) Texts(ctx context.Context, ids []string, name string, each, total int64) ([]Text, error) {
	lengths, err := pipelined(ctx, q.client, ids, func(p redis.Pipeliner, id string) *redis.Cmd {
		return p.Do(ctx, "hstrlen", q.Queue.Job(id), name)
	})
	if err != nil {
		return nil, fmt.Errorf("read sizes of %s in %s: %w", name, q.Name, err)
	}
	out := make([]Text, len(ids))
	var wanted []string
	var places []int
	for i := range ids {
		size, _ := lengths[i].Int64()
		out[i].Size = size
		switch {
		case size == 0:
		case size > each:
			out[i].Left = true
		case size > total && len(wanted) > 0:
			out[i].Left, total = true, 0
		default:
			total -= size
			wanted, places = append(wanted, ids[i]), append(places, i)
		}
	}
	texts, err := pipelined(ctx, q.client, wanted, func(p redis.Pipeliner, id string) *redis.Cmd {
		return p.Do(ctx, "hget", q.Queue.Job(id), name)
	})
	if err != nil {
		return nil, fmt.Errorf("read %s of jobs in %s: %w", name, q.Name, err)
	}
	for i, place := range places {
		out[place].Value, _ = texts[i].Text()
	}
	return out, nil
}

// Holders tells which of the queues, all in one Redis, have a job with this id, in one round trip. It looks at the
// hash alone: a job whose record is gone is not found, and neither is a key of the queue's own.
func Holders(ctx context.Context, id string, queues []*Queue) ([]bool, error) {
	out := make([]bool, len(queues))
	if len(queues) == 0 || id == "" || keys.Reserved(id) {
		return out, nil
	}
	found, err := pipelined(ctx, queues[0].client, queues, func(p redis.Pipeliner, q *Queue) *redis.Cmd {
		return p.Do(ctx, "hexists", q.Queue.Job(id), "timestamp")
	})
	if err != nil {
		return nil, fmt.Errorf("look for job %s: %w", id, err)
	}
	for i, cmd := range found {
		n, _ := cmd.Int64()
		out[i] = n == 1
	}
	return out, nil
}

// pipelined sends one command for each item, in one round trip. A key of another type is no error: its reply is empty.
func pipelined[T any](ctx context.Context, client redis.UniversalClient, items []T, send func(redis.Pipeliner, T) *redis.Cmd) ([]*redis.Cmd, error) {
	if len(items) == 0 {
		return nil, nil
	}
	cmds := make([]*redis.Cmd, len(items))
	// Each command has its own error, also when the connection failed.
	_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, item := range items {
			cmds[i] = send(p, item)
		}
		return nil
	})
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return nil, err
		}
	}
	return cmds, nil
}

// PublicOptions gives stored options under BullMQ's public names, as Job.PublicOptions does.
func PublicOptions(stored []byte) json.RawMessage {
	public, err := publicOptions(stored)
	if err != nil {
		return json.RawMessage("{}")
	}
	return public
}

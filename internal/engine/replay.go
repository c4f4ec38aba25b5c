package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrReplayed means the dead letter was replayed before: its copy is gone and its original went back to its queue.
	ErrReplayed = errors.New("dead letter was replayed before")
	// ErrNotDeadLetter means the job does not tell of an original.
	ErrNotDeadLetter = errors.New("job is not a dead letter")
	// ErrOriginalNotFailed means the original of a dead letter exists and is not in failed, so it is not replayed.
	ErrOriginalNotFailed = errors.New("original job is not failed")
)

// Replay is what became of a dead letter that was replayed.
type Replay struct {
	// Letter is the id the dead letter had.
	Letter string
	// Queue and ID name the original, under the dead-letter queue's prefix.
	Queue, ID string
	// Again says that the original was gone and was added again under its own id. Otherwise it was still failed and was
	// reprocessed in place.
	Again bool
}

// Replay puts the originals of dead letters back to waiting, with all their attempts, and deletes the letters in the
// same step; q is the dead-letter queue. An original that is gone is added again under its own id, with the name, data,
// options and stack traces it had, to run at once. A letter stays, and is refused, when its original is in another state
// (ErrOriginalNotFailed), a worker holds it (ErrLocked), it was replayed before (ErrReplayed) or is none
// (ErrNotDeadLetter, ErrJobNotFound). The original's hash names the letter it came from in the field replayedFrom.
//
// A call of many letters runs as several scripts. On an error, replayed holds what is known to have been done; to repeat
// the call does no harm.
func (q *Queue) Replay(ctx context.Context, letters []string) (replayed []Replay, refused []Refusal, err error) {
	outcomes, err := q.runner.Replay(ctx, q.target, q.clock(), letters)
	for i, o := range outcomes {
		if o.Code >= 0 {
			replayed = append(replayed, Replay{Letter: letters[i], Queue: o.Queue, ID: o.ID, Again: o.Code == scripts.AddedAgain})
			continue
		}
		refused = append(refused, Refusal{letters[i], replayError(letters[i], o)})
	}
	if err != nil {
		return replayed, refused, fmt.Errorf("replay dead letters of %s: %w", q.Name, err)
	}
	return replayed, refused, nil
}

// ReplayOne is Replay for one letter.
func (q *Queue) ReplayOne(ctx context.Context, letter string) (Replay, error) {
	replayed, refused, err := q.Replay(ctx, []string{letter})
	switch {
	case err != nil:
		return Replay{}, err
	case len(refused) > 0:
		return Replay{}, refused[0].Err
	}
	return replayed[0], nil
}

// ReplayBatches replays every letter that is in the queue now and was not taken by a worker: those that wait, oldest
// first, and those on which a worker of the dead-letter queue itself failed. step is told what became of each batch; its
// error ends the work. Letters that arrive later are left.
func (q *Queue) ReplayBatches(ctx context.Context, step func([]Replay, []Refusal) error) error {
	for _, state := range []keys.State{keys.Waiting, keys.Failed} {
		letters, err := q.allIDs(ctx, state)
		if err != nil {
			return err
		}
		for batch := range slices.Chunk(letters, bulkSize) {
			replayed, refused, err := q.Replay(ctx, batch)
			if err := errors.Join(step(replayed, refused), err); err != nil {
				return err
			}
		}
	}
	return nil
}

// allIDs lists the ids that are in a state now, next to run or oldest first.
func (q *Queue) allIDs(ctx context.Context, s keys.State) ([]string, error) {
	const page = 5000
	var ids []string
	for {
		part, err := q.IDs(ctx, s, int64(len(ids)), page, time.Time{})
		if err != nil {
			return nil, err
		}
		if ids = append(ids, part...); len(part) < page {
			return ids, nil
		}
	}
}

func replayError(letter string, o scripts.ReplayedLetter) error {
	e := &CodeError{Code: int(o.Code), JobID: letter}
	switch o.Code {
	case scripts.WrongState:
		e.cause = ErrOriginalNotFailed
		e.Message = fmt.Sprintf("job %s of %s is %s, not failed", o.ID, o.Queue, o.State)
		if o.State == keys.Unknown {
			e.Message = fmt.Sprintf("job %s of %s has a record but is in no state", o.ID, o.Queue)
		}
	case scripts.Locked:
		e.cause, e.Message = ErrLocked, fmt.Sprintf("a worker holds dead letter %s", letter)
	case scripts.Replayed:
		e.cause, e.Message = ErrReplayed, fmt.Sprintf("dead letter %s was replayed before", letter)
	case scripts.NotDeadLetter:
		e.cause, e.Message = ErrNotDeadLetter, fmt.Sprintf("job %s is not a dead letter", letter)
	default:
		return codeError(o.Code, letter, "replay", "", "")
	}
	return e
}

// DeadLetter is what a dead letter tells of its original.
type DeadLetter struct {
	// Queue and ID name the original, under the dead-letter queue's prefix.
	Queue        string `json:"queue"`
	ID           string `json:"id"`
	Reason       string `json:"reason"`
	AttemptsMade int    `json:"attemptsMade"`
	// FailedAt is when the original failed, in milliseconds since the epoch.
	FailedAt int64 `json:"failedAt"`
}

// DeadLetter returns what the job tells of its original; nil when it is no dead letter, or its options were cut.
func (j *Job) DeadLetter() *DeadLetter { return decodeDeadLetter(j.RawOpts) }

func decodeDeadLetter(options []byte) *DeadLetter {
	var opts struct {
		DeadLetter *DeadLetter `json:"deadLetter"`
	}
	if json.Unmarshal(options, &opts) != nil || opts.DeadLetter == nil || opts.DeadLetter.ID == "" {
		return nil
	}
	return opts.DeadLetter
}

// Letters lists the dead letters that wait, the newest first and at most limit, with when their originals failed, and
// says how many wait in all. At is 0 for a job that is no dead letter.
func (q *Queue) Letters(ctx context.Context, limit int64) (newest []Ended, total int64, err error) {
	var ids [2]*redis.StringSliceCmd
	var lengths [2]*redis.IntCmd
	_, err = q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, list := range []string{q.Wait(), q.Paused()} {
			ids[i], lengths[i] = p.LRange(ctx, list, 0, limit-1), p.LLen(ctx, list)
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list dead letters of %s: %w", q.Name, err)
	}
	for i := range ids {
		total += lengths[i].Val()
		for _, id := range ids[i].Val() {
			at, _ := strconv.ParseInt(id[strings.LastIndexByte(id, '.')+1:], 10, 64)
			newest = append(newest, Ended{ID: id, At: at})
		}
	}
	return newest[:min(int64(len(newest)), limit)], total, nil
}

// DeadLetters reads what many letters tell of their originals; the result has the order of letters and nil for those
// that are none or are gone.
func (q *Queue) DeadLetters(ctx context.Context, letters []string) ([]*DeadLetter, error) {
	options := make([]*redis.StringCmd, len(letters))
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range letters {
			options[i] = p.HGet(ctx, q.Queue.Job(id), "opts")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("read dead letters of %s: %w", q.Name, err)
	}
	told := make([]*DeadLetter, len(letters))
	for i, text := range options {
		if text.Err() == nil {
			told[i] = decodeDeadLetter([]byte(text.Val()))
		}
	}
	return told, nil
}

// ReplayedFrom is the dead letter by which a job came back.
type ReplayedFrom struct {
	// Queue is the dead-letter queue, ID the letter, which was deleted then.
	Queue string `json:"queue"`
	ID    string `json:"id"`
	// At is when, in milliseconds since the epoch.
	At int64 `json:"at"`
}

// ReplayedFrom returns the dead letter by which the job last came back, nil if it never did.
func (j *Job) ReplayedFrom() *ReplayedFrom {
	var from ReplayedFrom
	if json.Unmarshal([]byte(j.Fields["replayedFrom"]), &from) != nil || from.ID == "" {
		return nil
	}
	return &from
}

// ReplayedAt returns when a letter of this dead-letter queue was replayed, the zero time if that is not known: the last
// 10,000 are remembered.
func (q *Queue) ReplayedAt(ctx context.Context, letter string) (time.Time, error) {
	scores, err := q.client.ZMScore(ctx, q.Replays(), letter).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("read when letter %s was replayed: %w", letter, err)
	}
	return instant(scores[0]), nil
}

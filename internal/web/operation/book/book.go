// Package book keeps bulk acts in Redis: one hash with how far each is, and beside it a key for each that runs, which
// its process keeps alive. So every process shows all of them, and one that was lost with its process is found.
package book

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/web/operation"

	"github.com/redis/go-redis/v9"
)

const (
	// size is how many operations are kept, life how long after the last one began.
	size = 200
	life = 30 * 24 * time.Hour
	// silence is how long nothing may be heard of a process until its operations count as lost.
	silence = 15 * time.Second
	// last is the field with the highest number; the others are a number, or one of these and a number.
	last   = "last"
	cancel = "cancel:"
	ended  = "ended:"
)

// Book is an operation.Book. Make it with New.
type Book struct {
	client   redis.UniversalClient
	readOnly bool
}

var _ operation.Book = (*Book)(nil)

// New returns a book. client stays the caller's to close; a readOnly one keeps nothing.
func New(client redis.UniversalClient, readOnly bool) *Book {
	return &Book{client: client, readOnly: readOnly}
}

// page is a status with what a program is not told.
type page struct {
	operation.Status
	Pace  []int64       `json:"pace,omitempty"`
	Every time.Duration `json:"every"`
}

// Number implements operation.Book. It also drops the oldest operations.
func (b *Book) Number(ctx context.Context) (int64, error) {
	if b.readOnly {
		return 0, errors.New("this Bullpen writes nothing to Redis")
	}
	id, err := b.client.HIncrBy(ctx, keys.Operations, last, 1).Result()
	if err != nil {
		return 0, fmt.Errorf("number an operation: %w", err)
	}
	old := strconv.FormatInt(id-size, 10)
	if err := b.client.HDel(ctx, keys.Operations, old, cancel+old, ended+old).Err(); err != nil {
		return 0, fmt.Errorf("forget operation %s: %w", old, err)
	}
	return id, nil
}

// Write implements operation.Book.
func (b *Book) Write(ctx context.Context, s operation.Status) (cancelled bool, err error) {
	text, err := json.Marshal(page{s, s.Pace, s.Every})
	if err != nil {
		return false, fmt.Errorf("write operation %d: %w", s.ID, err)
	}
	id := strconv.FormatInt(s.ID, 10)
	p := b.client.Pipeline()
	asked := p.HExists(ctx, keys.Operations, cancel+id)
	if s.State.Ended() {
		p.Del(ctx, keys.Operation(s.ID))
	} else {
		p.Set(ctx, keys.Operation(s.ID), "", silence)
	}
	p.HSet(ctx, keys.Operations, id, string(text))
	p.Expire(ctx, keys.Operations, life)
	if _, err := p.Exec(ctx); err != nil {
		return false, fmt.Errorf("write operation %d: %w", s.ID, err)
	}
	return asked.Val(), nil
}

// Read implements operation.Book.
func (b *Book) Read(ctx context.Context) ([]operation.Kept, error) {
	fields, err := b.client.HGetAll(ctx, keys.Operations).Result()
	if err != nil {
		return nil, fmt.Errorf("read operations: %w", err)
	}
	var out []operation.Kept
	alive := map[int64]*redis.IntCmd{}
	p := b.client.Pipeline()
	for name, text := range fields {
		id, err := strconv.ParseInt(name, 10, 64)
		var found page
		if err != nil || json.Unmarshal([]byte(text), &found) != nil {
			continue // the counter, a wish, or nothing of ours
		}
		s := found.Status
		s.ID, s.Pace, s.Every = id, found.Pace, found.Every
		if !s.State.Ended() {
			alive[id] = p.Exists(ctx, keys.Operation(id))
		}
		out = append(out, operation.Kept{Status: s})
	}
	if len(alive) == 0 {
		return out, nil
	}
	if _, err := p.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read operations: %w", err)
	}
	for i, k := range out {
		if c := alive[k.Status.ID]; c != nil {
			out[i].Gone = c.Val() == 0
		}
	}
	return slices.Clip(out), nil
}

// Cancel implements operation.Book.
func (b *Book) Cancel(ctx context.Context, id int64) error {
	if err := b.client.HSet(ctx, keys.Operations, cancel+strconv.FormatInt(id, 10), "1").Err(); err != nil {
		return fmt.Errorf("cancel operation %d: %w", id, err)
	}
	return nil
}

// End implements operation.Book.
func (b *Book) End(ctx context.Context, s operation.Status) (first bool, err error) {
	if b.readOnly {
		return false, nil
	}
	first, err = b.client.HSetNX(ctx, keys.Operations, ended+strconv.FormatInt(s.ID, 10), "1").Result()
	if err == nil && first {
		_, err = b.Write(ctx, s)
	}
	if err != nil {
		return false, fmt.Errorf("end operation %d: %w", s.ID, err)
	}
	return first, nil
}

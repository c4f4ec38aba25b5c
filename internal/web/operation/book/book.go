// Package book keeps bulk acts in Redis: one hash with how far each is, and beside it a key for each that runs, which
// its process keeps alive. So every process shows all of them, and one that was lost with its process is found.
package book

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	p := b.client.Pipeline()
	p.HDel(ctx, keys.Operations, old, cancel+old, ended+old)
	p.Unlink(ctx, keys.Refusals(id-size))
	if _, err := p.Exec(ctx); err != nil {
		return 0, fmt.Errorf("forget operation %s: %w", old, err)
	}
	return id, nil
}

// Write implements operation.Book.
func (b *Book) Write(ctx context.Context, s operation.Status, from int, refused []operation.Refusal) (cancelled bool, err error) {
	text, err := json.Marshal(page{s, s.Pace, s.Every})
	if err != nil {
		return false, fmt.Errorf("write operation %d: %w", s.ID, err)
	}
	news, err := json.Marshal(runs(refused))
	if err != nil {
		return false, fmt.Errorf("write refusals of operation %d: %w", s.ID, err)
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
	if len(refused) > 0 {
		p.HSet(ctx, keys.Refusals(s.ID), strconv.Itoa(from), string(news))
		p.Expire(ctx, keys.Refusals(s.ID), operation.RefusalsLife)
	}
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
		_, err = b.Write(ctx, s, 0, nil)
	}
	if err != nil {
		return false, fmt.Errorf("end operation %d: %w", s.ID, err)
	}
	return first, nil
}

// run is some jobs in a row that were refused for the same reason.
type run struct {
	Reason string   `json:"reason"`
	IDs    []string `json:"ids"`
}

// runs joins neighbours, because most have the same reason.
func runs(refused []operation.Refusal) (out []run) {
	for _, r := range refused {
		if n := len(out); n == 0 || out[n-1].Reason != r.Reason {
			out = append(out, run{Reason: r.Reason})
		}
		last := &out[len(out)-1]
		last.IDs = append(last.IDs, r.ID)
	}
	return out
}

// Refusals implements operation.Book.
func (b *Book) Refusals(ctx context.Context, id int64) ([]operation.Refusal, error) {
	fields, err := b.client.HGetAll(ctx, keys.Refusals(id)).Result()
	if err != nil {
		return nil, fmt.Errorf("read refusals of operation %d: %w", id, err)
	}
	parts := map[int][]run{}
	for name, text := range fields {
		from, err := strconv.Atoi(name)
		var found []run
		if err != nil || json.Unmarshal([]byte(text), &found) != nil {
			continue // nothing of ours
		}
		parts[from] = found
	}
	var out []operation.Refusal
	for _, from := range slices.Sorted(maps.Keys(parts)) {
		for _, r := range parts[from] {
			for _, id := range r.IDs {
				out = append(out, operation.Refusal{ID: id, Reason: r.Reason})
			}
		}
	}
	return out, nil
}

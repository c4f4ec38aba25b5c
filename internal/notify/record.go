package notify

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/redis/go-redis/v9"
)

// told are the alerts that were told to fire, by fingerprint.
type told map[string]alert

// record remembers what was told and whose turn it is to send.
type record interface {
	// hold takes or keeps the turn and returns what was told; false if it is another one's turn. takeOver says that a
	// turn that another one let run out may be taken.
	hold(ctx context.Context, takeOver bool) (t told, mine bool, err error)
	// save notes changes: alerts that were told, and zero values for those that were told to have ended.
	save(ctx context.Context, changes told) error
	// release gives the turn back.
	release(ctx context.Context) error
}

var (
	//go:embed lua/hold.lua
	holdSource string
	//go:embed lua/save.lua
	saveSource string
)

// errNotMyTurn means that another replica began to send.
var errNotMyTurn = errors.New("another replica sends")

// redisRecord keeps the record in one hash.
type redisRecord struct {
	client     redis.UniversalClient
	key, me    string
	lease      time.Duration
	take, note *redis.Script
}

func newRedisRecord(c redis.UniversalClient, key, me string, lease time.Duration) *redisRecord {
	return &redisRecord{client: c, key: key, me: me, lease: lease, take: redis.NewScript(holdSource), note: redis.NewScript(saveSource)}
}

func (r *redisRecord) hold(ctx context.Context, takeOver bool) (told, bool, error) {
	ended := "0"
	if takeOver {
		ended = "1"
	}
	fields, err := r.take.Run(ctx, r.client, []string{r.key}, r.me, r.lease.Milliseconds(), ended).StringSlice()
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("taking the turn to send: %w", err)
	}
	t := told{}
	for i := 0; i+1 < len(fields); i += 2 {
		var a alert
		if fields[i] == "sender" || fields[i] == "until" || json.Unmarshal([]byte(fields[i+1]), &a) != nil {
			continue
		}
		t[fields[i]] = a
	}
	return t, true, nil
}

func (r *redisRecord) save(ctx context.Context, changes told) error {
	args := []any{r.me}
	for id, a := range changes {
		text := ""
		if !a.ended() {
			b, err := json.Marshal(a)
			if err != nil {
				return fmt.Errorf("noting an alert: %w", err)
			}
			text = string(b)
		}
		args = append(args, id, text)
	}
	kept, err := r.note.Run(ctx, r.client, []string{r.key}, args...).Int()
	if err != nil {
		return fmt.Errorf("noting what was told: %w", err)
	}
	if kept == 0 {
		return errNotMyTurn
	}
	return nil
}

func (r *redisRecord) release(ctx context.Context) error {
	if err := r.note.Run(ctx, r.client, []string{r.key}, r.me, "sender", "").Err(); err != nil {
		return fmt.Errorf("giving the turn to send back: %w", err)
	}
	return nil
}

// memoryRecord is that of a process that writes no keys of ours: it always sends, and begins anew after a restart.
type memoryRecord struct{ told told }

func (m *memoryRecord) hold(context.Context, bool) (told, bool, error) {
	return maps.Clone(m.told), true, nil
}

func (m *memoryRecord) save(_ context.Context, changes told) error {
	merge(m.told, changes)
	return nil
}

func (*memoryRecord) release(context.Context) error { return nil }

// merge brings t up to date with changes.
func merge(t, changes told) {
	for id, a := range changes {
		if a.ended() {
			delete(t, id)
		} else {
			t[id] = a
		}
	}
}

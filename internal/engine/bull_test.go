package engine

import (
	"errors"
	"testing"
)

func TestRefuseBull(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tests := map[string]struct {
		seed [][]any // commands whose second word is a suffix
		want bool
	}{
		"nothing":                {},
		"waiting jobs of Bull":   {seed: [][]any{{"LPUSH", "wait", 1}, {"INCR", "id"}}, want: true},
		"finished jobs of Bull":  {seed: [][]any{{"ZADD", "completed", 1, 1}}, want: true},
		"paused by Bull":         {seed: [][]any{{"LPUSH", "paused", 1}, {"SET", "meta-paused", 1}}, want: true},
		"a counter alone":        {seed: [][]any{{"INCR", "id"}}},
		"jobs of BullMQ":         {seed: [][]any{{"LPUSH", "wait", 1}, {"HSET", "meta", "opts.maxLenEvents", 10000}}},
		"a queue object of 6":    {seed: [][]any{{"LPUSH", "wait", 1}, {"HSET", "meta", "version", "bullmq:6.7.0"}}},
		"meta is gone":           {seed: [][]any{{"LPUSH", "wait", 1}, {"XADD", "events", "*", "event", "x"}}},
		"a marker":               {seed: [][]any{{"LPUSH", "wait", 1}, {"ZADD", "marker", 0, 0}}},
		"a limit of this engine": {seed: [][]any{{"LPUSH", "wait", 1}, {"HSET", "meta", "concurrency", 1}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t)
			for _, words := range tt.seed {
				words[1] = q.Key(words[1].(string))
				if err := q.client.Do(ctx, words...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if err := q.RefuseBull(ctx); errors.Is(err, ErrBullQueue) != tt.want || err != nil && !tt.want {
				t.Errorf("RefuseBull = %v", err)
			}
		})
	}
	q := newQueue(t)
	add(t, q, "n", nil, JobOptions{})
	if err := q.RefuseBull(ctx); err != nil {
		t.Errorf("our own queue: %v", err)
	}
}

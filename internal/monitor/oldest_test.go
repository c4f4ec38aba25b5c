package monitor

import (
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestOldestWait(t *testing.T) {
	type jobs func(r *rig, q keys.Queue)
	push := func(r *rig, q keys.Queue, ids ...any) { r.ok(r.redis.LPush(r.t.Context(), q.Wait(), ids...).Err()) }
	prioritize := func(r *rig, q keys.Queue, ids ...string) {
		for i, id := range ids {
			r.ok(r.redis.ZAdd(r.t.Context(), q.Prioritized(), redis.Z{Score: float64(i+1) * (1 << 32), Member: id}).Err())
		}
	}
	tests := []struct {
		name    string
		jobs    jobs
		want    time.Duration
		atLeast bool
	}{
		{"none", func(*rig, keys.Queue) {}, 0, false},
		{"plain", func(r *rig, q keys.Queue) {
			r.job(q, "1", time.Hour, nil)
			r.job(q, "2", time.Minute, nil)
			push(r, q, "1", "2")
		}, time.Hour, false},
		{"was delayed", func(r *rig, q keys.Queue) {
			r.job(q, "1", time.Hour, map[string]any{"delay": 3_000_000})
			push(r, q, "1")
		}, 10 * time.Minute, false},
		{"retried", func(r *rig, q keys.Queue) {
			r.job(q, "1", time.Hour, nil, "ats", 1, "atm", 1)
			push(r, q, "1")
		}, 0, true},
		{"retried before another", func(r *rig, q keys.Queue) {
			r.job(q, "1", 2*time.Hour, nil, "ats", 1)
			r.job(q, "2", time.Hour, nil)
			push(r, q, "1", "2")
		}, time.Hour, true},
		{"last in, first out", func(r *rig, q keys.Queue) {
			r.job(q, "1", time.Minute, map[string]any{"lifo": true})
			r.job(q, "2", time.Hour, nil)
			push(r, q, "1", "2")
		}, time.Hour, true},
		{"a parent whose children took their time", func(r *rig, q keys.Queue) {
			r.job(q, "1", time.Hour, nil)
			r.ok(r.redis.HSet(r.t.Context(), q.Processed("1"), "child", "1").Err())
			push(r, q, "1")
		}, 0, true},
		{"one prioritized", func(r *rig, q keys.Queue) {
			r.job(q, "1", time.Hour, map[string]any{"priority": 1})
			prioritize(r, q, "1")
		}, time.Hour, false},
		{"prioritized behind the next", func(r *rig, q keys.Queue) {
			r.job(q, "1", time.Minute, nil)
			prioritize(r, q, "1", "2")
		}, time.Minute, true},
		{"prioritized is older than waiting", func(r *rig, q keys.Queue) {
			r.job(q, "1", time.Minute, nil)
			r.job(q, "2", time.Hour, nil)
			push(r, q, "1")
			prioritize(r, q, "2")
		}, time.Hour, false},
		{"paused by 5.x", func(r *rig, q keys.Queue) {
			r.job(q, "1", time.Hour, nil)
			r.ok(r.redis.LPush(r.t.Context(), q.Paused(), "1").Err())
		}, time.Hour, false},
		{"hash is gone", func(r *rig, q keys.Queue) { push(r, q, "1") }, 0, true},
		{"options are huge", func(r *rig, q keys.Queue) {
			r.job(q, "1", time.Hour, map[string]any{"x": make([]int, maxOptsSize)})
			push(r, q, "1")
		}, 0, true},
		{"options are no JSON", func(r *rig, q keys.Queue) {
			r.job(q, "1", time.Hour, nil, "opts", "{")
			push(r, q, "1")
		}, 0, true},
		{"from the future", func(r *rig, q keys.Queue) {
			r.job(q, "1", -time.Hour, nil)
			push(r, q, "1")
		}, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, nil)
			tt.jobs(r, r.create("q"))
			got := r.one(r.look(), "q")
			require.InDelta(t, tt.want.Seconds(), got.OldestWait.Seconds(), 0.01)
			require.Equal(t, tt.atLeast, got.OldestWaitAtLeast)
		})
	}
}

func TestOldestWaitOfARetriedJobGrowsFromFirstSight(t *testing.T) {
	r := newRig(t, nil)
	ctx := t.Context()
	q := r.create("q")
	r.job(q, "1", time.Hour, nil, "ats", 1)
	r.ok(r.redis.LPush(ctx, q.Wait(), "1").Err())
	r.look()
	require.Equal(t, 30*time.Second, r.one(r.read(30*time.Second), "q").OldestWait)

	r.ok(r.redis.Del(ctx, q.Wait()).Err())
	for range 5 { // ages are read at least once
		require.Zero(t, r.one(r.read(time.Second), "q").OldestWait)
	}
	r.ok(r.redis.LPush(ctx, q.Wait(), "1").Err())
	var got *Queue
	for range 5 {
		got = r.one(r.read(time.Second), "q")
	}
	require.Less(t, got.OldestWait, 5*time.Second, "it was away in between")
}

func TestOldestActive(t *testing.T) {
	r := newRig(t, nil)
	ctx := t.Context()
	q := r.create("q")
	r.job(q, "1", time.Hour, nil, "processedOn", r.now.Add(-3*time.Minute).UnixMilli())
	r.job(q, "2", time.Hour, nil, "processedOn", r.now.Add(-time.Minute).UnixMilli())
	r.ok(r.redis.LPush(ctx, q.Active(), "1", "2").Err())
	require.InDelta(t, 180, r.one(r.look(), "q").OldestActive.Seconds(), 0.01)
	r.ok(r.redis.Del(ctx, q.Active()).Err())
	require.Zero(t, r.one(r.read(time.Second), "q").OldestActive)
}

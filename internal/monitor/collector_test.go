package monitor

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/engine/presence"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// bothProtocols runs f with RESP2 and RESP3.
func bothProtocols(t *testing.T, f func(t *testing.T, c *redis.Client)) {
	for _, version := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", version), func(t *testing.T) {
			o := srv.Options()
			o.Protocol = version
			c := redis.NewClient(o)
			t.Cleanup(func() { _ = c.Close() })
			f(t, c)
		})
	}
}

func TestCountsOfEveryState(t *testing.T) {
	bothProtocols(t, func(t *testing.T, c *redis.Client) {
		r := rigOn(t, c, nil)
		ctx := t.Context()
		q := r.create("email")
		r.ok(c.Set(ctx, q.ID(), 4211, 0).Err())
		r.ok(c.LPush(ctx, q.Wait(), "1", "2", "3").Err())
		r.ok(c.LPush(ctx, q.Active(), "4", "5").Err())
		r.ok(c.ZAdd(ctx, q.Prioritized(), redis.Z{Score: 1 << 32, Member: "6"}).Err())
		for i, due := range []time.Duration{-time.Minute, -time.Millisecond, time.Hour, 2 * time.Hour} {
			r.due(q, strconv.Itoa(10+i), due)
		}
		r.ok(c.ZAdd(ctx, q.WaitingChildren(), redis.Z{Score: 1, Member: "20"}, redis.Z{Score: 1, Member: "21"}).Err())
		for i := range 7 {
			r.ok(c.ZAdd(ctx, q.Completed(), redis.Z{Score: 1, Member: fmt.Sprint("c", i)}).Err())
		}
		r.ok(c.ZAdd(ctx, q.Failed(), redis.Z{Score: 1, Member: "f"}).Err())
		r.ok(c.HSet(ctx, q.Meta(), "concurrency", "12", "max", "50", "duration", "1000").Err())
		r.ok(c.XAdd(ctx, &redis.XAddArgs{Stream: q.Events(), Values: []any{"event", "added"}}).Err())
		next := r.now.Add(4 * time.Minute).Truncate(time.Millisecond)
		r.ok(c.ZAdd(ctx, q.Repeat(), redis.Z{Score: float64(next.UnixMilli()), Member: "s"}).Err())

		got := r.one(r.look(), "email")
		require.Equal(t, map[keys.State]int64{
			keys.Waiting: 3, keys.Active: 2, keys.Prioritized: 1, keys.Delayed: 4, keys.WaitingChildren: 2,
			keys.Completed: 7, keys.Failed: 1,
		}, got.Counts)
		require.EqualValues(t, 2, got.Overdue)
		require.EqualValues(t, 6, got.Backlog(), "waiting, prioritized and due")
		require.EqualValues(t, 4211, got.Added)
		require.Equal(t, "bullmq:6.7.0", got.Version)
		require.EqualValues(t, 12, got.GlobalConcurrency)
		require.EqualValues(t, 1, got.EventsEntries)
		require.EqualValues(t, 1, got.Schedulers)
		require.Equal(t, next.UnixMilli(), got.NextSchedule.UnixMilli())
		require.Equal(t, r.now.Add(-time.Minute).UnixMilli(), got.NextDue.UnixMilli())
		require.Equal(t, Limiter{Max: 50, Duration: time.Second}, got.Limiter)
		require.True(t, got.Discovered)
		require.False(t, got.Declared || got.Legacy || got.Paused)
	})
}

func TestPause(t *testing.T) {
	r := newRig(t, nil)
	ctx := t.Context()
	v6, v5 := r.create("six"), r.create("five")
	for _, q := range []keys.Queue{v6, v5} {
		r.ok(r.redis.LPush(ctx, q.Wait(), "1", "2").Err())
	}
	r.look()

	r.ok(r.redis.HSet(ctx, v6.Meta(), "paused", "1").Err())
	r.ok(r.redis.HSet(ctx, v5.Meta(), "paused", "1").Err())
	r.ok(r.redis.Rename(ctx, v5.Wait(), v5.Paused()).Err())
	s := r.read(time.Second)
	paused := r.now
	for _, name := range []string{"six", "five"} {
		q := r.one(s, name)
		require.True(t, q.Paused, name)
		require.EqualValues(t, 2, q.Counts[keys.Waiting], name)
		require.Equal(t, paused, q.PausedSince, name)
	}
	require.EqualValues(t, 2, r.one(s, "five").PausedList)
	require.Zero(t, r.one(s, "six").PausedList)

	q := r.one(r.read(125*time.Minute), "six")
	require.Equal(t, PausedHealth, q.Health)
	require.Equal(t, "Paused 2\u00a0h 05\u00a0min ago, 2\u00a0jobs held", q.Reason)

	// Both lists may hold jobs when 5.x and 6.x meet.
	r.ok(r.redis.LPush(ctx, v5.Wait(), "3").Err())
	require.EqualValues(t, 3, r.one(r.read(time.Second), "five").Counts[keys.Waiting])

	again := rigOn(t, r.redis, func(o *Options) { o.Prefixes = []string{r.prefix} })
	again.prefix = r.prefix
	require.Zero(t, again.one(again.look(), "six").PausedSince, "since when cannot be known")
}

func TestMarkersOfBullMQ4AreSubtractedNotPopped(t *testing.T) {
	r := newRig(t, nil)
	ctx := t.Context()
	q := r.create("old")
	r.job(q, "1", time.Minute, nil)
	r.ok(r.redis.RPush(ctx, q.Wait(), "1", "0:0").Err())
	for i := range 7 {
		got := r.one(r.look(), "old")
		require.EqualValues(t, 1, got.Counts[keys.Waiting], "pass %d", i)
		require.InDelta(t, time.Minute.Seconds(), got.OldestWait.Seconds(), 1)
	}
	require.Equal(t, []string{"1", "0:0"}, r.redis.LRange(ctx, q.Wait(), 0, -1).Val())
	r.ok(r.redis.RPop(ctx, q.Wait()).Err())
	require.EqualValues(t, 1, r.one(r.read(time.Second), "old").Counts[keys.Waiting])
}

func TestLimiter(t *testing.T) {
	declared := policy.Policy{Limiter: policy.Limiter{Max: 10, Duration: 5 * time.Second}}
	tests := []struct {
		name   string
		policy policy.Policy
		meta   []any
		value  any // of the limiter key, nil = none
		ttl    time.Duration
		want   Limiter // TTL is the most it may be
	}{
		{"none", policy.Policy{}, nil, nil, 0, Limiter{}},
		{"declared, open", declared, nil, 9, time.Minute, Limiter{Max: 10, Duration: 5 * time.Second}},
		{"declared, full", declared, nil, 10, time.Minute, Limiter{Max: 10, Duration: 5 * time.Second, Closed: true, TTL: time.Minute}},
		{"meta, full", policy.Policy{}, []any{"max", 3, "duration", 400}, 3, time.Minute, Limiter{Max: 3, Duration: 400 * time.Millisecond, Closed: true, TTL: time.Minute}},
		{"meta's max and the worker's duration win", declared, []any{"max", 3, "duration", 400}, 3, time.Minute, Limiter{Max: 3, Duration: 5 * time.Second, Closed: true, TTL: time.Minute}},
		{"max without duration is no limit", policy.Policy{}, []any{"max", 3}, 3, time.Minute, Limiter{}},
		{"full, but the window has no end", declared, nil, 10, 0, Limiter{Max: 10, Duration: 5 * time.Second}},
		{"manual", policy.Policy{}, nil, "9007199254740991", time.Minute, Limiter{Closed: true, Manual: true, TTL: time.Minute}},
		{"count without a known limit", policy.Policy{}, nil, 10, time.Minute, Limiter{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.Defaults = tt.policy })
			ctx := t.Context()
			q := r.create("q")
			if tt.meta != nil {
				r.ok(r.redis.HSet(ctx, q.Meta(), tt.meta...).Err())
			}
			if tt.value != nil {
				r.ok(r.redis.Set(ctx, q.Limiter(), tt.value, tt.ttl).Err())
			}
			got := r.one(r.look(), "q").Limiter
			require.InDelta(t, tt.want.TTL.Seconds(), got.TTL.Seconds(), 2)
			require.LessOrEqual(t, got.TTL, tt.want.TTL)
			got.TTL = tt.want.TTL
			require.Equal(t, tt.want, got)
		})
	}
}

func TestOddNames(t *testing.T) {
	r := newRig(t, nil)
	names := []string{"a/b", "mit leer", "é→😀", `q"uo\te`, "{tag}", "*", "[x]", "%41", "a\nb", "-", "meta"}
	for _, name := range names {
		q := r.create(name)
		r.ok(r.redis.LPush(t.Context(), q.Wait(), "1").Err())
	}
	s := r.look()
	require.Len(t, s.Queues, len(names))
	for _, name := range names {
		require.EqualValues(t, 1, r.one(s, name).Counts[keys.Waiting], name)
	}
	for i := 1; i < len(s.Queues); i++ {
		require.Less(t, s.Queues[i-1].Name, s.Queues[i].Name, "sorted")
	}
}

func TestAQueueWithAWrongKeyDoesNotSpoilTheOthers(t *testing.T) {
	r := newRig(t, nil)
	bad, good := r.create("bad"), r.create("good")
	r.ok(r.redis.HSet(t.Context(), bad.Wait(), "name", "a job with the id wait").Err())
	r.ok(r.redis.LPush(t.Context(), good.Wait(), "1").Err())
	s := r.look()
	q := r.one(s, "bad")
	require.Nil(t, q.Counts)
	require.Equal(t, UnknownHealth, q.Health)
	require.Equal(t, "Cannot be read: the key "+bad.Wait()+" holds something else, perhaps a job with that id", q.Reason)
	require.EqualValues(t, 1, r.one(s, "good").Counts[keys.Waiting])

	r.ok(r.redis.Del(t.Context(), bad.Wait()).Err())
	require.NotNil(t, r.one(r.read(time.Second), "bad").Counts, "it heals")
}

func TestWorkersAndCeiling(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Declared = map[keys.Queue]policy.Policy{{Prefix: o.Prefixes[0], Name: "declared"}: {WorkerConcurrency: 8}}
	})
	ctx := t.Context()
	declared, found := r.create("declared"), r.create("found")
	connect := func(q keys.Queue, suffix string, db int) {
		o := srv.Options()
		o.ClientName, o.DB, o.PoolSize = q.Prefix+":"+b64(q.Name)+suffix, db, 1
		c := redis.NewClient(o)
		t.Cleanup(func() { _ = c.Close() })
		r.ok(c.Ping(ctx).Err())
	}
	connect(declared, "", 0)
	connect(declared, ":w:node-1", 0)
	connect(declared, ":w:elsewhere", 1)
	connect(declared, ":qe", 0)
	connect(found, ":w:bp", 0)
	r.ok(presence.Announce(ctx, r.redis, []presence.Entry{{Queue: found, Worker: presence.Worker{
		ID: "x", Host: "h", Process: 7, Name: "bp", Concurrency: 4, Version: "0.4.0", Policy: "abc",
	}}}))

	s := r.look()
	require.Empty(t, s.WorkersErr)
	q := r.one(s, "declared")
	require.True(t, q.WorkersKnown)
	require.EqualValues(t, 2, q.Workers)
	require.EqualValues(t, 16, q.Ceiling)
	require.Equal(t, "declared", q.CeilingSource)

	q = r.one(s, "found")
	require.EqualValues(t, 1, q.Workers)
	require.EqualValues(t, 1, q.BullpenWorkers)
	require.EqualValues(t, 4, q.Ceiling)
	require.Equal(t, "workers", q.CeilingSource)
	require.Len(t, s.Workers, 3)
	require.Equal(t, Worker{
		Queue: found, Name: "bp", Addr: s.Workers[2].Addr, Bullpen: true, Host: "h", PID: 7, Concurrency: 4, Version: "0.4.0",
		PolicyHash: "abc", AnnouncedLast: s.Workers[2].AnnouncedLast,
	}, s.Workers[2])
	require.WithinDuration(t, time.Now(), s.Workers[2].AnnouncedLast, 5*time.Second)

	r.ok(r.redis.HSet(ctx, found.Meta(), "concurrency", 3).Err())
	q = r.one(r.read(time.Second), "found")
	require.EqualValues(t, 3, q.Ceiling)
	require.Equal(t, "global", q.CeilingSource)
}

func TestTheListOfClientsIsAskedForAtMostEveryTenSeconds(t *testing.T) {
	own := startRedis(t)
	r := rigOn(t, own, nil)
	for range 50 {
		r.read(time.Second)
	}
	stats := own.Info(t.Context(), "commandstats").Val()
	require.Contains(t, stats, "cmdstat_client|list:calls=5,")
	require.Contains(t, stats, "cmdstat_info:calls=10,")
}

func TestRatesAndHistoryWithoutFollowers(t *testing.T) {
	r := newRig(t, nil)
	ctx := t.Context()
	metrics, sets := r.create("metrics"), r.create("sets")
	r.now = r.now.Truncate(time.Minute)
	r.ok(r.redis.HSet(ctx, metrics.MetricsCompleted(), "count", 1000).Err())
	r.look()
	var s *Snapshot
	for i := range 130 {
		r.ok(r.redis.IncrBy(ctx, metrics.ID(), 5).Err())
		r.ok(r.redis.HIncrBy(ctx, metrics.MetricsCompleted(), "count", 2).Err())
		r.ok(r.redis.HIncrBy(ctx, metrics.MetricsFailed(), "count", 1).Err())
		r.ok(r.redis.ZAdd(ctx, sets.Completed(), redis.Z{Score: float64(i), Member: i}).Err())
		s = r.read(time.Second)
	}
	q := r.one(s, "metrics")
	require.True(t, q.FinishedKnown)
	require.False(t, q.TotalsKnown)
	require.InDelta(t, 1260, q.Completed, 10)
	require.InDelta(t, 130, q.FailedForGood, 5)
	require.InDelta(t, 5, q.Rate.Added, 0.01)
	require.InDelta(t, 2, q.Rate.Completed, 0.2)
	require.InDelta(t, 1, q.Rate.Failed, 0.1)
	require.InDelta(t, 1.0/3, q.Rate.FailingShare, 0.02)
	require.Len(t, q.History, 2)
	require.Equal(t, r.now.Add(-130*time.Second), q.History[0].Start)
	require.InDelta(t, 300, q.History[1].Added, 5)
	require.InDelta(t, 120, q.History[1].Completed, 10)
	require.Equal(t, Watch, q.Health, "a third fails, a tenth is tolerated")
	require.Equal(t, "failing", q.Field)

	q = r.one(s, "sets")
	require.False(t, q.FinishedKnown)
	require.InDelta(t, 1, q.Rate.Completed, 0.1)
}

func TestHistoryComesBackFromBullMQsMetrics(t *testing.T) {
	r := newRig(t, nil)
	ctx := t.Context()
	q := r.create("q")
	r.now = time.Now().Truncate(time.Minute).Add(20 * time.Second)
	last := r.now.Add(-2 * time.Minute)
	r.ok(r.redis.HSet(ctx, q.MetricsCompleted(), "count", 25, "prevTS", last.UnixMilli(), "prevCount", 21).Err())
	r.ok(r.redis.RPush(ctx, q.MetricsCompleted()+":data", 3, 0, 7).Err())
	r.ok(r.redis.HSet(ctx, q.MetricsFailed(), "count", 1, "prevTS", last.Add(-time.Minute).UnixMilli(), "prevCount", 0).Err())
	h := r.one(r.look(), "q").History
	at := func(ago int) Minute {
		return Minute{Start: r.now.Truncate(time.Minute).Add(-time.Duration(ago) * time.Minute), Busy: -1}
	}
	want := []Minute{at(5), at(4), at(3), at(2), at(1)}
	want[0].Completed, want[2].Completed, want[2].Failed, want[3].Completed = 7, 3, 1, 4
	require.Equal(t, want, h)

	// The first minute that is watched follows, without a gap.
	r.read(30 * time.Second)
	h = r.one(r.read(30*time.Second), "q").History
	require.Len(t, h, 6)
	require.EqualValues(t, 2, h[5].Reads)
}

func TestNothingIsWritten(t *testing.T) {
	own := startRedis(t)
	r := rigOn(t, own, nil)
	ctx := t.Context()
	q := r.create("q")
	r.job(q, "1", time.Hour, nil)
	r.ok(own.RPush(ctx, q.Wait(), "1", "0:0").Err())
	r.ok(own.LPush(ctx, r.queue("bull").Wait(), "1").Err())
	r.ok(own.Set(ctx, r.queue("bull").ID(), "1", 0).Err())
	changes := func() int64 { return parseInfo(own.Info(ctx, "persistence").Val()).int("rdb_changes_since_last_save") }
	before := changes()
	require.Positive(t, before)
	for range 12 {
		r.look()
		r.now = r.now.Add(time.Second)
	}
	require.Equal(t, before, changes())
	require.Equal(t, []string{"1", "0:0"}, own.LRange(ctx, q.Wait(), 0, -1).Val())
}

func TestQuietQueuesAreReadLessOften(t *testing.T) {
	own := startRedis(t)
	r := rigOn(t, own, nil)
	r.rhythm.quietAbove = 10
	ctx := t.Context()
	for i := range 20 {
		r.create(fmt.Sprint("q", i))
	}
	r.ok(own.LPush(ctx, r.queue("q7").Wait(), "1").Err())
	r.look()
	r.read(2 * time.Minute)
	calls := func() int64 {
		var n int64
		_, err := fmt.Sscanf(parseInfo(own.Info(ctx, "commandstats").Val())["cmdstat_hmget"], "calls=%d,", &n)
		r.ok(err)
		return n
	}
	before := calls()
	for range 50 {
		r.read(time.Second)
	}
	// 19 quiet queues are read in every fifth pass; q7 in each, and in every fifth its oldest job.
	require.EqualValues(t, 19*10+50+10, calls()-before)

	r.ok(own.LPush(ctx, r.queue("q3").Wait(), "1").Err())
	s, err := r.collect(ctx, true)
	r.ok(err)
	require.EqualValues(t, 1, r.one(s, "q3").Counts[keys.Waiting], "a wanted pass reads all")
}

// startRedis is a server of this test alone, for tests that look at its statistics or stop it.
func startRedis(t *testing.T) *redis.Client {
	t.Helper()
	return testredis.Start(t).Client(t)
}

// deaf fails INFO as a server does that is gone.
type deaf struct{}

func (deaf) DialHook(next redis.DialHook) redis.DialHook { return next }

func (deaf) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (deaf) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "info" {
			cmd.SetErr(io.ErrUnexpectedEOF)
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

// TestNoPassWithoutInfo keeps every pass from succeeding with old figures once INFO, which is read every few passes, has
// failed. On a Cluster a master may be gone that has no queue.
func TestNoPassWithoutInfo(t *testing.T) {
	t.Parallel()
	c := srv.Client(t)
	r := rigOn(t, c, nil)
	r.read(0)
	c.AddHook(deaf{})
	failed := 0
	for range 3 * r.rhythm.ages {
		if _, err := r.collect(t.Context(), false); err != nil {
			failed++
		} else {
			require.Zero(t, failed, "a pass succeeds after one that could not read INFO")
		}
	}
	require.Positive(t, failed)
}

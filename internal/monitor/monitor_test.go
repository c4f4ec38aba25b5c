package monitor

import (
	"context"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// started runs a monitor until the test ends.
func started(t *testing.T, o Options) *Monitor {
	t.Helper()
	if o.Tick == 0 {
		o.Tick = 10 * time.Millisecond
	}
	m, err := New(o)
	require.NoError(t, err)
	require.NoError(t, m.Start(t.Context()))
	t.Cleanup(m.Stop)
	return m
}

// until waits for a snapshot that satisfies ok.
func until(t *testing.T, m *Monitor, what string, ok func(*Snapshot) bool) *Snapshot {
	t.Helper()
	ch, cancel := m.Subscribe()
	defer cancel()
	deadline := time.After(15 * time.Second)
	for s := m.Snapshot(); ; {
		if ok(s) {
			return s
		}
		select {
		case s = <-ch:
		case <-deadline:
			t.Fatalf("timed out waiting until %s; last error: %v", what, s.Err)
		}
	}
}

func TestNewValidates(t *testing.T) {
	c := srv.Client(t)
	ring := redis.NewRing(&redis.RingOptions{})
	t.Cleanup(func() { _ = ring.Close() })
	for want, o := range map[string]Options{
		"Client is required":    {},
		"Client is a *redis":    {Client: ring},
		"Prefixes has an empty": {Client: c, Prefixes: []string{"bull", ""}},
		"Tick is negative":      {Client: c, Tick: -1},
		"MaxQueues is negative": {Client: c, MaxQueues: -1},
	} {
		_, err := New(o)
		require.ErrorContains(t, err, want)
	}
}

func TestBeforeTheFirstPass(t *testing.T) {
	q := keys.Queue{Prefix: "bull", Name: "email"}
	m, err := New(Options{Client: srv.Client(t), Alias: "prod", Declared: map[keys.Queue]policy.Policy{q: {Attempts: 3}}})
	require.NoError(t, err)
	t.Cleanup(m.Stop)
	s := m.Snapshot()
	require.Equal(t, "prod", s.Redis.Alias)
	require.False(t, s.Redis.Up)
	require.Len(t, s.Queues, 1)
	require.True(t, s.Queues[0].Declared)
	require.Equal(t, UnknownHealth, s.Queues[0].Health)
	require.Equal(t, 3, m.Policy(q).Attempts)
	require.InDelta(t, 0.001, m.Policy(q).FailedBudget, 1e-9, "with defaults")
	require.InDelta(t, 0.01, m.Policy(keys.Queue{Name: "other"}).FailedBudget, 1e-9)
}

func TestLoopFindsCountsAndStops(t *testing.T) {
	c, prefix := srv.Client(t), srv.Prefix()
	q := keys.Queue{Prefix: prefix, Name: "email"}
	m := started(t, Options{Client: c, Prefixes: []string{prefix}})
	require.Error(t, m.Start(t.Context()), "twice")
	until(t, m, "Redis is read", func(s *Snapshot) bool { return s.Redis.Known })

	ctx := t.Context()
	require.NoError(t, c.HSet(ctx, q.Meta(), "version", "bullmq:6.7.0").Err())
	require.NoError(t, c.LPush(ctx, q.Wait(), "1").Err())
	s := until(t, m, "the queue is found", func(s *Snapshot) bool {
		q := s.Queue(prefix, "email")
		return q != nil && q.Counts[keys.Waiting] == 1
	})
	require.Equal(t, "7.0.15", s.Redis.Version)
	require.Positive(t, s.Redis.Latency)
	require.Less(t, s.Redis.ClockOffset.Abs(), time.Second)
	require.Less(t, s.Age(time.Now()), 5*time.Second)
	require.Positive(t, s.Took)
	until(t, m, "all parts succeed", func(s *Snapshot) bool {
		names := map[string]bool{}
		for _, p := range s.Parts {
			names[p.Name] = p.Err == nil && !p.LastSuccess.IsZero()
		}
		return names["counts"] && names["info"] && names["clients"] && names["discovery"] && names["events"]
	})
	m.Stop()
	m.Stop()
	at := m.Snapshot().At
	m.Refresh()
	require.Equal(t, at, m.Snapshot().At)
}

func TestRefreshAndNoteQueueWakeTheLoop(t *testing.T) {
	c, prefix := srv.Client(t), srv.Prefix()
	m := started(t, Options{Client: c, Prefixes: []string{prefix}, Tick: time.Hour})
	until(t, m, "the first pass", func(s *Snapshot) bool { return s.Redis.Up })
	q := keys.Queue{Prefix: prefix, Name: "email"}
	require.NoError(t, c.LPush(t.Context(), q.Wait(), "1").Err())
	m.NoteQueue(q)
	until(t, m, "the noted queue is read", func(s *Snapshot) bool { return len(s.Queues) == 1 && s.Queues[0].Counts[keys.Waiting] == 1 })
	require.NoError(t, c.LPush(t.Context(), q.Wait(), "2").Err())
	m.Refresh()
	until(t, m, "the change is read", func(s *Snapshot) bool { return s.Queues[0].Counts[keys.Waiting] == 2 })
}

func TestRedisGoesAndComesBack(t *testing.T) {
	own := testredis.Start(t)
	o := own.Options()
	o.MaxRetries, o.DialTimeout = -1, time.Second
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	q := keys.Queue{Prefix: "bull", Name: "email"}
	require.NoError(t, c.HSet(t.Context(), q.Meta(), "version", "bullmq:6.7.0").Err())
	require.NoError(t, c.LPush(t.Context(), q.Wait(), "1").Err())
	m := started(t, Options{Client: c})
	counted := func(s *Snapshot) bool {
		return s.Err == nil && len(s.Queues) == 1 && s.Queues[0].Counts[keys.Waiting] == 1
	}
	before := until(t, m, "the queue is read", counted)

	own.Kill()
	down := until(t, m, "the failure shows", func(s *Snapshot) bool { return s.Err != nil })
	require.False(t, down.Redis.Up)
	require.False(t, down.At.Before(before.At))
	require.EqualValues(t, 1, down.Queues[0].Counts[keys.Waiting], "old figures stay")
	for _, p := range down.Parts {
		if p.Name == "counts" {
			require.Error(t, p.Err)
			require.False(t, p.LastSuccess.IsZero())
		}
	}
	later := until(t, m, "it is still down", func(s *Snapshot) bool { return s != down && s.Err != nil })
	require.Equal(t, down.At, later.At, "figures keep their age")

	own.Restart(t)
	up := until(t, m, "figures are fresh", func(s *Snapshot) bool { return counted(s) && s.Redis.Up })
	require.True(t, up.At.After(down.At))
}

func TestStartsWithoutRedis(t *testing.T) {
	own := testredis.Start(t)
	own.Kill()
	m := started(t, Options{Client: own.Client(t)})
	until(t, m, "the failure shows", func(s *Snapshot) bool { return s.Err != nil && !s.Redis.Up })
	own.Restart(t)
	until(t, m, "Redis is read", func(s *Snapshot) bool { return s.Err == nil && s.Redis.Known })
}

func TestTotalsOfTheFollowersReachTheSnapshot(t *testing.T) {
	c, prefix := srv.Client(t), srv.Prefix()
	ctx := t.Context()
	q := keys.Queue{Prefix: prefix, Name: "email"}
	require.NoError(t, c.HSet(ctx, q.Meta(), "version", "bullmq:6.7.0").Err())
	m := started(t, Options{Client: c, Prefixes: []string{prefix}})
	until(t, m, "the stream is followed", func(s *Snapshot) bool {
		return len(s.Queues) == 1 && s.Queues[0].Follower.Reading && s.Queues[0].TotalsKnown
	})
	for _, event := range [][]string{
		{"event", "added", "jobId", "1", "name", "n"},
		{"event", "waiting", "jobId", "1"},
		{"event", "active", "jobId", "1", "prev", "waiting"},
		{"event", "completed", "jobId", "1", "returnvalue", "null", "prev", "active"},
	} {
		require.NoError(t, c.XAdd(ctx, &redis.XAddArgs{Stream: q.Events(), Values: event}).Err())
	}
	s := until(t, m, "the job is counted", func(s *Snapshot) bool { return s.Queues[0].Totals.Completed == 1 })
	require.EqualValues(t, 1, s.Queues[0].Totals.Started)
	require.EqualValues(t, 1, s.Queues[0].Completed)
	require.True(t, s.Queues[0].FinishedKnown)
}

func TestSlowSubscribersDoNotHoldTheLoop(t *testing.T) {
	m := started(t, Options{Client: srv.Client(t), Prefixes: []string{srv.Prefix()}})
	slow, cancel := m.Subscribe()
	seen := m.Snapshot().At
	for range 20 {
		seen = until(t, m, "another pass", func(s *Snapshot) bool { return s.At.After(seen) }).At
	}
	first := <-slow
	require.False(t, first.At.Before(seen), "a slow reader gets the newest")
	cancel()
	cancel()
	until(t, m, "another pass", func(s *Snapshot) bool { return s.At.After(first.At) })
}

func TestPassesStretchWhenRedisIsBusy(t *testing.T) {
	m := &Monitor{o: Options{Tick: time.Second}, collector: &collector{}}
	ctx := context.Background()
	now := time.Now()
	m.collector.wire.busy = 10 * time.Millisecond
	require.InDelta(t, 1, m.rest(ctx, now.Add(-50*time.Millisecond), 0).Seconds()+0.05, 0.3, "a tick from start to start")
	m.collector.wire.busy = 200 * time.Millisecond
	require.InDelta(t, 4, m.rest(ctx, time.Now().Add(-time.Second), 0).Seconds()+1, 0.3, "a twentieth of Redis's time")
	m.collector.wire.busy = 0
	require.Zero(t, m.rest(ctx, time.Now().Add(-time.Minute), 0), "a slow pass is followed at once")
	for failures := 1; failures < 100; failures++ {
		d := m.rest(ctx, now, failures)
		require.LessOrEqual(t, d, retryMost)
		require.GreaterOrEqual(t, d, 500*time.Millisecond)
	}
}

func TestRestrictedUser(t *testing.T) {
	own := testredis.Start(t)
	admin := own.Client(t)
	ctx := t.Context()
	q := keys.Queue{Prefix: "bull", Name: "email"}
	require.NoError(t, admin.LPush(ctx, q.Wait(), "1").Err())
	login := func(rules ...string) *redis.Client {
		args := []any{"ACL", "SETUSER", "reader", "reset", "on", ">secret"}
		for _, r := range rules {
			args = append(args, r)
		}
		require.NoError(t, admin.Do(ctx, args...).Err())
		o := own.Options()
		o.Username, o.Password = "reader", "secret"
		c := redis.NewClient(o)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	declared := map[keys.Queue]policy.Policy{q: {}}

	t.Run("no CLIENT, INFO, CONFIG, SCAN, TIME", func(t *testing.T) {
		c := login("~bull:*", "~bullpen:*", "+@read", "+ping", "+hello", "-scan")
		m := started(t, Options{Client: c, Declared: declared, ReadOnly: true})
		s := until(t, m, "the queue is read", func(s *Snapshot) bool { return len(s.Queues) == 1 && s.Queues[0].Counts != nil && s.DiscoveryErr != "" })
		require.NoError(t, s.Err)
		require.True(t, s.Redis.Up)
		require.False(t, s.Redis.Known)
		require.Equal(t, "this user may not run INFO: grant it +info", s.Redis.Err)
		require.Equal(t, "this user may not run CLIENT LIST: grant it +client|list", s.WorkersErr)
		require.Equal(t, "this user may not run SCAN: grant it +scan", s.DiscoveryErr)
		got := s.Queues[0]
		require.EqualValues(t, 1, got.Counts[keys.Waiting])
		require.False(t, got.WorkersKnown)
		require.False(t, got.CeilingKnown)
	})
	t.Run("not even the keys", func(t *testing.T) {
		c := login("~other:*", "+@read", "+ping", "+hello", "+info")
		m := started(t, Options{Client: c, Declared: declared, ReadOnly: true})
		s := until(t, m, "the refusal shows", func(s *Snapshot) bool { return s.Queues[0].Unreadable != "" })
		require.NoError(t, s.Err)
		require.True(t, s.Redis.Known)
		require.Empty(t, s.Redis.AppendFsync, "CONFIG is refused")
		require.Nil(t, s.Queues[0].Counts)
		require.Equal(t, "Cannot be read: this user may not run LLEN on bull:email:wait", s.Queues[0].Reason)
	})
}

func TestRefusedWritesShowOnEveryQueue(t *testing.T) {
	own := testredis.Start(t)
	c := own.Client(t)
	q := keys.Queue{Prefix: "bull", Name: "email"}
	require.NoError(t, c.HSet(t.Context(), q.Meta(), "version", "bullmq:6.7.0").Err())
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
	m := started(t, Options{Client: c})
	s := until(t, m, "the verdict", func(s *Snapshot) bool { return len(s.Queues) == 1 && s.Queues[0].Health == NeedsAttention })
	require.Equal(t, "Redis refuses writes: out of memory", s.Queues[0].Reason)
	require.Equal(t, "out of memory", s.Redis.Refusing)
}

func TestInProcessStore(t *testing.T) {
	c := testredis.Memory(t)
	ctx := t.Context()
	q := keys.Queue{Prefix: "bull", Name: "email"}
	require.NoError(t, c.HSet(ctx, q.Meta(), "version", "bullmq:6.7.0", "paused", "1").Err())
	require.NoError(t, c.LPush(ctx, q.Wait(), "1", "2").Err())
	require.NoError(t, c.HSet(ctx, q.Job("1"), "timestamp", time.Now().Add(-time.Minute).UnixMilli(), "opts", "{}").Err())
	due := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	require.NoError(t, c.ZAdd(ctx, q.Delayed(), redis.Z{Score: float64(due.UnixMilli() * 4096), Member: "3"}).Err())
	require.NoError(t, c.Set(ctx, q.Limiter(), manualLimit, time.Minute).Err())
	m := started(t, Options{Client: c, Embedded: true})
	s := until(t, m, "the queue is read", func(s *Snapshot) bool { return len(s.Queues) == 1 && s.Queues[0].Counts != nil })
	require.True(t, s.Redis.Embedded)
	require.True(t, s.Redis.Up)
	require.False(t, s.Redis.Known)
	require.Empty(t, s.WorkersErr)
	got := s.Queues[0]
	require.EqualValues(t, 2, got.Counts[keys.Waiting])
	require.EqualValues(t, 1, got.Overdue)
	require.Equal(t, due.UnixMilli(), got.NextDue.UnixMilli())
	require.InDelta(t, 60, got.OldestWait.Seconds(), 5)
	require.True(t, got.Paused && got.Limiter.Manual)
	require.True(t, got.WorkersKnown, "nobody else can be connected")
	require.True(t, got.CeilingKnown)
	require.Zero(t, got.Ceiling)
}

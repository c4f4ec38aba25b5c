package monitor

import (
	"fmt"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func names(s *Snapshot) []string {
	list := []string{}
	for _, q := range s.Queues {
		list = append(list, q.Qualified())
	}
	return list
}

func TestDiscovery(t *testing.T) {
	r := newRig(t, nil)
	ctx := t.Context()
	c := r.redis
	set := func(q keys.Queue, suffix string) { r.ok(c.Set(ctx, q.Key(suffix), "1", 0).Err()) }

	r.create("bullmq")
	rust := r.queue("rust")
	r.ok(c.HSet(ctx, rust.Meta(), "library", "bullmq-official:1.0.0").Err())
	limited := r.queue("limited")
	r.ok(c.HSet(ctx, limited.Meta(), "concurrency", "3").Err())
	flows := r.queue("no-meta")
	set(flows, "id")
	r.ok(c.XAdd(ctx, &redis.XAddArgs{Stream: flows.Events(), Values: []any{"event", "added"}}).Err())

	bull3 := r.queue("bull3")
	set(bull3, "id")
	r.ok(c.ZAdd(ctx, bull3.Completed(), redis.Z{Score: 1, Member: "1"}).Err())
	bull4 := r.queue("bull4")
	set(bull4, "id")
	r.ok(c.HSet(ctx, bull4.Meta(), "paused", "1").Err())
	r.ok(c.LPush(ctx, bull4.Paused(), "1").Err())

	// What only looks like a queue.
	set(r.queue("string"), "meta")
	r.ok(c.HSet(ctx, r.queue("job").Meta(), "name", "a job with the id meta").Err())
	set(r.queue("bare"), "id")
	r.ok(c.HSet(ctx, r.prefix+":a:b:meta", "version", "bullmq:6.7.0").Err())
	r.ok(c.HSet(ctx, r.prefix+"::meta", "version", "bullmq:6.7.0").Err())
	r.ok(c.HSet(ctx, r.prefix+"x:other:meta", "version", "bullmq:6.7.0").Err())

	s := r.look()
	p := r.prefix + ":"
	require.Equal(t, []string{p + "bull3", p + "bull4", p + "bullmq", p + "limited", p + "no-meta", p + "rust"}, names(s))
	for _, q := range s.Queues {
		require.Equal(t, q.Queue == bull3 || q.Queue == bull4, q.Legacy, q.Name)
		require.True(t, q.Discovered)
	}
	require.True(t, r.one(s, "bull4").Paused)
	require.EqualValues(t, 1, r.one(s, "bull4").Counts[keys.Waiting])
	require.Equal(t, "Left by Bull 3 or 4, shown only", r.one(r.read(10*time.Minute), "bull3").Reason)
}

func TestTwoPrefixes(t *testing.T) {
	one, two := srv.Prefix(), srv.Prefix()+":deep"
	r := newRig(t, func(o *Options) { o.Prefixes = []string{one, two} })
	for _, prefix := range []string{one, two, srv.Prefix()} {
		r.prefix = prefix
		r.create("email")
	}
	s := r.look()
	require.Equal(t, []string{one + ":email", two + ":email"}, names(s))
	require.Equal(t, two, s.Queue(two, "email").Prefix)
	require.Nil(t, s.Queue("other", "email"))
}

func TestPrefixWithPatternCharacters(t *testing.T) {
	r := newRig(t, nil)
	r.prefix = srv.Prefix() + `[a*?\`
	r.search.prefixes, r.collector.o.Prefixes = []string{r.prefix}, []string{r.prefix}
	r.finds.allowed = func(keys.Queue) bool { return true }
	r.create("q")
	require.Equal(t, []string{r.prefix + ":q"}, names(r.look()))
}

func TestIncludeExcludeAndDeclared(t *testing.T) {
	var declared keys.Queue
	r := newRig(t, func(o *Options) {
		declared = keys.Queue{Prefix: o.Prefixes[0], Name: "excluded-but-declared"}
		o.Declared = map[keys.Queue]policy.Policy{declared: {Attempts: 5, DeadLetter: "mail-dlq"}}
		o.Include, o.Exclude = []string{"mail*", "excluded*"}, []string{"*-tmp", "excluded*"}
	})
	for _, name := range []string{"mail", "mail-tmp", "other", "excluded", "mail-dlq"} {
		r.create(name)
	}
	s := r.look()
	p := r.prefix + ":"
	require.Equal(t, []string{p + "excluded-but-declared", p + "mail", p + "mail-dlq"}, names(s))
	q := s.Queues[0]
	require.True(t, q.Declared)
	require.False(t, q.Discovered, "it has no keys yet")
	require.Equal(t, 5, r.policies.of(declared).Attempts)
	require.True(t, r.one(s, "mail-dlq").DeadLetter)
	require.False(t, r.one(s, "mail").DeadLetter)
}

func TestAtMostSoManyQueues(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxQueues = 3 })
	for i := range 5 {
		r.create(fmt.Sprint("q", i))
	}
	s := r.look()
	require.Equal(t, 2, s.Dropped)
	kept := names(s)
	require.Len(t, kept, 3)

	s = r.look()
	require.Equal(t, kept, names(s), "those kept stay")
	require.Equal(t, 2, s.Dropped)

	r.ok(r.redis.Del(t.Context(), s.Queues[0].Meta()).Err())
	r.read(time.Minute)
	s = r.look()
	require.Len(t, s.Queues, 3, "one that was left out takes the place")
	require.Equal(t, 1, s.Dropped)
	r.ok(r.redis.Del(t.Context(), r.queue("q0").Meta(), r.queue("q1").Meta(), r.queue("q2").Meta(), r.queue("q3").Meta(), r.queue("q4").Meta()).Err())
	r.read(time.Minute)
	s = r.look()
	require.Empty(t, s.Queues)
	require.Zero(t, s.Dropped)
}

func TestAQueueLeavesWithItsKeys(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Declared = map[keys.Queue]policy.Policy{{Prefix: o.Prefixes[0], Name: "declared"}: {}}
	})
	ctx := t.Context()
	found, declared := r.create("found"), r.create("declared")
	r.ok(r.redis.ZAdd(ctx, found.Failed(), redis.Z{Score: 1, Member: "1"}).Err())
	require.Len(t, r.look().Queues, 2)

	r.ok(r.redis.Del(ctx, found.Meta(), declared.Meta()).Err())
	s := r.read(time.Minute)
	require.Len(t, s.Queues, 2, "a failed job is left")
	require.False(t, r.one(s, "declared").Discovered)
	r.ok(r.redis.Del(ctx, found.Failed()).Err())
	s = r.read(time.Second)
	require.Equal(t, []string{declared.Qualified()}, names(s))
}

func TestNotedQueueIsShownAtOnceAndLeavesIfNothingComes(t *testing.T) {
	r := newRig(t, nil)
	r.finds.offer(find{queue: r.queue("new")}, find{queue: keys.Queue{Prefix: "foreign", Name: "q"}}, find{queue: r.queue("a:b")})
	s := r.read(0)
	require.Equal(t, []string{r.queue("new").Qualified()}, names(s))
	require.False(t, s.Queues[0].Discovered)
	require.Len(t, r.read(9*time.Second).Queues, 1)
	require.Empty(t, r.read(2*time.Second).Queues)

	r.finds.offer(find{queue: r.queue("new")})
	r.create("new")
	require.True(t, r.read(time.Second).Queues[0].Discovered)
	require.Len(t, r.read(time.Hour).Queues, 1)
}

func TestAWorkersQueueIsFoundThroughItsConnection(t *testing.T) {
	r := newRig(t, nil)
	q := r.create("q")
	o := srv.Options()
	o.ClientName = q.Prefix + ":" + b64(q.Name)
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	r.ok(c.Ping(t.Context()).Err())
	r.read(0) // lists the clients
	s := r.read(time.Second)
	require.Equal(t, []string{q.Qualified()}, names(s))
	require.EqualValues(t, 1, r.one(r.read(10*time.Second), "q").Workers)
}

package livepolicy_test

import (
	"context"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var server *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &server)) }

func ptr[T any](v T) *T { return &v }

// bench is a store with one queue of its own.
type bench struct {
	*livepolicy.Store
	t      *testing.T
	client *redis.Client
	q      keys.Queue
	queue  *engine.Queue
	file   policy.Policy
	now    time.Time
}

// newBench makes a store that knows a queue by a file that says a little.
func newBench(t *testing.T, two bool) *bench {
	t.Helper()
	b := &bench{
		t: t, client: server.Client(t), q: keys.Queue{Prefix: server.Prefix(), Name: "hooks"},
		file: policy.Policy{Concurrency: 4, Attempts: 3}, now: time.UnixMilli(1_764_500_000_000),
	}
	open := b.openOn(b.client)
	var err error
	b.queue, err = open(b.q)
	require.NoError(t, err)
	b.Store, err = livepolicy.New(livepolicy.Options{
		Client: b.client, File: func(keys.Queue) (policy.Policy, string) { return b.file, "bullpen.yaml" }, Queue: open, TwoPeople: two,
		Clock: func() time.Time { return b.now },
	})
	require.NoError(t, err)
	return b
}

func (b *bench) openOn(c redis.UniversalClient) func(keys.Queue) (*engine.Queue, error) {
	return func(q keys.Queue) (*engine.Queue, error) {
		return engine.NewQueue(engine.QueueOptions{Client: c, Prefix: q.Prefix, Name: q.Name})
	}
}

// change proposes and approves.
func (b *bench) change(v livepolicy.Values) *livepolicy.Record {
	b.t.Helper()
	p, err := b.Propose(b.t.Context(), b.q, livepolicy.Change{By: "ada", Why: "load", Values: v})
	require.NoError(b.t, err)
	return b.approve(p)
}

func (b *bench) approve(p *livepolicy.Proposal) *livepolicy.Record {
	b.t.Helper()
	r, err := b.Approve(b.t.Context(), b.q, p.Number, "bob")
	require.NoError(b.t, err)
	return r
}

// back rolls back to a revision.
func (b *bench) back(revision int64) *livepolicy.Record {
	b.t.Helper()
	p, err := b.Rollback(b.t.Context(), b.q, "ada", "worse", revision)
	require.NoError(b.t, err)
	return b.approve(p)
}

func (b *bench) meta() map[string]string {
	b.t.Helper()
	m, err := b.client.HGetAll(b.t.Context(), b.q.Meta()).Result()
	require.NoError(b.t, err)
	return m
}

func (b *bench) paused() bool {
	b.t.Helper()
	is, err := b.queue.IsPaused(b.t.Context())
	require.NoError(b.t, err)
	return is
}

// dump is everything in the bench's part of Redis.
func (b *bench) dump() map[string]string {
	b.t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{b.q.Prefix + ":*", keys.Own + "*:" + b.q.Prefix + ":*", keys.LiveIndex(b.q.Prefix)} {
		for _, k := range b.client.Keys(b.t.Context(), pattern).Val() {
			found[k] = b.client.Dump(b.t.Context(), k).Val()
		}
	}
	return found
}

// eventually waits until ok says so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, time.Minute, 2*time.Millisecond, what)
}

var background = context.Background()

package livepolicy_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"bullpen/internal/livepolicy"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// cluster starts a cluster of one node: transactions are checked for keys of other slots as in a larger one.
func cluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	bus, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := bus.Addr().(*net.TCPAddr).Port
	require.NoError(t, bus.Close())
	srv := testredis.Start(t, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(port))
	node := srv.Client(t)
	require.NoError(t, node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	eventually(t, "the cluster comes up", func() bool { return node.Get(t.Context(), "x").Err() == redis.Nil })
	c := redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: "node"}}}}, nil
		},
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", srv.Socket)
		},
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestOtherStores goes through a change and its rollback on a cluster and on the in-process store.
func TestOtherStores(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) redis.UniversalClient{
		"cluster": func(t *testing.T) redis.UniversalClient { return cluster(t) },
		"memory":  func(t *testing.T) redis.UniversalClient { return testredis.Memory(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t)
			b := newBench(t, false)
			b.q.Prefix = "{tag}"
			var err error
			b.queue, err = b.openOn(c)(b.q)
			require.NoError(t, err)
			b.Store, err = livepolicy.New(livepolicy.Options{Client: c, File: b.File, Queue: b.openOn(c)})
			require.NoError(t, err)
			w, _ := newWatcher(t, c, "{tag}")
			v := livepolicy.Values{GlobalConcurrency: ptr(9), Limiter: &livepolicy.Limiter{Max: 5, Duration: livepolicy.Span(time.Second), Scope: "queue"}}
			p, err := b.Propose(t.Context(), b.q, livepolicy.Change{By: "ada", Why: "x", Values: v, Pause: ptr(true)})
			require.NoError(t, err)
			b.approve(p)
			require.NoError(t, w.Sync(t.Context()))
			require.Equal(t, 9, w.Policy(b.q, b.file).GlobalConcurrency)
			require.Equal(t, "9", c.HGet(t.Context(), b.q.Meta(), "concurrency").Val())
			require.True(t, b.paused())
			require.NoError(t, b.Lifted(t.Context(), b.q))
			b.back(0)
			require.NoError(t, w.Sync(t.Context()))
			require.Equal(t, b.file, w.Policy(b.q, b.file))
			require.Empty(t, c.HGetAll(t.Context(), b.q.Meta()).Val()["concurrency"])
			require.False(t, b.paused())
		})
	}
}

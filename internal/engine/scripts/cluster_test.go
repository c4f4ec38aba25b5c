package scripts_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// cluster starts a cluster of one node: calls are routed by their key, and scripts are checked as in a larger one.
func cluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	bus, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := bus.Addr().(*net.TCPAddr).Port
	require.NoError(t, bus.Close())
	srv := testredis.Start(t, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(port))
	node := srv.Client(t)
	require.NoError(t, node.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	require.Eventually(t, func() bool { return node.Get(t.Context(), "x").Err() == redis.Nil }, wait, poll, "the cluster comes up")
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

func TestSameOnACluster(t *testing.T) {
	t.Parallel()
	single, many := newSpace(t), spaceOn(t, cluster(t), "{tag}")
	story(single)
	story(many)
	many.want(single.dump())
}

package monitor

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// startCluster runs a Cluster of two masters on loopback and returns a client of it.
func startCluster(t *testing.T) *redis.ClusterClient {
	t.Helper()
	return startMasters(t, 2)
}

func startMasters(t *testing.T, masters int) *redis.ClusterClient {
	t.Helper()
	ctx := t.Context()
	var addrs []string
	var nodes []*redis.Client
	for range masters {
		port, bus := freePort(t), freePort(t)
		cmd := exec.Command("redis-server", "--port", port, "--cluster-port", bus, "--bind", "127.0.0.1", "--dir", t.TempDir(),
			"--cluster-enabled", "yes", "--save", "", "--appendonly", "no", "--cluster-node-timeout", "2000")
		require.NoError(t, cmd.Start(), "install it with: apt-get install -y redis-server")
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		addrs = append(addrs, "127.0.0.1:"+port)
		c := redis.NewClient(&redis.Options{Addr: addrs[len(addrs)-1]})
		t.Cleanup(func() { _ = c.Close() })
		require.Eventually(t, func() bool { return c.Ping(ctx).Err() == nil }, 10*time.Second, 5*time.Millisecond)
		nodes = append(nodes, c)
		if len(nodes) == 2 {
			require.NoError(t, nodes[0].Do(ctx, "CLUSTER", "MEET", "127.0.0.1", port, bus).Err())
		}
	}
	const slots = 16384
	for i, c := range nodes {
		require.NoError(t, c.ClusterAddSlotsRange(ctx, slots/masters*i, slots/masters*(i+1)-1).Err())
	}
	for _, c := range nodes {
		require.Eventually(t, func() bool {
			info := c.ClusterInfo(ctx).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprint("cluster_known_nodes:", masters))
		}, 20*time.Second, 20*time.Millisecond)
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { _ = cluster.Close() })
	return cluster
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

func TestCluster(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	// The tags put the prefixes on different masters.
	prefixes := []string{"{a}", "{b}"}
	nodes := map[string]bool{}
	for _, prefix := range prefixes {
		for i := range 3 {
			q := keys.Queue{Prefix: prefix, Name: fmt.Sprint("q", i)}
			require.NoError(t, c.HSet(ctx, q.Meta(), "version", "bullmq:6.7.0").Err())
			require.NoError(t, c.LPush(ctx, q.Wait(), "1").Err())
			require.NoError(t, c.HSet(ctx, q.Job("1"), "timestamp", time.Now().Add(-time.Minute).UnixMilli(), "opts", "{}").Err())
			master, err := c.MasterForKey(ctx, q.Wait())
			require.NoError(t, err)
			nodes[master.Options().Addr] = true
		}
	}
	require.Len(t, nodes, 2)
	worker := keys.Queue{Prefix: "{b}", Name: "q1"}
	master, err := c.MasterForKey(ctx, worker.Marker())
	require.NoError(t, err)
	named := redis.NewClient(&redis.Options{Addr: master.Options().Addr, ClientName: "{b}:" + b64("q1")})
	t.Cleanup(func() { _ = named.Close() })
	require.NoError(t, named.Ping(ctx).Err())

	m := started(t, Options{Client: c, Prefixes: prefixes})
	s := until(t, m, "all queues are read", func(s *Snapshot) bool { return len(s.Queues) == 6 && s.Queues[5].Counts != nil })
	for _, q := range s.Queues {
		require.EqualValues(t, 1, q.Counts[keys.Waiting], q.Qualified())
		require.InDelta(t, 60, q.OldestWait.Seconds(), 10, q.Qualified())
		require.True(t, q.WorkersKnown)
	}
	require.EqualValues(t, 1, s.Queue("{b}", "q1").Workers)
	require.Zero(t, s.Queue("{a}", "q1").Workers)
	require.Len(t, s.Nodes, 2)
	require.Equal(t, "cluster", s.Redis.Mode)
	require.Equal(t, s.Nodes[0].UsedMemory+s.Nodes[1].UsedMemory, s.Redis.UsedMemory)
	require.Less(t, s.Nodes[0].Node, s.Nodes[1].Node)
}

// TestNodes reads what is remembered of each node of a Cluster from one INFO to the next.
func TestNodes(t *testing.T) {
	c := startCluster(t)
	ctx := t.Context()
	r := rigOn(t, c, nil)
	s := r.read(0)
	require.Len(t, s.Nodes, 2)
	started := s.Nodes[0].StartTime
	for _, n := range s.Nodes {
		require.Equal(t, "everysec", n.AppendFsync)
		require.Empty(t, n.Refusing)
	}

	second := redis.NewClient(&redis.Options{Addr: s.Nodes[1].Node})
	t.Cleanup(func() { _ = second.Close() })
	require.NoError(t, second.ConfigSet(ctx, "appendfsync", "no").Err())
	require.NoError(t, second.ConfigSet(ctx, "maxmemory", "1").Err())
	r.rhythm.ages = 1
	// The clock moves by less than the uptime's second, and then so far that the settings are asked for again.
	s = r.read(900 * time.Millisecond)
	require.Equal(t, started, s.Nodes[0].StartTime, "a start does not wobble")
	s = r.read(configEvery)
	require.Equal(t, []string{"everysec", "no"}, []string{s.Nodes[0].AppendFsync, s.Nodes[1].AppendFsync})
	require.Equal(t, []string{"", "out of memory"}, []string{s.Nodes[0].Refusing, s.Nodes[1].Refusing})
	require.Equal(t, "no", s.Redis.AppendFsync, "what is a warning on one node is one for the whole")
	require.Equal(t, "out of memory", s.Redis.Refusing)
}

// TestOneMaster has a Cluster of one node be a Cluster all the same.
func TestOneMaster(t *testing.T) {
	s := rigOn(t, startMasters(t, 1), nil).read(0)
	require.Len(t, s.Nodes, 1)
	require.NotEmpty(t, s.Nodes[0].Node)
	require.Empty(t, s.Redis.Node)
	require.Nil(t, newRig(t, nil).read(0).Nodes)
}

package monitor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const infoText = "# Server\r\nredis_version:7.4.2\r\nredis_mode:standalone\r\nuptime_in_seconds:3600\r\n" +
	"# Clients\r\nconnected_clients:61\r\nblocked_clients:38\r\nmaxclients:10000\r\n" +
	"# Memory\r\nused_memory:6549825126\r\nused_memory_peak:6775000000\r\nmaxmemory:8589934592\r\nmaxmemory_policy:allkeys-lru\r\n" +
	"total_system_memory:25276502016\r\nmem_fragmentation_ratio:1.08\r\n" +
	"# Persistence\r\nloading:0\r\naof_enabled:1\r\naof_last_write_status:ok\r\naof_last_bgrewrite_status:err\r\n" +
	"rdb_last_bgsave_status:ok\r\nrdb_last_save_time:1796058021\r\nrdb_changes_since_last_save:48112\r\n" +
	"# Stats\r\ntotal_commands_processed:123456789\r\ninstantaneous_ops_per_sec:8420\r\nrejected_connections:2\r\nevicted_keys:3\r\n" +
	"# Replication\r\nrole:master\r\n# Errorstats\r\nerrorstat_OOM:count=17\r\nerrorstat_WRONGTYPE:count=1\r\n:odd\r\n"

func TestParseInfo(t *testing.T) {
	t.Parallel()
	got := parseInfo(infoText).redis(noon)
	require.Equal(t, Redis{
		Known: true, Up: true, Version: "7.4.2", Mode: "standalone", Role: "master", MaxMemoryPolicy: "allkeys-lru",
		UsedMemory: 6549825126, PeakMemory: 6775000000, MaxMemory: 8589934592, SystemMemory: 25276502016, Fragmentation: 1.08,
		AOFEnabled: true, AOFLastWriteOK: true, RDBLastSaveOK: true, RDBLastSave: time.Unix(1796058021, 0), RDBChanges: 48112,
		StartTime: noon.Add(-time.Hour), ConnectedClients: 61, BlockedClients: 38, MaxClients: 10000, EvictedKeys: 3,
		RejectedConnections: 2, Commands: 123456789, OpsPerSecond: 8420, Errors: map[string]int64{"OOM": 17, "WRONGTYPE": 1},
	}, got)
}

func TestMergeNodes(t *testing.T) {
	t.Parallel()
	a, b := parseInfo(infoText).redis(noon), parseInfo(infoText).redis(noon)
	a.Node, a.MaxMemoryPolicy, a.StartTime = "a", "noeviction", noon
	b.Node, b.AOFLastWriteOK, b.Fragmentation = "b", false, 1.5
	got := mergeNodes([]Redis{a, b})
	require.Empty(t, got.Node)
	require.EqualValues(t, 2*6549825126, got.UsedMemory)
	require.EqualValues(t, 2*8589934592, got.MaxMemory)
	require.EqualValues(t, 34, got.Errors["OOM"])
	require.Equal(t, "allkeys-lru", got.MaxMemoryPolicy, "the unsafe policy shows")
	require.False(t, got.AOFLastWriteOK)
	require.InDelta(t, 1.5, got.Fragmentation, 1e-9)
	require.Equal(t, noon.Add(-time.Hour), got.StartTime)
	require.EqualValues(t, 17, a.Errors["OOM"], "the nodes' own figures stay")

	for _, fsync := range [][3]string{
		{"always", "everysec", "everysec"}, {"everysec", "no", "no"}, {"no", "", "no"}, {"", "always", ""},
	} {
		a.AppendFsync, b.AppendFsync = fsync[0], fsync[1]
		require.Equal(t, fsync[2], mergeNodes([]Redis{a, b}).AppendFsync, fsync)
		require.Equal(t, fsync[2], mergeNodes([]Redis{b, a}).AppendFsync, fsync)
	}

	b.MaxMemory = 0
	require.Zero(t, mergeNodes([]Redis{a, b}).MaxMemory, "a node without a limit")
	require.Equal(t, Redis{}, mergeNodes(nil))
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	errors := func(code string, n int64) Redis { return Redis{Role: "master", Errors: map[string]int64{code: n}} }
	var r refusals
	require.Empty(t, r.observe(noon, errors("OOM", 17)), "what happened before we looked is history")
	require.Equal(t, "out of memory", r.observe(noon.Add(5*time.Second), errors("OOM", 18)))
	require.Equal(t, "out of memory", r.observe(noon.Add(59*time.Second), errors("OOM", 18)))
	require.Empty(t, r.observe(noon.Add(66*time.Second), errors("OOM", 18)), "over for a minute")
	require.Empty(t, r.observe(noon.Add(70*time.Second), errors("OOM", 0)), "statistics were reset")
	require.Equal(t, "it cannot save its data (MISCONF)", r.observe(noon.Add(75*time.Second), errors("MISCONF", 1)))

	r = refusals{}
	require.Equal(t, "it is a read-only replica", r.observe(noon, Redis{Role: "slave"}))
	r.replicaFine = true
	require.Empty(t, r.observe(noon, Redis{Role: "slave"}), "we only read")
	full := Redis{Role: "master", UsedMemory: 10, MaxMemory: 10, MaxMemoryPolicy: "noeviction"}
	require.Equal(t, "out of memory", r.observe(noon, full))
	full.MaxMemoryPolicy = "allkeys-lru"
	require.Empty(t, r.observe(noon, full), "it evicts instead")
}

func TestLatencies(t *testing.T) {
	t.Parallel()
	var l latencies
	start := noon.Truncate(time.Minute)
	for i := range 60 {
		_, closed := l.observe(start.Add(time.Duration(i)*time.Second), time.Duration(i+1)*time.Millisecond)
		require.False(t, closed)
	}
	p, closed := l.observe(start.Add(time.Minute), time.Millisecond)
	require.True(t, closed)
	require.Equal(t, LatencyPoint{At: start, P50: 31 * time.Millisecond, P99: 60 * time.Millisecond}, p)
}

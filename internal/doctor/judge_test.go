package doctor

import (
	"context"
	"testing"
	"time"

	"bullpen/internal/config"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// healthy is a Redis nobody can complain of.
func healthy() monitor.Redis {
	return monitor.Redis{
		Known: true, Version: "7.0.15", Role: "master", MaxMemoryPolicy: "noeviction", AOFEnabled: true, AOFLastWriteOK: true,
		AppendFsync: "everysec", UsedMemory: 10, MaxMemory: 100,
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*monitor.Redis)
		by     snapshotting
		want   Finding
	}{
		"old": {
			change: func(r *monitor.Redis) { r.Version = "6.0.16" },
			want:   Finding{Warning, "version", "", "6.0.16 is old: BullMQ recommends 6.2 or later"},
		},
		"unknown version": {
			change: func(r *monitor.Redis) { r.Version = "" },
			want:   Finding{Warning, "version", "", `"" is not a version that can be judged`},
		},
		"replica": {
			change: func(r *monitor.Redis) { r.Role = "slave" },
			want:   Finding{Error, "role", "", "this is a slave, which takes no writes; name the master"},
		},
		"refusing": {
			change: func(r *monitor.Redis) { r.Refusing = "out of memory" },
			want:   Finding{Error, "role", "", "Redis refuses writes: out of memory"},
		},
		"evicts jobs": {
			change: func(r *monitor.Redis) { r.MaxMemoryPolicy = "allkeys-lru" },
			want:   Finding{Error, "eviction policy", "", "allkeys-lru: when memory is full, jobs disappear; set maxmemory-policy noeviction"},
		},
		"evicts locks": {
			change: func(r *monitor.Redis) { r.MaxMemoryPolicy = "volatile-ttl" },
			want:   Finding{Error, "eviction policy", "", "volatile-ttl: when memory is full, locks and limiters disappear and jobs run twice; set maxmemory-policy noeviction"},
		},
		"append-only file broken": {
			change: func(r *monitor.Redis) { r.AOFLastWriteOK = false },
			want:   Finding{Error, "persistence", "", "the append-only file could not be written last time"},
		},
		"appendfsync no": {
			change: func(r *monitor.Redis) { r.AppendFsync = "no" },
			want:   Finding{Warning, "persistence", "", "append-only file with appendfsync no: a crash of the machine loses what the system had not written yet"},
		},
		"nothing": {
			change: func(r *monitor.Redis) { r.AOFEnabled = false }, by: snapshotsOff,
			want: Finding{Error, "persistence", "", "neither append-only file nor snapshots: a restart loses every job; set appendonly yes"},
		},
		"snapshots": {
			change: func(r *monitor.Redis) { r.AOFEnabled = false }, by: snapshotsOn,
			want: Finding{Error, "persistence", "", "snapshots only: a crash loses every job that came after the last one; set appendonly yes"},
		},
		"unknown": {
			change: func(r *monitor.Redis) { r.AOFEnabled = false },
			want:   Finding{Warning, "persistence", "", "no append-only file; whether snapshots are made is unknown, because CONFIG is refused"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := healthy()
			tt.change(&r)
			found := server(&monitor.Snapshot{Redis: r}, map[string]snapshotting{"": tt.by})
			require.Contains(t, found, tt.want)
			bad := 0
			for _, f := range found {
				if f.Level != OK {
					bad++
				}
			}
			require.Equal(t, 1, bad, "nothing else is wrong: %v", found)
		})
	}
	for _, f := range server(&monitor.Snapshot{Redis: healthy()}, nil) {
		require.Equal(t, OK, f.Level, f)
	}
	require.Equal(t, Warning, server(&monitor.Snapshot{}, nil)[0].Level, "INFO is refused")

	nodes := []monitor.Redis{healthy(), healthy()}
	nodes[0].Node, nodes[1].Node, nodes[1].MaxMemoryPolicy = "a:1", "b:2", "allkeys-lru"
	require.Contains(t, server(&monitor.Snapshot{Redis: healthy(), Nodes: nodes}, nil),
		Finding{Error, "eviction policy", "", "node b:2: allkeys-lru: when memory is full, jobs disappear; set maxmemory-policy noeviction"})
	nodes[0].AOFEnabled, nodes[1].AOFEnabled = false, false
	found := server(&monitor.Snapshot{Redis: healthy(), Nodes: nodes}, map[string]snapshotting{"a:1": snapshotsOn, "b:2": snapshotsOff})
	require.Contains(t, found, Finding{Error, "persistence", "", "node a:1: snapshots only: a crash loses every job that came after the last one; set appendonly yes"})
	require.Contains(t, found, Finding{Error, "persistence", "", "node b:2: neither append-only file nor snapshots: a restart loses every job; set appendonly yes"})
}

// reply is an error that Redis answers with.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"NOPERM User few has no permissions to run the 'xadd' command": true,
		"NOPERM No permissions to access a key":                        true,
		"MISCONF Redis is configured to save RDB snapshots":            true,
		"ERR unknown command 'CONFIG', with args beginning with: ":     true,
		"ERR syntax error": false, // CLIENT LIST ID before 6.2
		"ERR Invalid stream ID specified as stream command argument": false, // XADD NOMKSTREAM before 6.2
		"ERR wrong number of arguments for XADD":                     false,
	} {
		require.Equal(t, want, refused(reply(text)), text)
	}
	require.False(t, refused(nil))
	require.False(t, refused(redis.Nil))
	require.True(t, refused(context.DeadlineExceeded))
}

func TestMemory(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, used, most int64
		want               Level
		text               string
	}{
		"roomy":              {50, 50, 1000, OK, "50\u00a0B of 1,000\u00a0B used"},
		"over 80 %":          {850, 850, 1000, Warning, "85\u00a0%"},
		"over 92 %":          {950, 950, 1000, Error, "writes are refused when it is full"},
		"no limit":           {50, 50, 0, Warning, "maxmemory is not set"},
		"filling":            {600, 610, 1000, Warning, "full in about 1\u00a0min at the present pace"},
		"filling, but empty": {100, 200, 1000, OK, "20\u00a0%"},
		"shrinking":          {700, 650, 1000, OK, "65\u00a0%"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			first := &monitor.Snapshot{At: start, Redis: monitor.Redis{Known: true, UsedMemory: tt.before}}
			last := &monitor.Snapshot{At: start.Add(2 * time.Second), Redis: monitor.Redis{Known: true, UsedMemory: tt.used, MaxMemory: tt.most}}
			found := memory(first, last)
			require.Len(t, found, 1)
			require.Equal(t, tt.want, found[0].Level, found)
			require.Contains(t, found[0].Text, tt.text)
		})
	}
	require.Empty(t, memory(&monitor.Snapshot{}, &monitor.Snapshot{}), "unknown")
}

func TestClock(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) Finding { return clock(&monitor.Snapshot{Redis: monitor.Redis{ClockOffset: d}}) }
	require.Equal(t, Finding{OK, "clock", "", "Redis is 3ms ahead of this machine"}, at(3*time.Millisecond))
	require.Equal(t, OK, at(-900*time.Millisecond).Level)
	require.Equal(t, Warning, at(-10*time.Minute).Level)
	require.Contains(t, at(-10*time.Minute).Text, "10m0s behind")
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	queue := func(name string, waiting, workers int64) *monitor.Queue {
		return &monitor.Queue{
			Queue: keys.Queue{Prefix: "bull", Name: name}, Workers: workers, WorkersKnown: true,
			Counts: map[keys.State]int64{keys.Waiting: waiting},
		}
	}
	dead, unknown, kept, broken := queue("dead", 9, 0), queue("unknown", 9, 0), queue("kept", 0, 1), queue("broken", 9, 0)
	dead.DeadLetter, unknown.WorkersKnown, broken.Unreadable = true, false, "WRONGTYPE"
	kept.Counts[keys.Failed] = 100_001
	c := config.Default()
	c.Queues = map[keys.Queue]config.Queue{{Prefix: "bull", Name: "ours"}: {Worker: &config.Worker{}}}
	found := workers(&c, &monitor.Snapshot{Queues: []*monitor.Queue{
		queue("emails", 5, 2), queue("emials", 3, 0), queue("reports", 1, 0), queue("idle", 0, 0), queue("ours", 4, 0),
		dead, unknown, kept, broken,
	}})
	require.Equal(t, []Finding{
		{Warning, "workers", "bull:emials", "3\u00a0jobs wait and no worker is connected; is it a misspelt \"emails\"?"},
		{Warning, "workers", "bull:reports", "1\u00a0job waits and no worker is connected"},
		{Warning, "retention", "bull:kept", "100,001 failed jobs are kept; bound them with keep_failed"},
		{Warning, "queue", "bull:broken", "cannot be read: WRONGTYPE"},
	}, found)
	require.Equal(t, OK, workers(&c, &monitor.Snapshot{})[0].Level)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	p := policy.Policy{Limiter: policy.Limiter{Max: 50, Duration: time.Second}}
	q := &monitor.Queue{Queue: keys.Queue{Prefix: "bull", Name: "hooks"}, CeilingKnown: true, Ceiling: 4}
	found := limits(q, p, time.Second)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Text, "50/s is never reached")
	require.Empty(t, limits(q, p, 10*time.Millisecond))
	q.Rate = monitor.Rates{Known: true, Added: 80}
	require.Contains(t, limits(q, p, 10*time.Millisecond)[0].Text, "80/s that arrive")
	require.Empty(t, limits(q, policy.Policy{}, time.Second))
}

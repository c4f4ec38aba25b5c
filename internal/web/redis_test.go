package web

import (
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/monitor"

	"github.com/stretchr/testify/require"
)

// tell makes Redis say something of itself.
func (b *bench) tell(d monitor.Redis) {
	b.t.Helper()
	snap := *b.monitor.Snapshot()
	snap.Redis = d
	b.monitor.publish(&snap)
}

func healthyRedis() monitor.Redis {
	return monitor.Redis{
		Known: true, Up: true, Version: "7.4.2", Mode: "standalone", Role: "master", MaxMemoryPolicy: "noeviction", AppendFsync: "everysec",
		UsedMemory: 6 << 30, MaxMemory: 8 << 30, PeakMemory: 7 << 30, AOFEnabled: true, AOFLastWriteOK: true, AOFLastRewriteOK: true, RDBLastSaveOK: true,
		StartTime: time.Now().Add(-41 * 24 * time.Hour), ConnectedClients: 61, BlockedClients: 38, MaxClients: 10000, Latency: 210 * time.Microsecond,
		Errors: map[string]int64{"NOSCRIPT": 3}, Forecast: monitor.Forecast{Text: "no trend"},
		MemoryHistory:  []monitor.MemoryPoint{{At: time.Now().Add(-2 * time.Minute), Used: 5 << 30}},
		LatencyHistory: []monitor.LatencyPoint{{At: time.Now().Add(-time.Minute), P50: 200 * time.Microsecond, P99: 1900 * time.Microsecond}},
	}
}

func TestRedisPage(t *testing.T) {
	b := newBench(t)
	d := healthyRedis()
	b.tell(d)
	page := b.get("/redis").body
	for _, want := range []string{
		"Redis keeps up", "6.0\u00a0GiB of 8.0\u00a0GiB, 75\u00a0%", "version 7.4.2", "noeviction", "on, fsync everysec", "p50 0.20\u00a0ms, p99 1.90\u00a0ms",
		"38 blocked, of at most 10,000", "NOSCRIPT", "maxmemory</text>", "no trend",
	} {
		has(t, page, want)
	}
	d.MaxMemoryPolicy = "allkeys-lru"
	d.Forecast = monitor.Forecast{Known: true, Text: "full in about 3 h 20 min at +12 MB/min", PerMinute: 12e6}
	b.tell(d)
	page = b.get("/redis").body
	has(t, page, "Redis will evict jobs when it fills up")
	has(t, page, "The eviction policy is allkeys-lru.")
	has(t, page, "<strong>Full in about 3 h 20 min at +12 MB/min.</strong>")
	has(t, page, "at this pace")
	d.RDBLastSaveOK = false
	b.tell(d)
	has(t, b.get("/redis").body, "Redis cannot save its data.")
}

func TestRedisPageSaysWhatItDoesNotKnow(t *testing.T) {
	b := newBench(t)
	b.tell(monitor.Redis{Up: true, Err: "this user may not run INFO: grant it +info"})
	page := b.get("/redis").body
	has(t, page, "tells nothing of itself")
	has(t, page, "+info")
	hasNot(t, page, "Evicted keys", "a figure that is not known")
	b.tell(monitor.Redis{Up: true, Embedded: true})
	page = b.get("/redis?sample=queue").body
	has(t, page, "The store runs inside Bullpen")
	has(t, page, "does not tell what a key takes")
	hasNot(t, page, "Append-only file")
	d := healthyRedis()
	d.AppendFsync = ""
	b.tell(d)
	has(t, b.get("/redis").body, "fsync unknown: CONFIG is refused")
	b.tell(monitor.Redis{})
	has(t, b.get("/redis").body, "Redis does not answer")
}

func TestMemoryByQueueIsSampledOnRequest(t *testing.T) {
	b := newBench(t)
	b.add(30, engine.JobOptions{})
	b.recount()
	has(t, b.get("/redis").body, "Not measured yet")
	page := b.get("/redis?sample=queue").body
	has(t, page, "Estimate from 20\u00a0jobs")
	row := page[strings.Index(page, "Largest seen"):]
	has(t, row, `<a href="/queues/email">email</a>`)
	has(t, row, `data-l="jobs">30<`)
	require.NotContains(t, row, `data-l="mean">–`)
	hidden := newBench(t, func(o *Options) { o.Auth = fixed{Identity{Name: "eve", Role: Viewer, Queues: []string{"other-*"}}} })
	hasNot(t, hidden.get("/redis?sample=queue").body, "queues/email")
}

package templates

import "testing"

func TestRedisView(t *testing.T) {
	v := RedisPage{
		Look: Health{"Watch", "h-warn", "h-warn"}, Title: "Redis will evict jobs when it fills up", Say: "It holds 6 GiB.", Strong: "Full in about 3 h.", Where: "default, version 7.4.2", Aged: true,
		Notices:     []Notice{{Class: "s-failed", Icon: "h-crit", Strong: "The eviction policy is allkeys-lru.", Links: []Link{{Label: "What to do", URL: "/runbooks/redis-eviction-policy"}}}},
		Totals:      []Total{{Label: "Memory", Figure: []Part{{"6", false}, {" GiB", true}}, Notes: []string{"75 % of 8 GiB"}}},
		Plots:       []Plot{{Title: "Memory used", Note: "The first minute is being watched."}},
		Persistence: []Detail{{Label: "Append-only file", Value: "on", Small: "last write fine"}}, About: []Detail{{Label: "Version", Value: "7.4.2"}},
		Errors: []Detail{{Label: "OOM", Value: "3"}}, Nodes: []Detail{{Label: "10.0.0.1:6379", Value: "It holds 1 GiB."}},
	}
	golden(t, "redis", RedisView(v, RedisMemory{
		URL: "/redis?sample=queue#memory", Label: "Sample again", Note: "Estimate.",
		Rows: []MemoryRow{{Name: scripty, URL: "/queues/x", Width: "100%", Memory: "1 GiB", Share: "12 %", Jobs: "30", Mean: "2 KB", Largest: "3 KB"}},
	}))
	golden(t, "redis-unknown", RedisView(RedisPage{Title: "Redis answers and tells nothing of itself"}, RedisMemory{Trouble: &Notice{Class: "s-failed", Icon: "h-crit", Strong: "No."}, Note: "Not measured yet."}))
}

package metrics

import (
	"strings"

	"bullpen/internal/monitor"
)

// redisFamilies returns what is exported of a Redis, or of each node of a Cluster.
func redisFamilies() []*family[monitor.Redis] {
	info := func(name, help string, value func(monitor.Redis) float64) *family[monitor.Redis] {
		return gauge("bullmq_redis_"+name, help+globalHelp, told(value))
	}
	total := func(name, help string, value func(monitor.Redis) float64) *family[monitor.Redis] {
		return counter("bullmq_redis_"+name+"_total", help+globalHelp, told(value))
	}
	return []*family[monitor.Redis]{
		info("memory_used_bytes", "used_memory.", func(r monitor.Redis) float64 { return float64(r.UsedMemory) }),
		info("memory_max_bytes", "maxmemory, 0 means no limit.", func(r monitor.Redis) float64 { return float64(r.MaxMemory) }),
		info("system_memory_bytes", "total_system_memory.", func(r monitor.Redis) float64 { return float64(r.SystemMemory) }),
		info("memory_fragmentation_ratio", "mem_fragmentation_ratio.", func(r monitor.Redis) float64 { return r.Fragmentation }),
		info("aof_enabled", "1 if the append-only file is on.", func(r monitor.Redis) float64 { return bit(r.AOFEnabled) }),
		info("aof_last_write_ok", "1 if the last write of the append-only file succeeded.",
			func(r monitor.Redis) float64 { return bit(r.AOFLastWriteOK) }),
		info("aof_last_rewrite_ok", "1 if the last rewrite of the append-only file succeeded.",
			func(r monitor.Redis) float64 { return bit(r.AOFLastRewriteOK) }),
		info("rdb_last_save_ok", "1 if the last snapshot succeeded.", func(r monitor.Redis) float64 { return bit(r.RDBLastSaveOK) }),
		info("rdb_last_save_timestamp_seconds", "Time of the last snapshot.",
			func(r monitor.Redis) float64 { return seconds(r.RDBLastSave) }),
		info("loading", "1 while Redis loads its data.", func(r monitor.Redis) float64 { return bit(r.Loading) }),
		info("start_time_seconds", "Start time of Redis.", func(r monitor.Redis) float64 { return seconds(r.StartTime) }),
		info("max_clients", "maxclients.", func(r monitor.Redis) float64 { return float64(r.MaxClients) }),
		total("evicted_keys", "Keys evicted.", func(r monitor.Redis) float64 { return float64(r.EvictedKeys) }),
		total("rejected_connections", "Connections refused because of maxclients.",
			func(r monitor.Redis) float64 { return float64(r.RejectedConnections) }),
		total("commands", "Commands processed.", func(r monitor.Redis) float64 { return float64(r.Commands) }),
		gauge("bullmq_redis_clients", "Client connections by state."+globalHelp, func(r monitor.Redis, send emit) {
			if tells(r) {
				send(float64(r.ConnectedClients), "connected")
				send(float64(r.BlockedClients), "blocked")
			}
		}, "state"),
		counter("bullmq_redis_errors_total", "Error replies by code, a fixed set of codes plus other."+globalHelp, redisErrors, "code"),
		gauge("bullmq_redis_info", "Facts about Redis in labels, always 1."+globalHelp, func(r monitor.Redis, send emit) {
			if tells(r) {
				send(1, r.Version, r.Mode, r.Role, r.MaxMemoryPolicy, r.AppendFsync)
			}
		}, "redis_version", "redis_mode", "role", "maxmemory_policy", "appendfsync"),
	}
}

// What names a Redis, or a node of a Cluster.
var (
	redisLabels = []string{"redis"}
	nodeLabels  = []string{"redis", "node"}
)

// tells reports whether INFO was answered and means something: the in-process store has nothing to say.
func tells(r monitor.Redis) bool { return r.Known && !r.Embedded }

func told(value func(monitor.Redis) float64) func(monitor.Redis, emit) {
	return known(func(r monitor.Redis) (float64, bool) { return value(r), tells(r) })
}

// redisErrors sends every code at 0 before its first error, so that the first one is an increase. Redis before 6.2
// does not count errors.
func redisErrors(r monitor.Redis, send emit) {
	if !tells(r) || !countsErrors(r.Version) {
		return
	}
	codes := []string{"OOM", "READONLY", "NOSCRIPT", "BUSY", "CLUSTERDOWN", "MISCONF", "NOAUTH"}
	var named, all int64
	for _, n := range r.Errors {
		all += n
	}
	for _, code := range codes {
		named += r.Errors[code]
		send(float64(r.Errors[code]), code)
	}
	send(float64(all-named), "other")
}

func countsErrors(version string) bool {
	for _, old := range []string{"2.", "3.", "4.", "5.", "6.0."} {
		if strings.HasPrefix(version, old) {
			return false
		}
	}
	return true
}

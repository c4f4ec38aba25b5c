package monitor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// infoFields are the "name:value" lines of an INFO reply.
type infoFields map[string]string

func parseInfo(text string) infoFields {
	fields := make(infoFields, 128)
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(k, "#") {
			fields[k] = v
		}
	}
	return fields
}

func (f infoFields) int(name string) int64 {
	n, _ := strconv.ParseInt(f[name], 10, 64)
	return n
}

func (f infoFields) float(name string) float64 {
	n, _ := strconv.ParseFloat(f[name], 64)
	return n
}

func (f infoFields) ok(name string) bool { return f[name] == "ok" }

// errors returns how often each error code was answered, from INFO errorstats (Redis 6.2 and later).
func (f infoFields) errors() map[string]int64 {
	found := map[string]int64{}
	for k, v := range f {
		code, ok := strings.CutPrefix(k, "errorstat_")
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimPrefix(v, "count="), 10, 64); err == nil {
			found[code] = n
		}
	}
	return found
}

// redis turns an INFO reply, read at now, into figures.
func (f infoFields) redis(now time.Time) Redis {
	r := Redis{
		Known: true, Up: true,
		Version: f["redis_version"], Mode: f["redis_mode"], Role: f["role"],
		MaxMemoryPolicy: f["maxmemory_policy"],
		UsedMemory:      f.int("used_memory"), MaxMemory: f.int("maxmemory"),
		PeakMemory: f.int("used_memory_peak"), SystemMemory: f.int("total_system_memory"),
		Fragmentation:       f.float("mem_fragmentation_ratio"),
		AOFEnabled:          f["aof_enabled"] == "1",
		AOFLastWriteOK:      f.ok("aof_last_write_status"),
		AOFLastRewriteOK:    f.ok("aof_last_bgrewrite_status"),
		RDBLastSaveOK:       f.ok("rdb_last_bgsave_status"),
		RDBChanges:          f.int("rdb_changes_since_last_save"),
		Loading:             f["loading"] == "1",
		StartTime:           now.Add(-time.Duration(f.int("uptime_in_seconds")) * time.Second),
		ConnectedClients:    f.int("connected_clients"),
		BlockedClients:      f.int("blocked_clients"),
		MaxClients:          f.int("maxclients"),
		EvictedKeys:         f.int("evicted_keys"),
		RejectedConnections: f.int("rejected_connections"),
		Commands:            f.int("total_commands_processed"),
		OpsPerSecond:        f.float("instantaneous_ops_per_sec"),
		Errors:              f.errors(),
	}
	if v := f["valkey_version"]; v != "" {
		r.Version = v
	}
	if at := f.int("rdb_last_save_time"); at > 0 {
		r.RDBLastSave = time.Unix(at, 0)
	}
	return r
}

// mergeNodes sums the masters of a Cluster. What is a warning on one node is one for the whole.
func mergeNodes(nodes []Redis) Redis {
	if len(nodes) == 0 {
		return Redis{}
	}
	all := nodes[0]
	all.Node, all.Errors = "", map[string]int64{}
	addErrors(all.Errors, nodes[0].Errors)
	for _, n := range nodes[1:] {
		all.UsedMemory += n.UsedMemory
		all.PeakMemory += n.PeakMemory
		all.SystemMemory += n.SystemMemory
		// One node without a limit means the sum has none.
		if all.MaxMemory > 0 && n.MaxMemory > 0 {
			all.MaxMemory += n.MaxMemory
		} else {
			all.MaxMemory = 0
		}
		if all.MaxMemoryPolicy == "noeviction" {
			all.MaxMemoryPolicy = n.MaxMemoryPolicy
		}
		all.Fragmentation = max(all.Fragmentation, n.Fragmentation)
		all.AppendFsync = weaker(all.AppendFsync, n.AppendFsync)
		all.Refusing = cmp.Or(all.Refusing, n.Refusing)
		all.AOFEnabled = all.AOFEnabled && n.AOFEnabled
		all.AOFLastWriteOK = all.AOFLastWriteOK && n.AOFLastWriteOK
		all.AOFLastRewriteOK = all.AOFLastRewriteOK && n.AOFLastRewriteOK
		all.RDBLastSaveOK = all.RDBLastSaveOK && n.RDBLastSaveOK
		all.Loading = all.Loading || n.Loading
		all.RDBLastSave = earlier(all.RDBLastSave, n.RDBLastSave)
		all.StartTime = earlier(n.StartTime, all.StartTime)
		all.RDBChanges += n.RDBChanges
		all.ConnectedClients += n.ConnectedClients
		all.BlockedClients += n.BlockedClients
		all.MaxClients += n.MaxClients
		all.EvictedKeys += n.EvictedKeys
		all.RejectedConnections += n.RejectedConnections
		all.Commands += n.Commands
		all.OpsPerSecond += n.OpsPerSecond
		addErrors(all.Errors, n.Errors)
	}
	return all
}

// weaker is the setting of appendfsync that promises less; one that is not known may be anything but promises nothing.
func weaker(a, b string) string {
	promises := []string{"no", "", "everysec", "always"}
	if slices.Index(promises, b) < slices.Index(promises, a) {
		return b
	}
	return a
}

func addErrors(to, from map[string]int64) {
	for code, n := range from {
		to[code] += n
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// refusalWindow is how long after a refused write Redis counts as refusing.
const refusalWindow = time.Minute

// refusalCodes are the error codes a write is refused with, and what they mean.
var refusalCodes = []struct{ code, means string }{
	{"OOM", "out of memory"},
	{"MISCONF", "it cannot save its data (MISCONF)"},
	{"READONLY", "it is a read-only replica"},
	{"NOREPLICAS", "too few replicas are connected"},
}

// refusals remembers how often writes were refused over the last minute.
type refusals struct {
	// replicaFine says that we only read, so a replica does for us and what it refuses others says nothing.
	replicaFine bool
	samples     []refusalSample
}

type refusalSample struct {
	at     time.Time
	counts map[string]int64
}

// observe takes the figures of one INFO and returns why writes are refused; "" when they are not.
func (r *refusals) observe(now time.Time, info Redis) string {
	r.samples = append(r.samples, refusalSample{now, info.Errors})
	old := slices.IndexFunc(r.samples, func(s refusalSample) bool { return now.Sub(s.at) <= refusalWindow })
	r.samples = slices.Delete(r.samples, 0, old)
	if info.Role == "slave" {
		if r.replicaFine {
			return ""
		}
		return refusalCodes[2].means
	}
	if info.MaxMemory > 0 && info.UsedMemory >= info.MaxMemory && info.MaxMemoryPolicy == "noeviction" {
		return refusalCodes[0].means
	}
	for _, c := range refusalCodes {
		if info.Errors[c.code] > r.samples[0].counts[c.code] {
			return c.means
		}
	}
	return ""
}

// latencies collects the round trips of the running minute.
type latencies struct {
	minute time.Time
	seen   []time.Duration
}

// observe adds a round trip and returns the point of the minute that it closed, if it closed one.
func (l *latencies) observe(now time.Time, d time.Duration) (LatencyPoint, bool) {
	minute := now.Truncate(time.Minute)
	var closed LatencyPoint
	ok := minute.After(l.minute) && len(l.seen) > 0
	if ok {
		slices.SortFunc(l.seen, cmp.Compare)
		closed = LatencyPoint{At: l.minute, P50: l.seen[len(l.seen)/2], P99: l.seen[len(l.seen)*99/100]}
		l.seen = l.seen[:0]
	}
	l.minute, l.seen = minute, append(l.seen, d)
	return closed, ok
}

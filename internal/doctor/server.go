package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/words"

	"github.com/redis/go-redis/v9"
)

// Thresholds of the shipped alerts.
const (
	memoryWarning = 0.80
	memoryError   = 0.92
	// fillingFloor keeps a filling but nearly empty Redis from being a warning.
	fillingFloor = 0.60
	fillingSoon  = 4 * time.Hour
	// clockLimit is how far clocks may differ: delays, locks and retention are computed by the clients' clocks.
	clockLimit = time.Second
)

// try is a command that Bullpen needs. The writes are of kinds that do nothing on a key that does not exist.
type try struct {
	args []any
	// use says what is missing without it; level how bad that is.
	use   string
	level Level
}

// permissions tries what Bullpen needs, under each prefix and on its own keys.
func permissions(ctx context.Context, c redis.UniversalClient, prefixes []string) []Finding {
	var out []Finding
	for _, t := range serverTries() {
		out = append(out, t.on(ctx, c, "")...)
	}
	for _, prefix := range prefixes {
		for _, t := range queueTries(prefix + ":bullpen-check:none") {
			out = append(out, t.on(ctx, c, " under the prefix "+prefix)...)
		}
	}
	for _, t := range ownTries(keys.Own + "check:none") {
		out = append(out, t.on(ctx, c, " on "+keys.Own+"*")...)
	}
	if len(out) == 0 {
		out = append(out, Finding{OK, "permissions", "", "every command that is needed is allowed"})
	}
	return out
}

// serverTries are about no key.
func serverTries() []try {
	return []try{
		{[]any{"SCRIPT", "LOAD", "return 1"}, "no job can be added or taken", Error},
		{[]any{"SCAN", 0, "COUNT", 1}, "queues that are not named in the configuration are not found", Warning},
		{[]any{"INFO", "server"}, "memory, persistence and eviction are unknown", Warning},
		{[]any{"CLIENT", "LIST", "ID", 1}, "connected workers are unknown", Warning},
		{[]any{"CONFIG", "GET", "save"}, "whether snapshots are made is unknown", Warning},
	}
}

// queueTries are about a key of a queue.
func queueTries(key string) []try {
	return []try{
		{[]any{"EVAL", "return 1", 1, key}, "no job can be added or taken", Error},
		{[]any{"SET", key, "", "XX"}, "no job can be locked", Error},
		{[]any{"LPUSHX", key, ""}, "no job can be added", Error},
		{[]any{"ZADD", key, "XX", 0, ""}, "no job can finish", Error},
		{[]any{"DEL", key}, "no job can be removed", Error},
		{[]any{"XADD", key, "NOMKSTREAM", "*", "field", ""}, "no event can be written", Error},
		{[]any{"BZPOPMIN", key, "0.01"}, "workers cannot wait for jobs", Error},
	}
}

// ownTries are about a key of Bullpen's own. Jobs run without these.
func ownTries(key string) []try {
	const remedy = "; grant this user ~" + keys.Own + "*"
	return []try{
		{[]any{"GET", key}, "policies that were changed live are not known" + remedy, Warning},
		{[]any{"SET", key, "", "XX"}, "totals, live policies and the activity log are not kept" + remedy, Warning},
	}
}

// on tries it; where says on which keys.
func (t try) on(ctx context.Context, c redis.UniversalClient, where string) []Finding {
	name := fmt.Sprint(t.args[0])
	if name == "SCRIPT" || name == "CLIENT" || name == "CONFIG" {
		name += fmt.Sprint(" ", t.args[1])
	}
	err := c.Do(ctx, t.args...).Err()
	if !refused(err) {
		return nil
	}
	return []Finding{{t.level, "permissions", "", fmt.Sprintf("%s is refused%s, so %s: %v", name, where, t.use, err)}}
}

// refused reports whether a command may not or cannot be run. That an old Redis does not know one of its options, a
// plain ERR, is no refusal: whoever runs it without does not need that one.
func refused(err error) bool {
	if err == nil || errors.Is(err, redis.Nil) {
		return false
	}
	var reply redis.Error
	plain := errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "ERR ")
	return !plain || strings.HasPrefix(reply.Error(), "ERR unknown command")
}

// server judges version, eviction and persistence.
func server(s *monitor.Snapshot, by map[string]snapshotting) []Finding {
	if !s.Redis.Known {
		return []Finding{{Warning, "server", "", "INFO is refused, so eviction, persistence and memory are unknown: " + s.Redis.Err}}
	}
	nodes := s.Nodes
	if nodes == nil {
		nodes = []monitor.Redis{s.Redis}
	}
	var out []Finding
	for _, r := range nodes {
		for _, f := range []Finding{version(r), role(r), eviction(r), persistence(r, by[r.Node])} {
			if r.Node != "" {
				f.Text = "node " + r.Node + ": " + f.Text
			}
			out = append(out, f)
		}
	}
	return out
}

func version(r monitor.Redis) Finding {
	var major, minor int
	if _, err := fmt.Sscanf(r.Version, "%d.%d", &major, &minor); err != nil {
		return Finding{Warning, "version", "", fmt.Sprintf("%q is not a version that can be judged", r.Version)}
	}
	if major < 6 || (major == 6 && minor < 2) {
		return Finding{Warning, "version", "", r.Version + " is old: BullMQ recommends 6.2 or later"}
	}
	return Finding{OK, "version", "", r.Version}
}

func role(r monitor.Redis) Finding {
	if r.Role != "" && r.Role != "master" {
		return Finding{Error, "role", "", "this is a " + r.Role + ", which takes no writes; name the master"}
	}
	if r.Refusing != "" {
		return Finding{Error, "role", "", "Redis refuses writes: " + r.Refusing}
	}
	return Finding{OK, "role", "", "takes writes"}
}

func eviction(r monitor.Redis) Finding {
	switch p := r.MaxMemoryPolicy; {
	case p == "noeviction":
		return Finding{OK, "eviction policy", "", p}
	case p == "":
		return Finding{Warning, "eviction policy", "", "unknown; it must be noeviction"}
	case strings.HasPrefix(p, "volatile-"):
		return Finding{Error, "eviction policy", "", p + ": when memory is full, locks and limiters disappear and jobs run twice; set maxmemory-policy noeviction"}
	default:
		return Finding{Error, "eviction policy", "", p + ": when memory is full, jobs disappear; set maxmemory-policy noeviction"}
	}
}

// snapshotting says whether Redis makes snapshots by itself.
type snapshotting int

// What CONFIG says about snapshots.
const (
	snapshotsUnknown snapshotting = iota
	snapshotsOff
	snapshotsOn
)

// askSnapshots asks each master of a Cluster, or the only server there is, by address as in monitor.Redis.Node. CONFIG
// is often refused.
func askSnapshots(ctx context.Context, c redis.UniversalClient) map[string]snapshotting {
	cluster, ok := c.(*redis.ClusterClient)
	if !ok {
		return map[string]snapshotting{"": askNode(ctx, c)}
	}
	var mu sync.Mutex
	by := map[string]snapshotting{}
	_ = cluster.ForEachMaster(ctx, func(ctx context.Context, m *redis.Client) error {
		answer := askNode(ctx, m)
		mu.Lock()
		defer mu.Unlock()
		by[m.Options().Addr] = answer
		return nil
	})
	return by
}

func askNode(ctx context.Context, c redis.Cmdable) snapshotting {
	save, err := c.ConfigGet(ctx, "save").Result()
	switch {
	case err != nil:
		return snapshotsUnknown
	case save["save"] == "":
		return snapshotsOff
	}
	return snapshotsOn
}

func persistence(r monitor.Redis, s snapshotting) Finding {
	const check = "persistence"
	switch {
	case r.AOFEnabled && !r.AOFLastWriteOK:
		return Finding{Error, check, "", "the append-only file could not be written last time"}
	case r.AOFEnabled && r.AppendFsync == "no":
		return Finding{Warning, check, "", "append-only file with appendfsync no: a crash of the machine loses what the system had not written yet"}
	case r.AOFEnabled:
		return Finding{OK, check, "", "append-only file"}
	case s == snapshotsOff:
		return Finding{Error, check, "", "neither append-only file nor snapshots: a restart loses every job; set appendonly yes"}
	case s == snapshotsOn:
		return Finding{Error, check, "", "snapshots only: a crash loses every job that came after the last one; set appendonly yes"}
	default:
		return Finding{Warning, check, "", "no append-only file; whether snapshots are made is unknown, because CONFIG is refused"}
	}
}

// memory judges the room that is left, and how fast it went during the sample.
func memory(first, last *monitor.Snapshot) []Finding {
	const check = "memory"
	r := last.Redis
	if !r.Known || r.UsedMemory == 0 {
		return nil
	}
	if r.MaxMemory == 0 {
		return []Finding{{
			Warning, check, "", fmt.Sprintf("%s used, and maxmemory is not set: when the machine's memory is full the system kills Redis",
				words.Memory(r.UsedMemory)),
		}}
	}
	share := float64(r.UsedMemory) / float64(r.MaxMemory)
	text := fmt.Sprintf("%s of %s used (%s)", words.Memory(r.UsedMemory), words.Memory(r.MaxMemory), words.Percent(share))
	level := OK
	switch {
	case share > memoryError:
		level, text = Error, text+"; writes are refused when it is full"
	case share > memoryWarning:
		level = Warning
	}
	perSecond := float64(r.UsedMemory-first.Redis.UsedMemory) / last.At.Sub(first.At).Seconds()
	if perSecond > 0 && last.At.After(first.At) {
		full := time.Duration(float64(r.MaxMemory-r.UsedMemory) / perSecond * float64(time.Second))
		if full < fillingSoon && full >= 0 && share > fillingFloor {
			level = worse(level, Warning)
			text += fmt.Sprintf(", full in about %s at the present pace", words.Roughly(full))
		}
	}
	return []Finding{{level, check, "", text}}
}

// worse is the worse of two levels.
func worse(a, b Level) Level {
	if a == Error || b == OK {
		return a
	}
	return b
}

func clock(s *monitor.Snapshot) Finding {
	off := s.Redis.ClockOffset
	text := fmt.Sprintf("Redis is %s ahead of this machine", off.Round(time.Millisecond))
	if off < 0 {
		text = fmt.Sprintf("Redis is %s behind this machine", (-off).Round(time.Millisecond))
	}
	if off.Abs() > clockLimit {
		return Finding{Warning, "clock", "", text + ": delays and retention of jobs added by different machines disagree by as much"}
	}
	return Finding{OK, "clock", "", text}
}

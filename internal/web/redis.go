package web

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"bullpen/internal/monitor"
	"bullpen/internal/words"
	"bullpen/templates"
)

// noEviction is the only eviction policy under which jobs stay.
const noEviction = "noeviction"

// redisPage shows the state of the Redis behind the queues.
func (s *Server) redisPage(ctx context.Context, r viewRequest) (view, error) {
	d := r.snap.Redis
	v := templates.RedisPage{Aged: s.stale(r.snap, r.now), Where: redisWhere(d, s.o.Alias, r.now)}
	s.redisFinding(d, &v)
	if d.Known && !d.Embedded {
		v.Totals = redisTotals(d)
		v.Plots = []templates.Plot{s.memoryPlot(d, r.now)}
		v.Persistence = s.persistence(d, r.now)
		v.Errors = redisErrors(d)
		v.Nodes = redisNodes(r.snap.Nodes)
	}
	v.Plots = append(v.Plots, s.latencyPlot(d, r.now))
	v.About = s.aboutRedis(d, r.now)
	var memory templates.RedisMemory
	if !r.stream { // the stream renews other parts; sampling is for the one who asked
		memory = s.redisMemory(ctx, r)
	}
	return view{
		title: v.Title, nav: "/redis", content: templates.RedisView(v, memory),
		live: []region{{"head", templates.RedisHead(v)}, {"plots", templates.RedisPlots(v)}, {"facts", templates.RedisFacts(v)}},
	}, nil
}

func redisWhere(d monitor.Redis, alias string, now time.Time) string {
	parts := []string{alias}
	if d.Version != "" {
		parts = append(parts, "version "+d.Version)
	}
	if !d.StartTime.IsZero() {
		parts = append(parts, "up "+words.Roughly(now.Sub(d.StartTime)))
	}
	return strings.Join(parts, ", ")
}

// redisFinding is the headline and the warnings, worst first.
func (s *Server) redisFinding(d monitor.Redis, v *templates.RedisPage) {
	crit := templates.Health{Label: "Needs attention", Class: "h-crit", Icon: "h-crit"}
	watch := templates.Health{Label: "Watch", Class: "h-warn", Icon: "h-warn"}
	unknown := templates.Health{Label: "Unknown", Class: "h-idle", Icon: "h-unknown"}
	evicts := d.Known && d.MaxMemoryPolicy != "" && d.MaxMemoryPolicy != noEviction
	switch {
	case !d.Up:
		v.Look, v.Title, v.Say = crit, "Redis does not answer", "What follows is from the last good read."
	case d.Embedded:
		v.Look, v.Title = unknown, "The store runs inside Bullpen"
		v.Say = "It tells nothing about memory, clients or persistence, and all of it is gone when Bullpen stops."
	case !d.Known:
		v.Look, v.Title, v.Say = unknown, "Redis answers and tells nothing of itself", sentenceStart(d.Err)+"."
		if d.Err == "" {
			v.Say = "It has not been asked yet."
		}
	case d.Refusing != "":
		v.Look, v.Title, v.Say = crit, "Redis refuses writes", "Reason: "+d.Refusing+". Jobs can neither be added, retried nor finished."
	case evicts:
		v.Look, v.Title, v.Say = watch, "Redis will evict jobs when it fills up", memorySay(d)
		if d.EvictedKeys > 0 {
			v.Look, v.Title = crit, "Redis has evicted keys"
		}
	default:
		v.Look, v.Title, v.Say = templates.Health{Label: "Healthy", Class: "h-ok", Icon: "h-ok"}, "Redis keeps up", memorySay(d)
		if d.MaxMemory > 0 && float64(d.UsedMemory) > .8*float64(d.MaxMemory) {
			v.Look, v.Title = watch, "Redis is filling up"
		}
	}
	if d.Known && d.Forecast.Known {
		v.Strong = sentenceStart(d.Forecast.Text) + "."
	}
	if evicts {
		v.Notices = append(v.Notices, templates.Notice{
			Class: "s-failed", Icon: "h-crit", Strong: "The eviction policy is " + d.MaxMemoryPolicy + ".",
			Text:  "When memory is short Redis deletes keys of queues and tells nobody. Queues need noeviction: CONFIG SET maxmemory-policy noeviction",
			Links: []templates.Link{{Label: "What to do", URL: s.links.to("/runbooks/redis-eviction-policy")}},
		})
	}
	if d.Known && (!d.RDBLastSaveOK || d.AOFEnabled && !d.AOFLastWriteOK) && !d.Embedded {
		v.Notices = append(v.Notices, templates.Notice{
			Class: "s-failed", Icon: "h-crit", Strong: "Redis cannot save its data.", Text: "With its defaults it stops all writes after that. Check the disk.",
			Links: []templates.Link{{Label: "What to do", URL: s.links.to("/runbooks/redis-persistence")}},
		})
	}
}

// memorySay is the memory in a sentence.
func memorySay(d monitor.Redis) string {
	if d.MaxMemory == 0 {
		return "It holds " + words.Memory(d.UsedMemory) + " and maxmemory is not set."
	}
	return "It holds " + words.Memory(d.UsedMemory) + " of " + words.Memory(d.MaxMemory) + ", " + words.Percent(float64(d.UsedMemory)/float64(d.MaxMemory)) + "."
}

func redisTotals(d monitor.Redis) []templates.Total {
	memory := templates.Total{Label: "Memory", Figure: figure(words.Memory(d.UsedMemory)), Notes: []string{"no maxmemory"}}
	if d.MaxMemory > 0 {
		memory.Notes = []string{words.Percent(float64(d.UsedMemory)/float64(d.MaxMemory)) + " of " + words.Memory(d.MaxMemory)}
	}
	growth := templates.Total{Label: "Growth", Figure: figure(words.Unknown), Notes: []string{d.Forecast.Text}}
	if d.Forecast.Known {
		growth.Figure = figure(words.Bytes(int64(d.Forecast.PerMinute)) + "/min")
	}
	trip := templates.Total{Label: "Round trip", Figure: figure(words.Exact(d.Latency))}
	if n := len(d.LatencyHistory); n > 0 {
		trip.Notes = []string{"p50 " + words.Exact(d.LatencyHistory[n-1].P50) + ", p99 " + words.Exact(d.LatencyHistory[n-1].P99)}
	}
	clients := templates.Total{Label: "Clients", Figure: figure(words.Count(d.ConnectedClients)), Notes: []string{words.Count(d.BlockedClients) + " blocked"}}
	if d.MaxClients > 0 {
		clients.Notes[0] += ", of at most " + words.Count(d.MaxClients)
	}
	return []templates.Total{
		memory, growth,
		{Label: "Evicted keys", Figure: figure(words.Count(d.EvictedKeys)), Notes: []string{"since the start"}},
		trip,
		{Label: "Commands", Figure: figure(words.PerSecond(d.OpsPerSecond)), Notes: []string{words.Count(d.Commands) + " since the start"}},
		clients,
	}
}

// persistence says what a crash would lose.
func (s *Server) persistence(d monitor.Redis, now time.Time) []templates.Detail {
	ok := func(fine bool) string {
		if fine {
			return "last write fine"
		}
		return "last write failed"
	}
	aof := templates.Detail{Label: "Append-only file", Value: "off", Small: "a crash loses every job since the last snapshot"}
	if d.AOFEnabled {
		aof.Value, aof.Small = "on", ok(d.AOFLastWriteOK)
		switch d.AppendFsync {
		case "":
			aof.Value += ", fsync unknown: CONFIG is refused"
		default:
			aof.Value += ", fsync " + d.AppendFsync
		}
		if !d.AOFLastRewriteOK {
			aof.Small += ", last rewrite failed"
		}
	}
	rdb := templates.Detail{Label: "Snapshot", Value: "none yet", Small: words.Plural(d.RDBChanges, "change", "changes") + " since"}
	if !d.RDBLastSave.IsZero() {
		rdb.Value = words.Roughly(now.Sub(d.RDBLastSave)) + " ago"
	}
	if !d.RDBLastSaveOK {
		rdb.Small += ", the last one failed"
	}
	return []templates.Detail{aof, rdb}
}

// aboutRedis is the rest of what is known.
func (s *Server) aboutRedis(d monitor.Redis, now time.Time) []templates.Detail {
	offset := "the same as Bullpen's, to " + words.Exact(d.Latency)
	switch {
	case d.ClockOffset > max(d.Latency, 10*time.Millisecond):
		offset = words.Exact(d.ClockOffset) + " ahead of Bullpen's"
	case d.ClockOffset < -max(d.Latency, 10*time.Millisecond):
		offset = words.Exact(-d.ClockOffset) + " behind Bullpen's"
	}
	list := []templates.Detail{{Label: "Clock", Value: offset}}
	if !d.Known || d.Embedded {
		return list
	}
	evict := templates.Detail{Label: "Eviction policy", Value: d.MaxMemoryPolicy}
	if d.MaxMemoryPolicy == "" {
		evict.Value, evict.Small = "unknown", "INFO does not tell it"
	}
	list = append(list, evict,
		templates.Detail{Label: "Version", Value: d.Version, Small: d.Mode + ", " + d.Role},
		templates.Detail{Label: "Started", Value: words.Roughly(now.Sub(d.StartTime)) + " ago"},
		templates.Detail{Label: "Peak memory", Value: words.Memory(d.PeakMemory)},
		templates.Detail{Label: "Fragmentation", Value: words.Number(d.Fragmentation)},
		templates.Detail{Label: "Rejected clients", Value: words.Count(d.RejectedConnections)},
	)
	if d.Loading {
		list = append(list, templates.Detail{Label: "Loading", Value: "its data is being read from disk"})
	}
	return list
}

func redisErrors(d monitor.Redis) []templates.Detail {
	var list []templates.Detail
	for _, code := range slices.Sorted(maps.Keys(d.Errors)) {
		list = append(list, templates.Detail{Label: code, Value: words.Count(d.Errors[code])})
	}
	return list
}

func redisNodes(nodes []monitor.Redis) []templates.Detail {
	var list []templates.Detail
	for _, n := range nodes {
		list = append(list, templates.Detail{Label: n.Node, Value: memorySay(n), Small: n.MaxMemoryPolicy + ", " + words.PerSecond(n.OpsPerSecond)})
	}
	return list
}

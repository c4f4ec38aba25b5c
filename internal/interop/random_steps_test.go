package interop

import (
	"encoding/json"
	"slices"
	"strings"
)

func (d *drawer) add() step {
	o := fields{}
	option := func(percent int, name string, values ...any) {
		if chance(d, percent, name) {
			o[name] = oneOf(d, name, values...)
		}
	}
	option(25, "delay", 20, 50, 500)
	option(30, "priority", 1, 2, 7, 2097151)
	option(15, "lifo", true)
	option(50, "attempts", 1, 2, 3)
	option(40, "backoff", 0, 30, fields{"type": "fixed", "delay": 40}, fields{"type": "exponential", "delay": 25})
	option(25, "jobId", "c0", "c1", "c2")
	option(15, "removeOnComplete", true, 1, 2, fields{"age": 1}, fields{"age": 0})
	option(15, "removeOnFail", true, 1, 2, fields{"count": 2, "age": 1})
	option(10, "stackTraceLimit", 0, 1)
	option(10, "keepLogs", 1, 2)
	return d.step("add", fields{"name": oneOf(d, "name", "a", "b", "é"), "data": fields{"n": 1}, "opts": o})
}

func (d *drawer) addDeduplicated() step {
	de := fields{"id": oneOf(d, "dedup", "d", "e")}
	for _, flag := range []string{"extend", "replace", "keepLastIfActive"} {
		if chance(d, 25, flag) {
			de[flag] = true
		}
	}
	if chance(d, 40, "ttl") {
		de["ttl"] = 60000
	}
	o := fields{"deduplication": de}
	if chance(d, 40, "delay") {
		o["delay"] = 50
	}
	return d.step("add", fields{"name": "d", "data": fields{}, "opts": o})
}

// worker draws the options of the worker that takes jobs.
func (d *drawer) worker() fields {
	w := fields{}
	if chance(d, 30, "worker name") {
		w["name"] = "w1"
	}
	if d.metrics {
		w["metrics"] = fields{"maxDataPoints": 3}
	}
	if chance(d, 20, "limiter") {
		w["limiter"] = fields{"max": oneOf(d, "max", 2, 5), "duration": 60000}
	}
	return w
}

func (d *drawer) take() step {
	if d.queue == beatQueue {
		return d.process()
	}
	return d.step("take", fields{"worker": d.worker()})
}

func (d *drawer) complete() step {
	if d.none("active") {
		return d.take()
	}
	f := d.end()
	f["value"] = oneOf[any](d, "value", nil, 1, "é", fields{"a": 1})
	return d.step("complete", f)
}

// end draws which job ends and whether the next one is taken with it. After a refusal BullMQ's script takes none, while
// ours, which ends several jobs at once, does; so a step that will be refused does not ask for one.
func (d *drawer) end() fields {
	f := fields{"job": d.job("active"), "token": d.token()}
	id := f["job"].(string)
	key := d.key(id)
	_, exists := d.state[key]
	_, pending := d.state[key+":dependencies"]
	_, spoilt := d.state[key+":unsuccessful"]
	held := d.state[key+":lock|"] == f["token"] && slices.Contains(places(d.state, baseOf(d.queue))[id], "active")
	f["next"] = chance(d, 40, "next") && exists && held && !pending && !spoilt
	return f
}

func (d *drawer) token() string {
	if chance(d, 4, "token") {
		return "wrong"
	}
	return "t"
}

func (d *drawer) fail() step {
	if d.none("active") {
		return d.take()
	}
	f := d.end()
	f["message"] = oneOf(d, "reason", "one", "two\nlines", "é")
	if chance(d, 15, "unrecoverable") {
		f["kind"] = "unrecoverable"
	}
	return d.step("fail", f)
}

func (d *drawer) bounce() step {
	if d.none("active") {
		return d.take()
	}
	id := d.job("active")
	if chance(d, 50, "bounce to delayed") {
		return d.step("moveToDelayed", fields{"job": id, "delay": oneOf(d, "delay", 0, 30, 400)})
	}
	return d.step("moveToWait", fields{"job": id})
}

// stall drops a lock, as its expiry would.
func (d *drawer) stall() step { return raw("DEL", d.key(d.job("active")+":lock")) }

func raw(words ...string) step {
	text, _ := json.Marshal(words)
	return step{"redis", text}
}

func (d *drawer) stalledCheck() step {
	if chance(d, 50, "window over") {
		return raw("DEL", d.key("stalled-check"))
	}
	most := oneOf(d, "most", 0, 1)
	if d.common {
		most = 99 // the limiter of version 5 counts jobs that are past their limit
	}
	return d.step("stalled", fields{"worker": fields{"maxStalledCount": most}})
}

func (d *drawer) promote() step {
	if d.none("delayed") {
		return d.add()
	}
	return d.step("promote", fields{"job": d.job("delayed")})
}

func (d *drawer) change() step {
	if !d.none("delayed") && chance(d, 50, "change delay") {
		return d.step("changeDelay", fields{"job": d.job("delayed"), "delay": oneOf(d, "delay", 0, 10, 700)})
	}
	return d.step("changePriority", fields{
		"job": d.job("wait", "prioritized", "delayed", "active"), "priority": oneOf(d, "priority", 0, 1, 9),
		"lifo": chance(d, 30, "lifo"),
	})
}

func (d *drawer) update() step {
	id := d.job("wait", "active", "completed", "delayed")
	switch oneOf(d, "what", "progress", "data", "log") {
	case "progress":
		return d.step("updateProgress", fields{"job": id, "value": oneOf[any](d, "value", 5, "é", fields{"p": 1})})
	case "data":
		return d.step("updateData", fields{"job": id, "value": fields{"changed": true}})
	}
	return d.step("log", fields{"job": id, "row": oneOf(d, "row", "one", "two")})
}

func (d *drawer) remove() step {
	if d.childAgain() {
		return d.tick()
	}
	return d.step("remove", fields{"job": d.job(placed...)})
}

// sweep removes many jobs at once.
func (d *drawer) sweep() step {
	if chance(d, 25, "drain") {
		return d.step("drain", fields{"delayed": chance(d, 50, "delayed too")})
	}
	f := fields{"state": oneOf(d, "state", "wait", "active", "delayed", "prioritized", "completed", "failed", "waiting-children")}
	if chance(d, 50, "by age") {
		f["grace"] = 50
	} else if f["state"] != "active" { // BullMQ's limit counts jobs it looks at, ours those it removes
		f["limit"] = oneOf(d, "limit", 0, 1, 2)
	}
	return d.step("clean", f)
}

func (d *drawer) again() step {
	state := oneOf(d, "state", "failed", "completed")
	if d.none(state) {
		return d.take()
	}
	if d.common && d.priorityOf(state) {
		return d.tick()
	}
	return d.step("retry", fields{"job": d.job(state), "state": state})
}

// priorityOf reports whether a job of that state has a priority, which version 5 forgets.
func (d *drawer) priorityOf(state string) bool {
	for p := range d.state {
		if id, ok := strings.CutPrefix(p, d.key(state+"|")); ok && d.state[d.key(id+"|priority")] != "0" {
			return true
		}
	}
	return false
}

func (d *drawer) limit() step {
	switch oneOf(d, "limit", "concurrency", "concurrency off", "rate", "rate off", "rate off", "window over", "window over") {
	case "concurrency":
		return d.step("globalConcurrency", fields{"value": oneOf(d, "most", 1, 2)})
	case "rate":
		return d.step("globalRateLimit", fields{"max": oneOf(d, "max", 1, 3), "duration": 60000})
	case "rate off":
		return d.step("globalRateLimit", fields{"max": 0})
	case "window over":
		return raw("DEL", d.key("limiter"))
	}
	return d.step("globalConcurrency", fields{"value": 0})
}

// batch does something to a few jobs in one script run of the engine.
func (d *drawer) batch() step {
	few := func(states ...string) (ids []string) {
		for range evenly(d.t, "how many", 4) + 1 {
			ids = append(ids, d.job(states...))
		}
		slices.Sort(ids)
		return slices.Compact(ids) // the queue names the refused by id
	}
	switch oneOf(d, "batch", "take", "complete", "bounce", "promote", "remove", "retry") {
	case "complete":
		return d.step("completeMany", fields{"jobs": few("active"), "value": 1})
	case "bounce":
		return d.step("moveToWaitMany", fields{"jobs": few("active")})
	case "promote":
		return d.step("promoteMany", fields{"jobs": few("delayed")})
	case "remove":
		return d.step("removeMany", fields{"jobs": few("wait", "active", "delayed", "failed")})
	case "retry":
		if d.common && d.priorityOf("failed") {
			return d.tick()
		}
		return d.step("retryMany", fields{"jobs": few("failed")})
	}
	return d.step("takeMany", fields{"count": evenly(d.t, "count", 4) + 1, "worker": d.worker()})
}

func (d *drawer) pauseResume() step {
	return d.step(oneOf(d, "switch", "pause", "resume", "resume"), fields{})
}

func (d *drawer) tick() step {
	text, _ := json.Marshal(oneOf(d, "ms", 5, 40, 600, 2000))
	return step{"tick", text}
}

func (d *drawer) look() step {
	if chance(d, 50, "counts") {
		return d.step("counts", fields{})
	}
	if chance(d, 20, "minutes") {
		return d.step("metrics", fields{"kind": oneOf(d, "kind", "completed", "failed")})
	}
	return d.step("state", fields{"job": d.job("wait", "active", "failed")})
}

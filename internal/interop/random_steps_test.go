package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// steps draws one step after the other, with ids that mostly exist in the state the step is meant for.
type drawer struct {
	t *rapid.T
	// common leaves out what BullMQ 5 does differently: pause, deduplication events, priority of a retried job.
	common bool
	state  dump // the reference's present state
}

// kind is one kind of step, drawn weight times as often as one of weight 1.
type kind struct {
	weight int
	draw   func(*drawer) step
}

// kinds are the steps of the random mode; apart are those that versions 5 and 6 do differently.
var (
	kinds = []kind{
		{8, (*drawer).add},
		{8, (*drawer).take},
		{5, (*drawer).complete},
		{6, (*drawer).fail},
		{2, (*drawer).bounce},
		{2, (*drawer).stall},
		{2, (*drawer).stalledCheck},
		{2, (*drawer).promote},
		{2, (*drawer).change},
		{2, (*drawer).update},
		{1, (*drawer).remove},
		{1, (*drawer).sweep},
		{2, (*drawer).again},
		{4, (*drawer).batch},
		{2, (*drawer).limit},
		{3, (*drawer).tick},
		{1, (*drawer).look},
	}
	apart = []kind{
		{2, (*drawer).pauseResume},
		{2, (*drawer).addDeduplicated},
	}
)

// next draws a step.
func (d *drawer) next() step {
	list := kinds
	if !d.common {
		list = slices.Concat(kinds, apart)
	}
	var spread []kind
	for _, k := range list {
		spread = append(spread, slices.Repeat([]kind{k}, k.weight)...)
	}
	return rapid.SampledFrom(spread).Draw(d.t, "kind").draw(d)
}

type fields map[string]any

func makeStep(op string, f fields) step {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return step{op, text}
}

func oneOf[T any](d *drawer, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(d.t, label)
}

// chance is true in so many of a hundred cases; a failing case is shrunk to false.
func chance(d *drawer, percent int, label string) bool {
	return rapid.IntRange(0, 99).Draw(d.t, label) >= 100-percent
}

// job draws an id that is in one of the states, or now and then any other.
func (d *drawer) job(states ...string) string {
	var ids []string
	for _, s := range states {
		prefix := "bull:q:" + s + "|"
		for _, p := range slices.Sorted(maps.Keys(d.state)) {
			if id, ok := strings.CutPrefix(p, prefix); ok {
				if s == "wait" || s == "active" || s == "paused" {
					id = d.state[p]
				}
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 || chance(d, 8, "stray") {
		return oneOf(d, "id", "1", "2", "3", "5", "8", "c0", "c1", "gone")
	}
	return oneOf(d, "id", ids...)
}

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
	return makeStep("add", fields{"name": oneOf(d, "name", "a", "b", "é"), "data": fields{"n": 1}, "opts": o})
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
	return makeStep("add", fields{"name": "d", "data": fields{}, "opts": o})
}

// worker draws the options of the worker that takes jobs.
func (d *drawer) worker() fields {
	w := fields{}
	if chance(d, 30, "worker name") {
		w["name"] = "w1"
	}
	if chance(d, 20, "limiter") {
		w["limiter"] = fields{"max": oneOf(d, "max", 2, 5), "duration": 60000}
	}
	return w
}

func (d *drawer) take() step { return makeStep("take", fields{"worker": d.worker()}) }

func (d *drawer) complete() step {
	f := d.end()
	f["value"] = oneOf[any](d, "value", nil, 1, "é", fields{"a": 1})
	return makeStep("complete", f)
}

// end draws which job ends and whether the next one is taken with it. After a refusal BullMQ's script takes none, while
// ours, which ends several jobs at once, does; so a step that will be refused does not ask for one.
func (d *drawer) end() fields {
	f := fields{"job": d.job("active"), "token": d.token()}
	key := fmt.Sprintf("bull:q:%s", f["job"])
	_, exists := d.state[key]
	held := d.state[key+":lock|"] == f["token"] && slices.Contains(places(d.state, "bull:q:")[f["job"].(string)], "active")
	f["next"] = chance(d, 40, "next") && exists && held
	return f
}

func (d *drawer) token() string {
	if chance(d, 4, "token") {
		return "wrong"
	}
	return "t"
}

func (d *drawer) fail() step {
	f := d.end()
	f["message"] = oneOf(d, "reason", "one", "two\nlines", "é")
	if chance(d, 15, "unrecoverable") {
		f["kind"] = "unrecoverable"
	}
	return makeStep("fail", f)
}

func (d *drawer) bounce() step {
	id := d.job("active")
	if chance(d, 50, "bounce to delayed") {
		return makeStep("moveToDelayed", fields{"job": id, "delay": oneOf(d, "delay", 0, 30, 400)})
	}
	return makeStep("moveToWait", fields{"job": id})
}

// stall drops a lock, as its expiry would.
func (d *drawer) stall() step { return raw("DEL", "bull:q:"+d.job("active")+":lock") }

func raw(words ...string) step {
	text, _ := json.Marshal(words)
	return step{"redis", text}
}

func (d *drawer) stalledCheck() step {
	if chance(d, 50, "window over") {
		return raw("DEL", "bull:q:stalled-check")
	}
	most := oneOf(d, "most", 0, 1)
	if d.common {
		most = 99 // the limiter of version 5 counts jobs that are past their limit
	}
	return makeStep("stalled", fields{"worker": fields{"maxStalledCount": most}})
}

func (d *drawer) promote() step { return makeStep("promote", fields{"job": d.job("delayed")}) }

func (d *drawer) change() step {
	if chance(d, 50, "change delay") {
		return makeStep("changeDelay", fields{"job": d.job("delayed"), "delay": oneOf(d, "delay", 0, 10, 700)})
	}
	return makeStep("changePriority", fields{
		"job": d.job("wait", "prioritized", "delayed", "active"), "priority": oneOf(d, "priority", 0, 1, 9),
		"lifo": chance(d, 30, "lifo"),
	})
}

func (d *drawer) update() step {
	id := d.job("wait", "active", "completed", "delayed")
	switch oneOf(d, "what", "progress", "data", "log") {
	case "progress":
		return makeStep("updateProgress", fields{"job": id, "value": oneOf[any](d, "value", 5, "é", fields{"p": 1})})
	case "data":
		return makeStep("updateData", fields{"job": id, "value": fields{"changed": true}})
	}
	return makeStep("log", fields{"job": id, "row": oneOf(d, "row", "one", "two")})
}

func (d *drawer) remove() step {
	return makeStep("remove", fields{"job": d.job("wait", "active", "delayed", "prioritized", "completed", "failed")})
}

// sweep removes many jobs at once.
func (d *drawer) sweep() step {
	if chance(d, 25, "drain") {
		return makeStep("drain", fields{"delayed": chance(d, 50, "delayed too")})
	}
	f := fields{"state": oneOf(d, "state", "wait", "active", "delayed", "prioritized", "completed", "failed")}
	if chance(d, 50, "by age") {
		f["grace"] = 50
	} else if f["state"] != "active" { // BullMQ's limit counts jobs it looks at, ours those it removes
		f["limit"] = oneOf(d, "limit", 0, 1, 2)
	}
	return makeStep("clean", f)
}

func (d *drawer) again() step {
	state := oneOf(d, "state", "failed", "completed")
	if d.common && d.priorityOf(state) {
		return d.tick()
	}
	return makeStep("retry", fields{"job": d.job(state), "state": state})
}

// priorityOf reports whether a job of that state has a priority, which version 5 forgets.
func (d *drawer) priorityOf(state string) bool {
	for p := range d.state {
		if id, ok := strings.CutPrefix(p, "bull:q:"+state+"|"); ok && d.state["bull:q:"+id+"|priority"] != "0" {
			return true
		}
	}
	return false
}

func (d *drawer) limit() step {
	switch oneOf(d, "limit", "concurrency", "concurrency off", "rate", "rate off", "window over") {
	case "concurrency":
		return makeStep("globalConcurrency", fields{"value": oneOf(d, "most", 1, 2)})
	case "rate":
		return makeStep("globalRateLimit", fields{"max": oneOf(d, "max", 1, 3), "duration": 60000})
	case "rate off":
		return makeStep("globalRateLimit", fields{"max": 0})
	case "window over":
		return raw("DEL", "bull:q:limiter")
	}
	return makeStep("globalConcurrency", fields{"value": 0})
}

// batch does something to a few jobs in one script run of the engine.
func (d *drawer) batch() step {
	few := func(states ...string) (ids []string) {
		for range rapid.IntRange(1, 4).Draw(d.t, "how many") {
			ids = append(ids, d.job(states...))
		}
		slices.Sort(ids)
		return slices.Compact(ids) // the queue names the refused by id
	}
	switch oneOf(d, "batch", "take", "complete", "bounce", "promote", "remove", "retry") {
	case "complete":
		return makeStep("completeMany", fields{"jobs": few("active"), "value": 1})
	case "bounce":
		return makeStep("moveToWaitMany", fields{"jobs": few("active")})
	case "promote":
		return makeStep("promoteMany", fields{"jobs": few("delayed")})
	case "remove":
		return makeStep("removeMany", fields{"jobs": few("wait", "active", "delayed", "failed")})
	case "retry":
		if d.common && d.priorityOf("failed") {
			return d.tick()
		}
		return makeStep("retryMany", fields{"jobs": few("failed")})
	}
	return makeStep("takeMany", fields{"count": rapid.IntRange(1, 4).Draw(d.t, "count"), "worker": d.worker()})
}

func (d *drawer) pauseResume() step {
	return makeStep(oneOf(d, "switch", "pause", "resume"), fields{})
}

func (d *drawer) tick() step {
	text, _ := json.Marshal(oneOf(d, "ms", 5, 40, 600, 2000))
	return step{"tick", text}
}

func (d *drawer) look() step {
	if chance(d, 50, "counts") {
		return makeStep("counts", fields{})
	}
	return makeStep("state", fields{"job": d.job("wait", "active", "failed")})
}

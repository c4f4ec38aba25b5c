package interop

import (
	"slices"
	"strings"

	"pgregory.net/rapid"
)

var (
	// families are the steps of flows.
	families = []kind{
		{3, (*drawer).addTree},
		{2, (*drawer).addChild},
		{1, (*drawer).waitForChildren},
		{1, (*drawer).letGo},
		{1, (*drawer).lookAtFamily},
	}
	// beats are the steps in the queue of the schedulers. Left out are those that run a firing before its time: BullMQ
	// then overwrites it when the schedule is upserted.
	beats = []kind{
		{6, (*drawer).process},
		{3, (*drawer).upsertScheduler},
		{1, (*drawer).removeScheduler},
		{1, (*drawer).takeRaw},
		{1, (*drawer).complete},
		{1, (*drawer).fail},
		{1, (*drawer).bounce},
		{1, (*drawer).stall},
		{1, (*drawer).stalledCheck},
		{1, (*drawer).update},
		{1, (*drawer).remove},
		{1, (*drawer).again},
		{1, (*drawer).lookAtSchedulers},
		{4, (*drawer).tick},
	}
)

// childOptions are those of a job that has or may get a parent.
func (d *drawer) childOptions(id string) fields {
	o := fields{"jobId": id}
	if chance(d, 60, "on failure") {
		o[oneOf(d, "rule", "failParentOnFailure", "continueParentOnFailure", "ignoreDependencyOnFailure", "removeDependencyOnFailure")] = true
	}
	if chance(d, 30, "attempts") {
		o["attempts"] = 2
	}
	if chance(d, 15, "priority") {
		o["priority"] = 2
	}
	if chance(d, 15, "delay") {
		o["delay"] = 50
	}
	if chance(d, 15, "not kept") {
		o[oneOf(d, "which", "removeOnComplete", "removeOnFail")] = true
	}
	return o
}

func (d *drawer) leaves(most int) (list []fields) {
	ids := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"k0", "k1", "k2", "k3"}), 1, most, rapid.ID[string]).Draw(d.t, "leaves")
	for _, id := range ids {
		list = append(list, fields{"name": "leaf", "queueName": childQueue, "data": fields{"n": 1}, "opts": d.childOptions(id)})
	}
	return list
}

// addTree adds a parent with children, one of which may have children of its own.
func (d *drawer) addTree() step {
	d.queue = mainQueue
	children := d.leaves(3)
	if chance(d, 30, "three generations") {
		middle := fields{
			"name": "middle", "queueName": childQueue, "opts": d.childOptions(oneOf(d, "middle", "m0", "m1")),
			"children": d.leaves(2),
		}
		children = append(slices.DeleteFunc(children, func(c fields) bool { return chance(d, 50, "instead") }), middle)
	}
	o := fields{"jobId": oneOf(d, "root", "p0", "p1", "p2")}
	if chance(d, 20, "root's priority") {
		o["priority"] = 2
	}
	if chance(d, 20, "root's delay") {
		o["delay"] = 50
	}
	return makeStep("flow", fields{"flow": fields{"name": "root", "queueName": mainQueue, "data": fields{}, "opts": o, "children": children}})
}

// addChild adds a job below one that may exist, run or be over.
func (d *drawer) addChild() step {
	d.queue = mainQueue
	parent := d.job(placed...)
	d.queue = childQueue
	o := d.childOptions(oneOf(d, "child", "k0", "k1", "k2", "k3"))
	o["parent"] = fields{"id": parent, "queue": "bull:" + mainQueue}
	return d.step("add", fields{"name": "child", "data": fields{}, "opts": o})
}

func (d *drawer) waitForChildren() step {
	if d.none("active") {
		return d.take()
	}
	return d.step("moveToWaitingChildren", fields{"job": d.job("active"), "token": d.token()})
}

// letGo parts children from parents.
func (d *drawer) letGo() step {
	if id := d.parent(); d.exists(id) && chance(d, 50, "all of them") {
		return d.step("removeUnprocessedChildren", fields{"job": id})
	}
	d.queue = childQueue
	id := d.job("wait", "prioritized", "delayed", "failed", "waiting-children")
	if d.state[d.key(id+"|parentKey")] == "" {
		return d.tick() // of others BullMQ says that "undefined" is missing
	}
	return d.step("removeChildDependency", fields{"job": id})
}

func (d *drawer) exists(id string) bool {
	_, ok := d.state[d.key(id)]
	return ok
}

// parent draws a job that probably has children.
func (d *drawer) parent() string {
	return d.job("waiting-children", "wait", "active", "completed", "failed")
}

func (d *drawer) lookAtFamily() step {
	what := oneOf(d, "what", "dependencies", "dependencyCounts", "childrenValues", "ignoredFailures", "getFlow")
	id := d.parent()
	if !d.exists(id) || what == "getFlow" && d.childTwice() {
		return d.tick()
	}
	return d.step(what, fields{"job": id})
}

// childAgain reports whether a child that ended for one of its parents is there again and runs, or one below it may: BullMQ
// removes it with that parent.
func (d *drawer) childAgain() bool {
	for path := range d.state {
		key, child, inside := strings.Cut(path, "|")
		if !inside || strings.HasSuffix(key, ":dependencies") {
			continue
		}
		for _, list := range []string{":processed", ":failed", ":unsuccessful"} {
			if !strings.HasSuffix(key, list) {
				continue
			}
			_, runs := d.state[child+":lock"]
			_, waits := d.state[child+":dependencies"]
			if runs || waits {
				return true
			}
		}
	}
	return false
}

// childTwice reports whether a child is known in more than one way, as one that ended, went, and is there again: BullMQ's
// getFlow then lists it twice.
func (d *drawer) childTwice() bool {
	known := map[string]bool{}
	for path := range d.state {
		key, child, inside := strings.Cut(path, "|")
		for _, list := range []string{":dependencies", ":processed", ":failed", ":unsuccessful"} {
			if inside && strings.HasSuffix(key, list) {
				if known[child] {
					return true
				}
				known[child] = true
			}
		}
	}
	return false
}

func (d *drawer) upsertScheduler() step {
	d.queue = beatQueue
	repeat := fields{"every": oneOf(d, "every", 300, 1000, 5000)}
	if chance(d, 30, "offset") {
		repeat["offset"] = 200
	}
	if !d.skewed && chance(d, 40, "pattern") {
		repeat = fields{"pattern": oneOf(d, "pattern", "* * * * * *", "*/5 * * * * *"), "tz": "Europe/Madrid"}
	}
	if chance(d, 20, "limit") {
		repeat["limit"] = oneOf(d, "limit", 1, 3)
	}
	template := fields{"name": "beat"}
	if chance(d, 50, "data") {
		template["data"] = fields{"a": 1}
	}
	if chance(d, 50, "options") {
		template["opts"] = oneOf(d, "opts", fields{"attempts": 2}, fields{"priority": 3}, fields{"removeOnComplete": true},
			fields{"attempts": 2, "backoff": fields{"type": "fixed", "delay": 100}})
	}
	return d.step("upsertScheduler", fields{"scheduler": d.scheduler(), "repeat": repeat, "template": template})
}

func (d *drawer) scheduler() string { return oneOf(d, "scheduler", "tick", "tock") }

func (d *drawer) removeScheduler() step {
	return d.step("removeScheduler", fields{"scheduler": d.scheduler()})
}

// process runs a job as a worker does, which adds the scheduler's next one.
func (d *drawer) process() step {
	outcome := fields{"return": 1}
	if chance(d, 30, "fails") {
		outcome = fields{"fail": "no"}
	}
	return d.step("process", fields{"outcome": outcome, "worker": d.worker()})
}

func (d *drawer) takeRaw() step { return d.step("takeRaw", fields{"worker": d.worker()}) }

func (d *drawer) lookAtSchedulers() step {
	if chance(d, 50, "one") {
		return d.step("scheduler", fields{"scheduler": d.scheduler()})
	}
	return d.step("schedulerPage", fields{})
}

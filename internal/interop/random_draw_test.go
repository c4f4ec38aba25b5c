package interop

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// drawer draws one step after the other, with ids that mostly exist in the state the step is meant for.
type drawer struct {
	t *rapid.T
	// common leaves out what BullMQ 5 does differently: pause, deduplication events, removal of a flow's jobs, schedulers,
	// priority of a retried job.
	common bool
	// unpaused leaves out pausing, with which BullMQ 5 and 6 on one queue lose jobs.
	unpaused bool
	// skewed leaves out patterns: a clock that is behind plans firings again that are over.
	skewed  bool
	metrics bool   // workers keep the counts of minutes
	queue   string // that the present step is for
	state   dump   // the reference's present state
}

// The queues of the random mode: parents are in the first, their children in the second, schedulers in the third.
const (
	mainQueue  = "q"
	childQueue = "kids"
	beatQueue  = "beat"
)

var randomQueues = []string{mainQueue, childQueue, beatQueue}

func baseOf(queue string) string { return "bull:" + queue + ":" }

// key is one of the present queue.
func (d *drawer) key(name string) string { return baseOf(d.queue) + name }

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
		{2, (*drawer).addDeduplicated},
		{2, (*drawer).upsertScheduler},
	}
)

// next draws a step.
func (d *drawer) next() step {
	d.queue = mainQueue
	list := kinds
	if !d.common {
		list = slices.Concat(kinds, apart, families)
	}
	if !d.common && !d.unpaused {
		list = append(list, kind{2, (*drawer).pauseResume})
	}
	switch {
	case d.known(childQueue) && chance(d, 35, "among the children"):
		d.queue = childQueue
	case d.known(beatQueue) && chance(d, 35, "of a scheduler"):
		d.queue, list = beatQueue, beats
	}
	var spread []kind
	for _, k := range list {
		spread = append(spread, slices.Repeat([]kind{k}, k.weight)...)
	}
	return oneOf(d, "kind", spread...).draw(d)
}

type fields map[string]any

// known reports whether there is anything of a queue.
func (d *drawer) known(queue string) bool {
	_, ok := d.state[baseOf(queue)+"meta"]
	return ok
}

// step is one for the present queue.
func (d *drawer) step(op string, f fields) step {
	if d.queue != mainQueue {
		f["queue"] = d.queue
	}
	return makeStep(op, f)
}

func makeStep(op string, f fields) step {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return step{op, text}
}

// evenly draws a number below n, each as likely as the other: rapid's own draws prefer small ones, and a suite that
// hardly does anything but add. A failing case is shrunk to 0.
func evenly(t *rapid.T, label string, n int) int {
	return rapid.Custom(func(t *rapid.T) int {
		v := 0
		for range 10 {
			v *= 2
			if rapid.Bool().Draw(t, "bit") {
				v++
			}
		}
		return v * n / 1024
	}).Draw(t, label)
}

func oneOf[T any](d *drawer, label string, values ...T) T {
	return values[evenly(d.t, label, len(values))]
}

// chance is true in so many of a hundred cases; a failing case is shrunk to false.
func chance(d *drawer, percent int, label string) bool { return evenly(d.t, label, 100) >= 100-percent }

// strays are ids to draw where none is in the state that is meant.
var strays = map[string][]string{
	mainQueue:  {"1", "2", "3", "5", "8", "c0", "c1", "p0", "gone"},
	childQueue: {"k0", "k1", "k2", "m0", "1", "gone"},
	beatQueue:  {"1", "gone"},
}

// job draws an id that is in one of the states, or now and then any other.
func (d *drawer) job(states ...string) string {
	var ids []string
	for _, s := range states {
		prefix := d.key(s + "|")
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
		return oneOf(d, "id", strays[d.queue]...)
	}
	return oneOf(d, "id", ids...)
}

// none is mostly true if no job is in a state: a step meant for one would only be refused.
func (d *drawer) none(state string) bool {
	_, any := d.state[d.key(state)]
	return !any && chance(d, 85, "something else")
}

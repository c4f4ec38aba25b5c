package interop

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// placed are the collections a job can be in; "paused" holds waiting jobs of BullMQ 5.
var placed = []string{
	"wait", "paused", "active", "delayed", "prioritized", "completed", "failed", "waiting-children",
}

// places says in which collections each id of a queue is, a list's double entries counted.
func places(d dump, base string) map[string][]string {
	where := map[string][]string{}
	for path, value := range d {
		rest, ok := strings.CutPrefix(path, base)
		if !ok {
			continue
		}
		key, member, inside := strings.Cut(rest, "|")
		if !inside || !slices.Contains(placed, key) {
			continue
		}
		if key == "wait" || key == "paused" || key == "active" {
			member = value
		}
		where[member] = append(where[member], key)
	}
	return where
}

// hashes are the ids of a queue that have a job hash: one with the time it was added, or the trace of a start.
func hashes(d dump, base string) map[string]bool {
	ids := map[string]bool{}
	for path := range d {
		rest, ok := strings.CutPrefix(path, base)
		if id, field, inside := strings.Cut(rest, "|"); ok && inside && (field == "timestamp" || field == "ats") {
			ids[id] = true
		}
	}
	return ids
}

// broken lists what must never be: an id in no state or in two, an id without a hash, a lock of a job that does not run.
func broken(d dump, base string) []string {
	var problems []string
	where, have := places(d, base), hashes(d, base)
	for _, id := range slices.Sorted(maps.Keys(where)) {
		if len(where[id]) != 1 {
			problems = append(problems, fmt.Sprintf("job %s is in %v", id, where[id]))
		}
		if !have[id] {
			problems = append(problems, fmt.Sprintf("job %s in %v has no hash", id, where[id]))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(have)) {
		if len(where[id]) == 0 {
			problems = append(problems, fmt.Sprintf("job %s is in no state", id))
		}
		if _, locked := d[base+id+":lock"]; locked && !slices.Contains(where[id], "active") {
			problems = append(problems, fmt.Sprintf("job %s is locked in %v", id, where[id]))
		}
	}
	return problems
}

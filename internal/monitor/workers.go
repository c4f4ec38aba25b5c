package monitor

import (
	"cmp"
	"slices"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/presence"
)

// The sources of a ceiling.
const (
	ceilingFromWorkers  = "workers"  // every worker announced what it can do
	ceilingFromDeclared = "declared" // the policy says what workers of others can do
	ceilingFromGlobal   = "global"   // the queue's own bound is lower
)

// fleet is what is known of a queue's workers.
type fleet struct {
	listed    []Worker // from CLIENT LIST
	known     bool     // CLIENT LIST answers, or nobody else can be connected
	announced []presence.Worker
}

// bullpen is how many workers announced themselves, capacity what they run at once.
func (f fleet) bullpen() (n, capacity int64) {
	for _, w := range f.announced {
		capacity += int64(w.Concurrency)
	}
	return int64(len(f.announced)), capacity
}

// count is how many workers are connected. One that announced itself counts even while its connection is not seen.
func (f fleet) count() int64 { return int64(max(len(f.listed), len(f.announced))) }

// ceiling is how many jobs the fleet can run at once: what Bullpen's workers announced, plus the policy's worker
// concurrency (0 = not declared) for each other worker, bounded by the queue's global concurrency (0 = none).
func (f fleet) ceiling(workerConcurrency, global int64) (n int64, source string, known bool) {
	own, capacity := f.bullpen()
	n, source, known = capacity, ceilingFromWorkers, f.known
	if others := f.count() - own; others > 0 {
		n += others * workerConcurrency
		source = ceilingFromDeclared
		known = known && workerConcurrency > 0
	}
	// The bound decides as soon as what is known of the fleet reaches it.
	if global > 0 && n >= global {
		return global, ceilingFromGlobal, true
	}
	if !known {
		return 0, "", false
	}
	return n, source, true
}

// merge joins connections and announcements of a queue into one list. An announcement belongs to the connection with
// its name.
func (f fleet) merge(q keys.Queue) []Worker {
	all := slices.Clone(f.listed)
	for _, a := range f.announced {
		i := slices.IndexFunc(all, func(w Worker) bool { return !w.Bullpen && w.Name == a.Name })
		if i < 0 {
			all = append(all, Worker{Queue: q, Name: a.Name})
			i = len(all) - 1
		}
		w := &all[i]
		w.Bullpen, w.Host, w.PID, w.Concurrency = true, a.Host, a.Process, a.Concurrency
		w.Version, w.PolicyHash, w.Revision, w.AnnouncedLast = a.Version, a.Policy, a.Revision, time.UnixMilli(a.Seen)
	}
	slices.SortStableFunc(all, func(a, b Worker) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Addr, b.Addr)) })
	return all
}

package monitor

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"bullpen/internal/engine/keys"
)

// find is a queue that exists, or is about to.
type find struct {
	queue keys.Queue
	// checked says its keys were looked at; legacy is only known then: it is of Bull 3 or 4.
	checked, legacy bool
	// search is the number of the search during which it was found.
	search int
}

// finds carries queues from those who find them to the collector.
type finds struct {
	allowed func(keys.Queue) bool

	mu      sync.Mutex
	fresh   map[keys.Queue]find
	watched map[keys.Queue]bool
	search  int // number of the running search
	ended   int // number of the last one that ended
	part    Part
	refused string
}

func newFinds(o Options) *finds {
	return &finds{
		fresh: map[keys.Queue]find{}, watched: map[keys.Queue]bool{}, part: Part{Name: "discovery"},
		allowed: func(q keys.Queue) bool {
			return slices.Contains(o.Prefixes, q.Prefix) && q.Name != "" && !strings.Contains(q.Name, ":") &&
				(len(o.Include) == 0 || Match(o.Include, q)) && !Match(o.Exclude, q)
		},
	}
}

// offer adds queues; those the configuration leaves out are ignored.
func (f *finds) offer(found ...find) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range found {
		if !f.allowed(one.queue) || f.fresh[one.queue].checked && !one.checked {
			continue
		}
		one.search = f.search
		f.fresh[one.queue] = one
	}
}

// note adds a queue nobody has looked at, and says whether it was new.
func (f *finds) note(q keys.Queue) bool {
	if !f.allowed(q) {
		return false
	}
	f.mu.Lock()
	known := f.watched[q] || f.fresh[q].checked
	f.mu.Unlock()
	if !known {
		f.offer(find{queue: q})
	}
	return !known
}

// watch says that the collector watches q, or no longer does.
func (f *finds) watch(q keys.Queue, watched bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if watched {
		f.watched[q] = true
	} else {
		delete(f.watched, q)
	}
}

// take returns what was found since the last call, in order, and the number of the last search that ended.
func (f *finds) take() (found []find, ended int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found = slices.Collect(maps.Values(f.fresh))
	slices.SortFunc(found, func(a, b find) int { return compareQueues(a.queue, b.queue) })
	clear(f.fresh)
	return found, f.ended
}

// begin marks the start of a search.
func (f *finds) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.search++
}

// end marks its end. refused is why queues cannot be searched for, err the failure behind it or of Redis as a whole.
func (f *finds) end(at time.Time, took time.Duration, refused string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.part.Took, f.part.Err, f.refused = took, err, refused
	if err == nil {
		f.part.LastSuccess, f.ended = at, f.search
	}
}

// state returns how the last search went and why searching is refused, "" if it is not.
func (f *finds) state() (Part, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.part, f.refused
}

// compareQueues orders by name, then prefix.
func compareQueues(a, b keys.Queue) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Prefix, b.Prefix))
}

package web

import (
	"sync"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
)

// keepTicks is for how many passes at most a live list is shown again without reading it: what changes without moving a
// count, such as a lost lock, is seen that much later.
const keepTicks = 5

// keptList is what a live view knows of its list since the last pass, so that a list in which nothing moved costs Redis
// nothing, however many of them are open.
type keptList struct {
	mu    sync.Mutex
	mark  listMark
	at    time.Time
	rows  []engine.Row
	total int64
}

// listMark changes whenever something is known to have happened in a queue.
type listMark struct {
	counts                   [7]int64
	paused, added            int64
	completed, failedForGood int64
	totals                   monitor.EventTotals
	tab                      tab // where the address names none, it depends on the counts
}

func markOf(q *monitor.Queue, t tab) listMark {
	m := listMark{paused: q.PausedList, added: q.Added, completed: q.Completed, failedForGood: q.FailedForGood, totals: q.Totals, tab: t}
	for i, st := range keys.States {
		m.counts[i] = q.Counts[st]
	}
	return m
}

// read returns what was read before, if nothing has happened in the queue since and nobody acted here, else what read
// does. On a nil keptList it always reads.
func (k *keptList) read(s *Server, q *monitor.Queue, t tab, read func() ([]engine.Row, int64, error)) ([]engine.Row, int64, error) {
	if k == nil {
		return read()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	mark, now := markOf(q, t), s.o.Clock()
	if q.Counts != nil && mark == k.mark && now.Sub(k.at) < keepTicks*s.o.Tick && k.at.After(s.scans.lastTouch()) {
		return k.rows, k.total, nil
	}
	k.at = time.Time{}
	rows, total, err := read()
	if err == nil {
		k.mark, k.at, k.rows, k.total = mark, now, rows, total
	}
	return rows, total, err
}

package monitor

import (
	"slices"
	"time"
)

// historyLength is how many closed minutes are kept.
const historyLength = 60

// openMinute gathers what the collector reads during the running minute.
type openMinute struct {
	start                  time.Time
	base                   sample // totals when it began
	backlogMin, backlogMax int64
	busy                   float64
	busyReads              int64
	limited, reads         int64
}

// observe adds one read: the totals, the share of the ceiling in use (negative when unknown) and whether the limiter is
// closed. It returns the minute that this read closed, if it closed one.
func (o *openMinute) observe(s sample, busy float64, limited bool) (closed Minute, ok bool) {
	start := s.at.Truncate(time.Minute)
	switch {
	case o.start.IsZero():
		*o = openMinute{start: start, base: s}
	case start.After(o.start):
		closed, ok = o.close(s), true
		*o = openMinute{start: start, base: s}
	}
	if o.reads == 0 {
		o.backlogMin, o.backlogMax = s.backlog, s.backlog
	}
	o.reads++
	o.backlogMin, o.backlogMax = min(o.backlogMin, s.backlog), max(o.backlogMax, s.backlog)
	if busy >= 0 {
		o.busy, o.busyReads = o.busy+busy, o.busyReads+1
	}
	if limited {
		o.limited++
	}
	return closed, ok
}

func (o *openMinute) close(end sample) Minute {
	m := Minute{
		Start: o.start,
		Added: end.added - o.base.added, Completed: end.completed - o.base.completed,
		Failed: end.failed - o.base.failed, Retried: end.retried - o.base.retried, Stalled: end.stalled - o.base.stalled,
		BacklogMin: o.backlogMin, BacklogMax: o.backlogMax, Busy: -1, Reads: o.reads,
	}
	if o.busyReads > 0 {
		m.Busy = o.busy / float64(o.busyReads)
	}
	if o.reads > 0 {
		m.Limited = float64(o.limited) / float64(o.reads)
	}
	return m
}

// idle says that nothing happened in the minute.
func (m *Minute) idle() bool {
	return m.Added+m.Completed+m.Failed+m.Retried+m.Stalled+m.BacklogMax == 0 && m.Busy <= 0 && m.Limited == 0
}

// appendMinute returns history with m at its end, in new memory because snapshots share the old. Minutes nobody watched
// are filled in empty, so that entry i is always i minutes from the last. A queue that was idle for an hour has none, so
// that thousands of idle queues cost no memory.
func appendMinute(history []Minute, m Minute) []Minute {
	if !slices.ContainsFunc(history, func(m Minute) bool { return !m.idle() }) && m.idle() {
		return nil
	}
	next := make([]Minute, 0, historyLength)
	next = append(next, history...)
	for len(next) > 0 {
		missing := next[len(next)-1].Start.Add(time.Minute)
		if !missing.Before(m.Start) {
			break
		}
		if m.Start.Sub(missing) > historyLength*time.Minute {
			next = next[:0]
			break
		}
		next = append(next, Minute{Start: missing, Busy: -1})
	}
	next = append(next, m)
	if n := len(next) - historyLength; n > 0 {
		next = slices.Clone(next[n:])
	}
	return next
}

// withTimes returns history with the wait and run times the followers saw. It copies only when something is new.
func withTimes(history, seen []Minute) []Minute {
	copied := false
	i := 0
	for _, s := range seen {
		if s.Seen == 0 {
			continue
		}
		for i < len(history) && history[i].Start.Before(s.Start) {
			i++
		}
		if i == len(history) || !history[i].Start.Equal(s.Start) || history[i].Seen == s.Seen {
			continue
		}
		if !copied {
			history, copied = slices.Clone(history), true
		}
		h := &history[i]
		h.WaitP50, h.WaitP95, h.RunP50, h.RunP95, h.RunMean, h.Seen = s.WaitP50, s.WaitP95, s.RunP50, s.RunP95, s.RunMean, s.Seen
	}
	return history
}

// window sums up the last n closed minutes; it is not complete when fewer were read.
type window struct {
	complete      bool
	busy, limited float64 // means; busy is -1 when unknown
}

func lastMinutes(history []Minute, n int) window {
	w := window{busy: -1}
	if len(history) < n {
		return w
	}
	w.complete = true
	var busy, limited float64
	known := true
	for _, m := range history[len(history)-n:] {
		w.complete = w.complete && m.Reads > 0
		known = known && m.Busy >= 0
		busy += m.Busy / float64(n)
		limited += m.Limited / float64(n)
	}
	w.limited = limited
	if known {
		w.busy = busy
	}
	return w
}

// growing is the ratchet: the backlog's low water of the last five minutes is above the high water of the five before.
// One step that drains does not count, noise does not, and no threshold in jobs is needed.
func growing(history []Minute) bool {
	const half = 5
	if len(history) < 2*half {
		return false
	}
	late, early := history[len(history)-half:], history[len(history)-2*half:len(history)-half]
	low, high := late[0].BacklogMin, early[0].BacklogMax
	for i := range half {
		if late[i].Reads == 0 || early[i].Reads == 0 {
			return false
		}
		low, high = min(low, late[i].BacklogMin), max(high, early[i].BacklogMax)
	}
	return low > high
}

// runsLonger compares the run time of the last five minutes with the usual one, the median of the earlier minutes.
// ok says it is at least twice that; both sides need enough to go by.
func runsLonger(history []Minute) (p95 time.Duration, ok bool) {
	const recent, least, minutes = 5, 20, 15
	if len(history) < recent {
		return 0, false
	}
	var usual []float64
	for _, m := range history[:len(history)-recent] {
		if m.Seen > 0 {
			usual = append(usual, m.RunP95)
		}
	}
	var sum float64
	var seen int64
	for _, m := range history[len(history)-recent:] {
		sum += m.RunP95 * float64(m.Seen)
		seen += m.Seen
	}
	if len(usual) < minutes || seen < least {
		return 0, false
	}
	slices.Sort(usual)
	now, then := sum/float64(seen), usual[len(usual)/2]
	return time.Duration(now * float64(time.Millisecond)), then > 0 && now >= 2*then
}

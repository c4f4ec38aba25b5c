package monitor

import "time"

const (
	// sampleEvery and sampleCount make a ring that reaches back five minutes.
	sampleEvery = 10 * time.Second
	sampleCount = 31
	// rateWindow is what rates are measured over, failureWindow the share of failing attempts.
	rateWindow    = time.Minute
	failureWindow = 5 * time.Minute
	// leastWindow is how much must have been seen before a rate is worth showing.
	leastWindow = 15 * time.Second
)

// source says where a running total comes from; totals of different sources cannot be compared.
type source uint8

const (
	fromNowhere source = iota
	fromID
	fromEvents
	fromMetrics
	fromSet // the size of a set of kept jobs: it shrinks when they are removed
)

// counter turns what sources say into one running total that never falls.
type counter struct {
	source source
	raw    int64
	total  int64
}

func (c *counter) observe(s source, raw int64) {
	switch {
	case c.source != s: // first sight, or nothing to compare with
	case raw >= c.raw:
		c.total += raw - c.raw
	case s != fromSet: // the count began anew: the queue was obliterated or Redis flushed
		c.total += raw
	}
	c.source, c.raw = s, raw
}

// sample is the running totals of a queue at one moment.
type sample struct {
	at                                                  time.Time
	added, started, completed, failed, retried, stalled int64
	backlog                                             int64
	// active is the sum of the active jobs over all reads so far, reads how many these were.
	active, reads int64
}

// samples is a ring of the last five minutes, one every ten seconds.
type samples struct {
	ring [sampleCount]sample
	next int
	len  int
}

func (s *samples) push(v sample) {
	if s.len > 0 && v.at.Sub(s.ring[(s.next+sampleCount-1)%sampleCount].at) < sampleEvery {
		return
	}
	s.ring[s.next] = v
	s.next = (s.next + 1) % sampleCount
	s.len = min(s.len+1, sampleCount)
}

// before returns the youngest sample that is at least d older than at, or the oldest there is; false when there is none.
func (s *samples) before(at time.Time, d time.Duration) (sample, bool) {
	for i := 1; i <= s.len; i++ {
		v := s.ring[(s.next+sampleCount-i)%sampleCount]
		if at.Sub(v.at) >= d || i == s.len {
			return v, true
		}
	}
	return sample{}, false
}

// rates compares now with the past.
func (s *samples) rates(now sample) Rates {
	var r Rates
	if old, ok := s.before(now.at, rateWindow); ok && now.at.Sub(old.at) >= leastWindow {
		r.Window = now.at.Sub(old.at)
		per := 1 / r.Window.Seconds()
		r.Added = float64(now.added-old.added) * per
		r.Started = float64(now.started-old.started) * per
		r.Completed = float64(now.completed-old.completed) * per
		r.Failed = float64(now.failed-old.failed) * per
		r.Retried = float64(now.retried-old.retried) * per
		r.Growth = float64(now.backlog-old.backlog) * per
		if n := now.reads - old.reads; n > 0 {
			r.Active = float64(now.active-old.active) / float64(n)
		}
		r.Known = true
	}
	if old, ok := s.before(now.at, failureWindow); ok {
		failed := now.failed - old.failed + now.retried - old.retried
		r.Attempts = failed + now.completed - old.completed
		if r.Attempts > 0 {
			r.FailingShare = float64(failed) / float64(r.Attempts)
		}
	}
	return r
}

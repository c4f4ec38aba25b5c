package monitor

import (
	"math"
	"time"
)

// maxMinutes is how many closed minutes are kept per queue.
const maxMinutes = 60

// minuteGrace is how long a minute stays open after its end, for entries still to be read.
const minuteGrace = 5 * time.Second

// sketchGrowth is the ratio of a bucket's upper bound to the one below: a quantile is at most 5 % off.
const sketchGrowth = 1.1

// sketchBuckets reach from 1 ms to two days.
const sketchBuckets = 200

var logGrowth = math.Log(sketchGrowth)

// sketch is a histogram of milliseconds with buckets that grow by a constant ratio.
type sketch struct {
	counts [sketchBuckets]uint32
	n      int64
	sum    float64
}

func (s *sketch) add(ms int64) {
	i := 0
	if ms > 1 {
		i = min(int(math.Ceil(math.Log(float64(ms))/logGrowth)), sketchBuckets-1)
	}
	s.counts[i]++
	s.n++
	s.sum += float64(ms)
}

// quantile returns the value below which a share q of those added lies, 0 for an empty sketch.
func (s *sketch) quantile(q float64) float64 {
	rank := int64(math.Ceil(q * float64(s.n)))
	var seen int64
	for i, n := range s.counts {
		if seen += int64(n); n > 0 && seen >= rank {
			return math.Max(1, math.Pow(sketchGrowth, float64(i)-0.5)) // times are whole milliseconds
		}
	}
	return 0
}

func (s *sketch) mean() float64 {
	if s.n == 0 {
		return 0
	}
	return s.sum / float64(s.n)
}

// minuteLog is the recent past of one queue, minute by minute in the time of its events.
type minuteLog struct {
	open      Minute
	wait, run *sketch // of the open minute; nil until something is added
	// closed is replaced, never changed, so it can be given out.
	closed []Minute
}

// newMinuteLog begins with the minute of now.
func newMinuteLog(now time.Time) *minuteLog {
	return &minuteLog{open: Minute{Start: now.Truncate(time.Minute)}}
}

// at returns the minute that an event at ms belongs to, closing those before. Events that come late count in the open
// minute. The result is good until the next call.
func (l *minuteLog) at(ms int64) *Minute {
	l.roll(time.UnixMilli(ms))
	return &l.open
}

func (l *minuteLog) roll(now time.Time) {
	start := now.Truncate(time.Minute)
	if start.After(l.open.Start) {
		l.close(start)
	}
}

// close ends the open minute and opens the one that begins at next; minutes between them were empty.
func (l *minuteLog) close(next time.Time) {
	m := l.open
	if l.wait != nil {
		m.WaitP50, m.WaitP95 = l.wait.quantile(0.5), l.wait.quantile(0.95)
	}
	if l.run != nil {
		m.RunP50, m.RunP95, m.RunMean, m.Seen = l.run.quantile(0.5), l.run.quantile(0.95), l.run.mean(), l.run.n
	}
	closed := append([]Minute(nil), l.closed...)
	closed = append(closed, m)
	first := m.Start.Add(time.Minute)
	if earliest := next.Add(-maxMinutes * time.Minute); first.Before(earliest) {
		first = earliest
	}
	for t := first; t.Before(next); t = t.Add(time.Minute) {
		closed = append(closed, Minute{Start: t})
	}
	l.closed = closed[max(0, len(closed)-maxMinutes):]
	l.open, l.wait, l.run = Minute{Start: next}, nil, nil
}

func (l *minuteLog) waited(at, ms int64) {
	l.at(at)
	if l.wait == nil {
		l.wait = &sketch{}
	}
	l.wait.add(ms)
}

func (l *minuteLog) ran(at, ms int64) {
	l.at(at)
	if l.run == nil {
		l.run = &sketch{}
	}
	l.run.add(ms)
}

// minutes returns the minutes closed by now, oldest first, at most maxMinutes.
func (l *minuteLog) minutes(now time.Time) []Minute {
	l.roll(now.Add(-minuteGrace))
	return l.closed
}

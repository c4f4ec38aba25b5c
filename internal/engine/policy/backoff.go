package policy

import (
	"math"
	"time"
)

// The backoff types BullMQ computes itself; any other name is a custom strategy.
const (
	Fixed       = "fixed"
	Exponential = "exponential"
)

// longest bounds a delay that grew without a cap, so that due times stay exact.
const longest = 100 * 365 * 24 * time.Hour

// Backoff says how long to wait before a retry.
type Backoff struct {
	Type   string        // "fixed" or "exponential"; "" = no backoff
	Delay  time.Duration // of the first retry
	Max    time.Duration // cap; 0 = none
	Jitter float64       // 0..1
}

// After returns the wait after the n-th attempt failed, n counted from 1 (lifecycle 8.8). random in [0,1) places the
// result inside the jittered range. A backoff of another type, and one without a delay, is 0: retry at once.
func (b Backoff) After(n int, random float64) time.Duration {
	ms := float64(b.Delay) / float64(time.Millisecond)
	switch b.Type {
	case Fixed:
	case Exponential:
		ms = math.Round(math.Ldexp(ms, max(n, 1)-1))
	default:
		return 0
	}
	ms = min(ms, float64(longest/time.Millisecond))
	if b.Jitter > 0 {
		ms = math.Floor(random*ms*b.Jitter + ms*(1-b.Jitter))
	}
	return b.Cap(time.Duration(max(ms, 0) * float64(time.Millisecond)))
}

// Cap cuts d to Max.
func (b Backoff) Cap(d time.Duration) time.Duration {
	if b.Max > 0 {
		return min(d, b.Max)
	}
	return d
}

// Total is the mean time from the first failure to the start of the last of the given attempts, runs not counted; about a
// century at most.
func (b Backoff) Total(attempts int) time.Duration {
	var total time.Duration
	for n := 1; n < attempts && total < longest; n++ {
		wait := b.After(n, 0.5)
		if wait == b.After(n+1, 0.5) { // and so are all that follow
			left := time.Duration(attempts - n)
			if wait > 0 && left > longest/wait {
				return longest
			}
			return total + left*wait
		}
		total += wait
	}
	return total
}

func (b Backoff) over(base Backoff) Backoff {
	b.Type = base.Type
	fill(&b.Delay, base.Delay)
	fill(&b.Max, base.Max)
	fill(&b.Jitter, base.Jitter)
	return b
}

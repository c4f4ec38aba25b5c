package monitor

import (
	"math"
	"time"
)

// busyTarget is the share of its slots a worker should use on average: what is left absorbs the runs that take longer.
const busyTarget = 0.8

// Need is what a service downstream is to be given by a queue's workers.
type Need struct {
	// Rate is the attempts per second it shall get, retries included.
	Rate float64
	// Run is the mean time of one.
	Run time.Duration
	// Replicas is how many processes run a worker of the queue.
	Replicas int
	// Pool is how many attempts each replica can run at once for other reasons, such as its connections; 0 = no bound.
	Pool int
}

// Advice is what to set for a Need.
type Advice struct {
	// Max and Window are the limiter.
	Max    int
	Window time.Duration
	// InFlight is how many attempts run at once over all replicas (Little: rate × mean run), PerReplica its share.
	InFlight, PerReplica float64
	// Concurrency is that of each replica's worker: its share with room for slow runs, cut to the pool.
	Concurrency int
	// Reachable is the attempts per second the replicas can run with it, which is the limiter's rate at best.
	Reachable float64
	// ReplicasNeeded is how many replicas of that pool the rate takes; 0 when those there are suffice.
	ReplicasNeeded int
}

// Advise works out what to set. It depends on its argument only; a need without a rate, a run time or a replica gets the
// zero Advice.
func (n Need) Advise() Advice {
	if !(n.Rate > 0) || math.IsInf(n.Rate, 1) || n.Run <= 0 || n.Replicas < 1 {
		return Advice{}
	}
	a := Advice{InFlight: n.Rate * n.Run.Seconds()}
	a.PerReplica = a.InFlight / float64(n.Replicas)
	a.Max, a.Window = limiterFor(n.Rate)
	a.Concurrency = whole(a.PerReplica / busyTarget)
	if n.Pool > 0 && a.Concurrency > n.Pool {
		a.Concurrency = n.Pool
	}
	if capacity := float64(n.Replicas*a.Concurrency) / n.Run.Seconds(); capacity < n.Rate {
		a.Reachable, a.ReplicasNeeded = capacity, whole(a.InFlight/busyTarget/float64(a.Concurrency))
	} else {
		a.Reachable = n.Rate
	}
	return a
}

// whole rounds up to at least 1. What is a whole number but for the last bits of a division stays that number.
func whole(f float64) int { return max(int(math.Ceil(f-1e-9)), 1) }

// limiterFor is a limiter for a rate per second, never above it: in the shortest window in which a whole number of starts
// is no more than 2 % below.
func limiterFor(rate float64) (most int, d time.Duration) {
	for _, seconds := range []float64{1, 2, 4, 5, 10, 20, 30, 60} {
		if n := math.Floor(rate*seconds + 1e-6); n >= 1 && n >= 0.98*rate*seconds {
			return int(n), time.Duration(seconds) * time.Second
		}
	}
	if n := rate * 60; n >= 1 {
		return int(n), time.Minute
	}
	return 1, time.Duration(math.Ceil(1/rate)) * time.Second
}

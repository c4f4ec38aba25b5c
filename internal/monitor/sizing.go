package monitor

import (
	"math"
	"time"

	"bullpen/internal/engine/policy"
)

// Load is what a queue has to cope with and what it may use. Change a field and ask again to see what would help.
type Load struct {
	// Arrival is new jobs per second.
	Arrival float64
	// FailingShare is how many of the attempts fail, 0..1; Attempts how many a job has.
	FailingShare float64
	Attempts     int
	// MeanRun is the mean time an attempt runs; 0 = unknown.
	MeanRun time.Duration
	// Ceiling is how many jobs can run at once; negative = unknown.
	Ceiling int64
	// Limit is how many jobs the limiter lets start per second; 0 = no limiter.
	Limit float64
	// Backlog is how many jobs are ready now.
	Backlog int64
}

// Sizing is what follows from a Load. Rates are per second.
type Sizing struct {
	// Wanted is the starts needed to keep up: new jobs and their retries. AttemptsPerJob is how many of them one job
	// takes, if failures are independent.
	Wanted, AttemptsPerJob float64
	// Capacity is how many attempts the workers could run; 0 when unknown. Starts is what really can start: Wanted,
	// bounded by the limiter and the capacity. LeftOver is by how much the backlog grows.
	Capacity, Starts, LeftOver float64
	// Bound says what keeps Starts below Wanted, or would next: "limiter", "workers", or "" when neither is known.
	Bound string
	// InFlight is how many jobs must run at once to keep up (Little: rate × mean run), CeilingUse its share of the
	// ceiling; both 0 when unknown.
	InFlight, CeilingUse float64
	// LimiterUse is the share of the limiter that is wanted; 1 and more means jobs wait for it. 0 without a limiter.
	LimiterUse float64
	// UsedUp is the share of jobs that fail all their attempts.
	UsedUp float64
	// Drain is how long until the backlog is gone; Drains is false when it does not shrink.
	Drain  time.Duration
	Drains bool
}

// Measured is the load of a queue as its last minutes show it, under its policy.
func Measured(q *Queue, p policy.Policy) Load {
	l := Load{
		Arrival: q.Rate.Added, FailingShare: q.Rate.FailingShare, Attempts: max(p.Attempts, 1),
		MeanRun: meanRun(q), Ceiling: -1, Backlog: q.Backlog(),
	}
	if q.CeilingKnown {
		l.Ceiling = q.Ceiling
	}
	if q.Limiter.Max > 0 && q.Limiter.Duration > 0 {
		l.Limit = float64(q.Limiter.Max) / q.Limiter.Duration.Seconds()
	}
	return l
}

// meanRun is the mean run time of the attempts that ended in the last five minutes. Where no follower saw them, it is
// the mean number of active jobs by the rate at which they are started or end.
func meanRun(q *Queue) time.Duration {
	var sum float64
	var seen int64
	for _, m := range q.History[max(0, len(q.History)-5):] {
		sum += m.RunMean * float64(m.Seen)
		seen += m.Seen
	}
	if seen > 0 {
		return time.Duration(sum / float64(seen) * float64(time.Millisecond))
	}
	rate := max(q.Rate.Started, q.Rate.Completed+q.Rate.Failed+q.Rate.Retried)
	if !q.Rate.Known || rate == 0 {
		return 0
	}
	return time.Duration(q.Rate.Active / rate * float64(time.Second))
}

// Size works out what follows from the load. It depends on its argument only.
func (l Load) Size() Sizing {
	s := Sizing{UsedUp: math.Pow(l.FailingShare, float64(max(l.Attempts, 1)))}
	s.AttemptsPerJob = attemptsPerJob(l.FailingShare, max(l.Attempts, 1))
	s.Wanted = l.Arrival * s.AttemptsPerJob
	if l.MeanRun > 0 {
		s.InFlight = s.Wanted * l.MeanRun.Seconds()
		if l.Ceiling > 0 {
			s.CeilingUse = s.InFlight / float64(l.Ceiling)
			s.Capacity = float64(l.Ceiling) / l.MeanRun.Seconds()
		}
	}
	possible := math.Inf(1)
	if l.Ceiling == 0 {
		possible, s.Bound = 0, "workers"
	} else if s.Capacity > 0 {
		possible, s.Bound = s.Capacity, "workers"
	}
	if l.Limit > 0 {
		s.LimiterUse = s.Wanted / l.Limit
		if l.Limit < possible {
			possible, s.Bound = l.Limit, "limiter"
		}
	}
	s.Starts = min(s.Wanted, possible)
	s.LeftOver = s.Wanted - s.Starts
	s.Drain, s.Drains = drain(l.Backlog, possible-s.Wanted)
	return s
}

// attemptsPerJob is the mean number of attempts of a job that has n, when each fails with share p.
func attemptsPerJob(p float64, n int) float64 {
	if p >= 1 {
		return float64(n)
	}
	return (1 - math.Pow(p, float64(n))) / (1 - p)
}

// drain is how long a backlog takes to go at the given spare rate; with nothing to bound the rate nobody can tell.
func drain(backlog int64, spare float64) (time.Duration, bool) {
	switch {
	case backlog == 0:
		return 0, true
	case spare <= 0 || math.IsInf(spare, 1):
		return 0, false
	}
	s := float64(backlog) / spare
	if s > (100 * 365 * 24 * time.Hour).Seconds() {
		return 0, false
	}
	return time.Duration(s * float64(time.Second)), true
}

// Survives is how long an outage may last without using up the attempts of the jobs that meet it, when each run ends at
// once: the sum of the policy's backoffs.
func Survives(p policy.Policy) time.Duration { return p.Backoff.Total(max(p.Attempts, 1)) }

// LimiterFull is how many of the last 60 minutes found the limiter closed more often than not.
func LimiterFull(history []Minute) int {
	n := 0
	for _, m := range history {
		if m.Limited > 0.5 {
			n++
		}
	}
	return n
}

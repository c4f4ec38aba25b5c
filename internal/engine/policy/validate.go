package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Problem is a finding about a policy, naming the field in its YAML spelling.
type Problem struct {
	Field, Text string
	// Warning is false for an error.
	Warning bool
}

func (p Problem) String() string { return fmt.Sprintf("%s: %s", p.Field, p.Text) }

// Facts are what a policy is judged against beside its own values. The zero value of a field means "not known".
type Facts struct {
	// Queue is the name of the policy's queue.
	Queue string
	// Worker says that an HTTP or command worker of ours runs the queue; ShutdownGrace is then its drain time.
	Worker        bool
	ShutdownGrace time.Duration
	// Ceiling is how many jobs the fleet runs at once, RunTime the mean run of one, Arrival the jobs per second added.
	Ceiling int
	RunTime time.Duration
	Arrival float64
}

// findings collects problems.
type findings []Problem

func (f *findings) err(field, format string, args ...any) {
	*f = append(*f, Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

func (f *findings) warn(field, format string, args ...any) {
	*f = append(*f, Problem{Field: field, Text: fmt.Sprintf(format, args...), Warning: true})
}

// Validate returns every error and warning that can be told from the values alone, errors first. A zero value is "not
// set" and never an error here; whoever reads a file refuses a zero that was written.
func (p Policy) Validate() []Problem {
	var f findings
	p.checkNumbers(&f)
	sane := len(f)
	if p.checkBackoff(&f); len(f) == sane {
		p.warnBackoff(&f)
	}
	p.checkLimiter(&f)
	p.checkLocks(&f)
	p.warnUnbounded(&f)
	return f.sorted()
}

// ValidateWith returns the findings of Validate and those that need facts, errors first.
func (p Policy) ValidateWith(facts Facts) []Problem {
	f := findings(p.Validate())
	if p.DeadLetter != "" && p.DeadLetter == facts.Queue {
		f.err("dead_letter", "a queue cannot be its own dead-letter queue")
	}
	if facts.Worker {
		p.checkShutdown(&f, facts.ShutdownGrace)
	}
	p.checkRates(&f, facts)
	return f.sorted()
}

func (f findings) sorted() []Problem {
	slices.SortStableFunc(f, func(a, b Problem) int {
		switch {
		case a.Warning == b.Warning:
			return 0
		case b.Warning:
			return -1
		}
		return 1
	})
	return f
}

func (p Policy) checkNumbers(f *findings) {
	counts := []struct {
		field string
		value int
	}{
		{"attempts", p.Attempts},
		{"concurrency", p.Concurrency},
		{"global_concurrency", p.GlobalConcurrency},
		{"max_started_attempts", p.MaxStartedAttempts},
		{"dead_letter_max", p.DeadLetterMax},
		{"workers_expected", p.WorkersExpected},
		{"worker_concurrency", p.WorkerConcurrency},
	}
	for _, c := range counts {
		if c.value < 0 {
			f.err(c.field, "%d is not a positive number", c.value)
		}
	}
	if p.MaxStalled != nil && *p.MaxStalled < 0 {
		f.err("max_stalled", "%d is negative", *p.MaxStalled)
	}
	durations := []struct {
		field string
		value time.Duration
	}{
		{"lock_duration", p.LockDuration},
		{"lock_renew", p.LockRenew},
		{"stalled_interval", p.StalledInterval},
		{"timeout", p.Timeout},
		{"targets.wait", p.WaitTarget},
		{"targets.processing", p.ProcessingTarget},
		{"keep_completed.age", p.KeepCompleted.Age},
		{"keep_failed.age", p.KeepFailed.Age},
	}
	for _, d := range durations {
		if d.value < 0 {
			f.err(d.field, "%s is not a positive duration", d.value)
		}
	}
	checkLimit(f, "keep_completed.limit", p.KeepCompleted.Limit)
	checkLimit(f, "keep_failed.limit", p.KeepFailed.Limit)
	checkShare(f, "attempt_failure", p.AttemptFailure)
	checkShare(f, "failed_budget", p.FailedBudget)
}

func checkLimit(f *findings, field string, n int64) {
	if n < 0 {
		f.err(field, "%d is not a positive number", n)
	}
}

func checkShare(f *findings, field string, v float64) {
	if math.IsNaN(v) || v < 0 || v > 1 {
		f.err(field, "%v is not a share between 0 and 1", v)
	}
}

func (p Policy) checkBackoff(f *findings) {
	b := p.Backoff
	if math.IsNaN(b.Jitter) || b.Jitter < 0 || b.Jitter > 1 {
		f.err("backoff.jitter", "%v is not between 0 and 1", b.Jitter)
	}
	if b.Delay < 0 {
		f.err("backoff.delay", "%s is not a positive duration", b.Delay)
	}
	if b.Max < 0 {
		f.err("backoff.max", "%s is not a positive duration", b.Max)
	}
	if b.Max > 0 && b.Max < b.Delay {
		f.err("backoff.max", "%s is less than the delay, %s", b.Max, b.Delay)
	}
	switch b.Type {
	case Fixed, Exponential:
		if b.Delay == 0 {
			f.err("backoff.delay", "is missing: a %s backoff needs one", b.Type)
		}
	case "":
		if b.Delay > 0 || b.Jitter > 0 {
			f.err("backoff.type", "is missing: fixed or exponential")
		}
	default:
		f.err("backoff.type", "%q is neither fixed nor exponential", b.Type)
	}
}

func (p Policy) checkLimiter(f *findings) {
	l := p.Limiter
	if l.Max < 0 {
		f.err("limiter.max", "%d is not a positive number", l.Max)
	}
	if l.Duration < 0 {
		f.err("limiter.duration", "%s is not a positive duration", l.Duration)
	}
	if l.Duration > 0 && l.Duration < time.Millisecond {
		f.err("limiter.duration", "%s is shorter than a millisecond", l.Duration)
	}
	switch {
	case l.Max != 0 && l.Duration == 0:
		f.err("limiter.duration", "is missing: a limiter is a max and a duration")
	case l.Max == 0 && l.Duration != 0:
		f.err("limiter.max", "is missing: a limiter is a max and a duration")
	case l.Max == 0 && l.Scope != "":
		f.err("limiter", "has a scope but no max and duration")
	}
	if l.Scope != "" && l.Scope != "worker" && l.Scope != "queue" {
		f.err("limiter.scope", "%q is neither worker nor queue", l.Scope)
	}
}

func (p Policy) checkLocks(f *findings) {
	lock := p.WithDefaults().LockDuration
	if p.LockRenew > 0 && p.LockRenew >= lock {
		f.err("lock_renew", "%s is not shorter than lock_duration, %s: the lock would expire first", p.LockRenew, lock)
	}
	if p.LockDuration > 0 && p.LockDuration < 5*time.Second {
		f.warn("lock_duration", "%s is short: a pause of this process or of Redis that long makes jobs run twice", p.LockDuration)
	}
}

func (p Policy) warnBackoff(f *findings) {
	if total := p.Backoff.Total(p.Attempts); p.Attempts > 1 && total < time.Minute {
		f.warn("backoff", "all %d attempts are used up within about %s: an outage of a minute fails every job",
			p.Attempts, total.Round(time.Millisecond))
	}
}

func (p Policy) warnUnbounded(f *findings) {
	if p.Timeout == 0 {
		f.warn("timeout", "is not set: a job that hangs holds its slot for ever")
	}
	if p.KeepCompleted.unbounded() {
		f.warn("keep_completed", "is unbounded: completed jobs fill Redis")
	}
	if p.KeepFailed.unbounded() {
		f.warn("keep_failed", "is unbounded: failed jobs fill Redis")
	}
	if p.GlobalConcurrency > 0 && p.Concurrency > p.GlobalConcurrency {
		f.warn("concurrency", "%d is above global_concurrency, %d: one worker can never fill its slots",
			p.Concurrency, p.GlobalConcurrency)
	}
}

func (k Keep) unbounded() bool { return !k.Set || (k.Count < 0 && k.Age == 0) }

func (p Policy) checkShutdown(f *findings, grace time.Duration) {
	switch {
	case grace <= 0:
		f.err("shutdown_grace", "must be positive where an HTTP or command worker runs")
	case p.Timeout > grace:
		f.warn("timeout", "%s is longer than shutdown_grace, %s: a stop hands back jobs that would have finished", p.Timeout, grace)
	}
}

func (p Policy) checkRates(f *findings, facts Facts) {
	if p.Limiter.Max <= 0 || p.Limiter.Duration <= 0 {
		return
	}
	limit := float64(p.Limiter.Max) / p.Limiter.Duration.Seconds()
	if facts.Ceiling > 0 && facts.RunTime > 0 {
		if reach := float64(facts.Ceiling) / facts.RunTime.Seconds(); reach < limit {
			f.warn("limiter", "%.3g/s is never reached: %d at once, %s each, are %.3g/s", limit, facts.Ceiling, facts.RunTime, reach)
		}
	}
	if facts.Arrival > limit {
		f.warn("limiter", "%.3g/s is less than the %.3g/s that arrive: the backlog grows without end", limit, facts.Arrival)
	}
}

// Rings returns an error for each queue whose dead letters would come back to it; deadLetter maps a queue to its
// dead-letter queue. The result maps the queue to the finding.
func Rings(deadLetter map[string]string) map[string]Problem {
	found := map[string]Problem{}
	for start := range deadLetter {
		path := []string{start}
		for at := deadLetter[start]; at != "" && !slices.Contains(path[1:], at); at = deadLetter[at] {
			path = append(path, at)
			if at == start {
				text := "dead letters go in a ring: " + strings.Join(path, " → ")
				found[start] = Problem{Field: "dead_letter", Text: text}
				break
			}
		}
	}
	return found
}

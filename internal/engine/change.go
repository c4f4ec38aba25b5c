package engine

import "time"

// retention is what a worker keeps of finished jobs that do not say themselves.
type retention struct{ completed, failed *Keep }

// rules are those in force now.
func (w *Worker) rules() *rules { return w.judging.Load() }

// SetConcurrency changes how many handlers may run at once, without interrupting any. Less than 1 counts as 1.
func (w *Worker) SetConcurrency(n int) {
	w.concurrency.Store(int64(max(n, 1)))
	w.Look()
}

// SetLimiter changes the worker's limiter, nil for none, from the next fetch on. A window that is open keeps its end; see
// Queue.ShortenRateLimitWindow.
func (w *Worker) SetLimiter(l *Limiter) error {
	if err := l.validate(); err != nil {
		return err
	}
	w.limiter.Store(l)
	w.Look()
	return nil
}

// SetBackoff changes the strategy for backoff types that are neither fixed nor exponential, nil for none, and the cap of
// every computed delay, 0 for none, for attempts that end from now on.
func (w *Worker) SetBackoff(strategy func(attemptsMade int, kind string, err error, j *Job) time.Duration, most time.Duration) {
	w.judging.Store(&rules{maxStarted: w.o.MaxStarted, backoff: strategy, maxBackoff: most})
}

// SetKeep changes what is kept of jobs that do not say themselves, nil for all, from the next one that ends.
func (w *Worker) SetKeep(completed, failed *Keep) { w.retention.Store(&retention{completed, failed}) }

// Look makes a running worker look for jobs now, also while it waits for the end of a rate limit that may have been
// lifted.
func (w *Worker) Look() {
	w.life.Lock()
	running := w.began
	w.life.Unlock()
	if running {
		w.order((*loop).look)
	}
}

package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"
)

// trip is one round trip of a worker to Redis, in as few scripts as its attempts need: it tells how attempts ended and
// takes jobs for the free slots.
type trip struct {
	w        *Worker
	ending   []*attempt
	owed     []*Job                // of schedulers, whose successors are to be added before anything else
	next     *scripts.FetchOptions // nil = take nothing
	suspects map[string]bool       // tokens to search for, see adopt
	known    map[scripts.Lock]bool

	settled    []*attempt // how they ended is known, and Redis knows it too or never will
	left       []*attempt // to be sent again
	jobs       []*Job
	fetched    bool
	fetchLost  bool // jobs may have been taken without our knowing
	searched   bool
	limitedFor time.Duration
	nextDue    time.Time
	err        error
}

// send is the script for one kind of verdict.
type send func(ctx context.Context, group []*attempt, next *scripts.FetchOptions) ([]scripts.Code, *scripts.Fetched, error)

func (t *trip) run(ctx context.Context) {
	if t.err = t.plan(ctx); t.err == nil {
		t.err = t.adopt(ctx)
	}
	if t.err != nil {
		t.left = t.ending
	} else {
		t.exchange(ctx)
	}
	if t.owed = append(t.owed, unplanned(t.jobs)...); t.err == nil {
		t.err = t.plan(ctx)
	}
}

// exchange tells how attempts ended and takes jobs.
func (t *trip) exchange(ctx context.Context) {
	t.settleMoved()
	returned := t.pick(giveBack)
	retried := t.pick(retry)
	delayed := t.pick(delay)
	finished := t.pick(complete, fail)
	t.end(ctx, returned, t.sendBack, false)
	t.end(ctx, retried, t.sendRetries, false)
	t.end(ctx, delayed, t.sendDelays, len(finished) == 0)
	t.end(ctx, finished, t.sendFinished, true)
	if t.err == nil && t.next != nil && !t.fetched {
		t.fetch(ctx)
	}
}

// pick returns the attempts whose verdict is of one of the kinds.
func (t *trip) pick(kinds ...kind) []*attempt {
	var group []*attempt
	for _, a := range t.ending {
		if slices.Contains(kinds, a.verdict.kind) {
			group = append(group, a)
		}
	}
	return group
}

// settleMoved lets go of the jobs that their handlers moved.
func (t *trip) settleMoved() { t.settled = t.pick(moved) }

// end sends one group of attempts, after an earlier error only keeps them for the next trip.
func (t *trip) end(ctx context.Context, group []*attempt, send send, last bool) {
	switch {
	case len(group) == 0:
	case t.err != nil:
		t.left = append(t.left, group...)
	case last:
		t.err = t.deliver(ctx, group, send, t.next)
	default:
		t.err = t.deliver(ctx, group, send, nil)
	}
}

// deliver sends a group and settles what the answer tells.
func (t *trip) deliver(ctx context.Context, group []*attempt, send send, next *scripts.FetchOptions) error {
	codes, fetched, err := send(ctx, group, next)
	if err != nil {
		t.fetchLost = t.fetchLost || next != nil && mayHaveRun(err)
		for _, a := range group {
			a.unsure = a.unsure || mayHaveRun(err)
		}
	}
	switch {
	case err == nil:
		t.take(fetched)
		return t.settle(ctx, group, codes)
	case !isRefusal(err):
		t.left = append(t.left, group...)
		return err
	case len(group) == 1:
		t.refuse(group[0], err)
		return nil
	}
	// One of the group cannot be ended, for what its keys hold. The others must not suffer.
	for i, a := range group {
		if err := t.deliver(ctx, []*attempt{a}, send, nil); err != nil {
			t.left = append(t.left, group[i+1:]...)
			return err
		}
	}
	return nil
}

// settle draws the conclusion from the codes of a group.
func (t *trip) settle(ctx context.Context, group []*attempt, codes []scripts.Code) error {
	for i, a := range group {
		code := codes[i]
		if code < 0 && a.unsure {
			ran, err := t.hasMoved(ctx, a)
			if err != nil {
				t.left = append(t.left, group[i:]...)
				return err
			}
			if ran {
				code = scripts.OK
			}
		}
		switch {
		case code >= 0:
			t.settled = append(t.settled, a)
		case code == scripts.PendingChildren || code == scripts.FailedChildren:
			// The result is not accepted; that fails the attempt.
			a.verdict = t.w.rules().failure(a.job, codeError(code, a.job.ID, "moveToFinished", "active", ""))
			t.left = append(t.left, a)
		case code == scripts.Broken:
			t.refuse(a, codeError(code, a.job.ID, a.verdict.kind.command(), "active", ""))
		default:
			t.lose(a, codeError(code, a.job.ID, a.verdict.kind.command(), "active", ""))
		}
	}
	return nil
}

// refuse fails an attempt that Redis refuses to end as decided, and loses it when that is refused too.
func (t *trip) refuse(a *attempt, err error) {
	if a.refused++; a.refused > 1 {
		t.lose(a, err)
		return
	}
	a.verdict = t.w.rules().failure(a.job, err)
	t.left = append(t.left, a)
}

func (t *trip) lose(a *attempt, err error) {
	t.w.log.Warn("job could not be finished, the stall check will recover it", "job_id", a.job.ID, "err", err,
		"outcome", a.verdict.outcome)
	a.verdict.outcome, a.fault = OutcomeLost, err
	t.settled = append(t.settled, a)
}

// hasMoved tells whether a transition ran whose reply was lost and whose repetition was refused. It did not if the job
// is as it was, or was recovered from a worker that had lost the lock: ourselves.
func (t *trip) hasMoved(ctx context.Context, a *attempt) (bool, error) {
	j, err := t.w.q.Jobs(ctx, []string{a.job.ID})
	state := keys.Unknown
	if err == nil {
		state, err = t.w.q.State(ctx, a.job.ID)
	}
	switch {
	case isRefusal(err):
		// What cannot be read is damaged; to ask again and again would hold up every other job.
		return false, nil
	case err != nil:
		return false, err
	case j[0] == nil:
		return true, nil
	case j[0].StalledCount > a.job.StalledCount:
		return false, nil
	}
	return state != keys.Active || j[0].AttemptsStarted > a.job.AttemptsStarted, nil
}

// take notes what a fetch found.
func (t *trip) take(f *scripts.Fetched) {
	if f == nil {
		return
	}
	t.fetched, t.limitedFor, t.nextDue = true, f.LimitedFor, f.NextDue
	for _, found := range f.Jobs {
		t.add(found.ID, found.Fields, t.next.Token)
	}
}

func (t *trip) add(id string, fields map[string]string, token string) {
	j := decodeJob(t.w.q, id, fields)
	j.token = token
	t.jobs = append(t.jobs, j)
}

func (t *trip) fetch(ctx context.Context) {
	f, err := t.w.q.runner.Fetch(ctx, t.w.q.target, t.w.q.clock(), *t.next)
	if err != nil {
		t.fetchLost = mayHaveRun(err)
		t.err = fmt.Errorf("fetch jobs of %s: %w", t.w.q.Name, err)
		return
	}
	t.take(f)
}

func (t *trip) sendBack(ctx context.Context, group []*attempt, _ *scripts.FetchOptions) ([]scripts.Code, *scripts.Fetched, error) {
	var limit time.Duration
	locks := make([]scripts.Lock, len(group))
	for i, a := range group {
		limit = max(limit, a.verdict.limit)
		locks[i] = a.lock()
	}
	if limit > 0 {
		if err := t.w.q.extendRateLimit(ctx, limit); err != nil {
			return nil, nil, err
		}
	}
	codes, limitedFor, err := t.w.q.runner.MoveToWait(ctx, t.w.q.target, locks)
	t.limitedFor = max(t.limitedFor, limitedFor)
	return codes, nil, err
}

func (t *trip) sendRetries(ctx context.Context, group []*attempt, _ *scripts.FetchOptions) ([]scripts.Code, *scripts.Fetched, error) {
	jobs := make([]scripts.RetriedJob, len(group))
	for i, a := range group {
		jobs[i] = scripts.RetriedJob{Lock: a.lock(), LIFO: a.job.Opts.LIFO, Updates: a.verdict.updates()}
	}
	codes, err := t.w.q.runner.RetryJobs(ctx, t.w.q.target, t.w.q.clock(), jobs)
	return codes, nil, err
}

func (t *trip) sendDelays(ctx context.Context, group []*attempt, next *scripts.FetchOptions) ([]scripts.Code, *scripts.Fetched, error) {
	jobs := make([]scripts.DelayedJob, len(group))
	for i, a := range group {
		jobs[i] = scripts.DelayedJob{
			Lock: a.lock(), Delay: a.verdict.delay, SkipAttempt: a.verdict.skipAttempt, Updates: a.verdict.updates(),
		}
	}
	return t.w.q.runner.MoveToDelayed(ctx, t.w.q.target, t.w.q.clock(), jobs, next)
}

func (t *trip) sendFinished(ctx context.Context, group []*attempt, next *scripts.FetchOptions) ([]scripts.Code, *scripts.Fetched, error) {
	kept := t.w.retention.Load()
	jobs := make([]scripts.FinishedJob, len(group))
	for i, a := range group {
		jobs[i] = scripts.FinishedJob{
			Lock: a.lock(), Failed: a.verdict.kind == fail, Result: a.verdict.result, Updates: a.verdict.updates(),
			Keep: a.verdict.keep(a.job, kept.completed, kept.failed), Attempts: a.job.Opts.Attempts,
		}
	}
	o := scripts.FinishOptions{MetricsPoints: t.w.o.MetricsPoints, DeadLetter: t.w.o.DeadLetter, Next: next}
	return t.w.q.runner.Finish(ctx, t.w.q.target, t.w.q.clock(), jobs, o)
}

package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"bullpen/internal/engine/scripts"
)

// batchSize bounds what one script run ends or takes, so that none keeps Redis from other clients for long.
const batchSize = 100

// loop is the state of a running worker. It belongs to the goroutine of run; the others talk to it through channels.
type loop struct {
	w       *Worker
	waker   *waker
	trouble trouble
	beside  sync.WaitGroup // short commands nobody waits for

	running map[*attempt]bool // handlers at work
	ended   []*attempt        // their results, which Redis is to be told
	owed    []*Job            // taken jobs of schedulers, whose successors Redis has not been told to add
	fetches int               // tokens given out
	onTrip  bool              // a round trip is under way
	looked  bool              // somebody said meanwhile that things have changed
	// suspects are the tokens of fetches whose reply was lost, until when jobs may turn up under them.
	suspects map[string]time.Time

	wanted       bool // a fetch may find something
	owesWake     bool // a marker meant for any worker was consumed and no fetch followed
	armed        bool // the waker waits
	renewing     bool
	limitedUntil time.Time
	dueAt        time.Time // of the next delayed job
	pollAt       time.Time
	retryAt      time.Time // after a failed trip
	searchAt     time.Time // next search for jobs of suspects

	stopping   bool
	abandoned  bool      // the time of the stop is over
	handBackAt time.Time // when what still runs is handed back
	giveUpAt   time.Time
	gaveUp     bool
	handedBack []string
	untold     []string // jobs whose end Redis could not be told

	results  chan result
	trips    chan *trip
	renewals chan renewal
}

func newLoop(w *Worker) *loop {
	return &loop{
		w: w, waker: newWaker(w), trouble: trouble{log: w.log, level: slog.LevelWarn},
		running: map[*attempt]bool{}, suspects: map[string]time.Time{}, wanted: true,
		results: make(chan result), trips: make(chan *trip), renewals: make(chan renewal),
	}
}

// run works until the worker has been stopped and every attempt has ended.
func (l *loop) run() {
	renew := time.NewTicker(l.w.o.LockRenew / 2)
	defer renew.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := time.Now()
		l.act(now)
		if l.over() {
			break
		}
		timer.Reset(l.until(now))
		select {
		case r := <-l.results:
			l.gather(r)
		case t := <-l.trips:
			l.back(t)
		case k := <-l.waker.wakes:
			l.woken(k)
		case r := <-l.renewals:
			l.renewed(r)
		case <-renew.C:
			l.renew(time.Now())
		case f := <-l.w.orders:
			f(l)
		case <-timer.C:
		}
	}
	if l.owesWake {
		l.passWake()
	}
	l.beside.Wait()
}

func (l *loop) over() bool {
	busy := l.onTrip || l.renewing || len(l.running) > 0 || len(l.ended) > 0
	return l.stopping && !busy && (l.gaveUp || !l.mayHoldMore())
}

// mayHoldMore says that the reply of a fetch was lost and the jobs it may have taken were not searched for yet.
func (l *loop) mayHoldMore() bool { return len(l.suspects) > 0 && l.searchAt.IsZero() }

// free is how many more jobs may be taken.
func (l *loop) free() int { return l.w.Concurrency() - len(l.running) - len(l.ended) }

// act starts what can be started now.
func (l *loop) act(now time.Time) {
	l.expire(now)
	mayTravel := !l.onTrip && !now.Before(l.retryAt)
	mayTake := !l.onTrip && !l.stopping && l.free() > 0 && l.limitedUntil.IsZero()
	switch {
	case mayTravel && len(l.ended)+len(l.owed) > 0:
		l.depart(now, min(len(l.ended), batchSize))
	case mayTravel && mayTake && l.wanted, mayTravel && l.stopping && l.mayHoldMore():
		l.depart(now, 0)
	case !l.onTrip && l.owesWake && (l.stopping || l.free() <= 0):
		l.passWake()
	case mayTake && !l.armed && !l.wanted:
		l.armed = true
		l.waker.arm <- struct{}{}
	}
}

// expire notes which times have come.
func (l *loop) expire(now time.Time) {
	if passed(now, &l.limitedUntil) || passed(now, &l.pollAt) {
		l.wanted = true
	}
	if passed(now, &l.dueAt) {
		l.wanted, l.owesWake = true, true
	}
	if passed(now, &l.handBackAt) {
		l.handBack()
	}
	l.gaveUp = passed(now, &l.giveUpAt) || l.gaveUp
	if l.gaveUp && !l.onTrip {
		l.giveUp()
	}
}

// passed reports whether a set time has come, and then unsets it.
func passed(now time.Time, at *time.Time) bool {
	if at.IsZero() || now.Before(*at) {
		return false
	}
	*at = time.Time{}
	return true
}

// until is how long the loop may sleep.
func (l *loop) until(now time.Time) time.Duration {
	wait := time.Hour
	for _, at := range []time.Time{l.limitedUntil, l.dueAt, l.pollAt, l.handBackAt, l.giveUpAt, l.retryAt} {
		if at.After(now) {
			wait = min(wait, at.Sub(now))
		}
	}
	return wait
}

// gather takes a handler's result, and those that are ready too.
func (l *loop) gather(r result) {
	l.collect(r)
	for {
		select {
		case r := <-l.results:
			l.collect(r)
		default:
			return
		}
	}
}

func (l *loop) collect(r result) {
	a := r.attempt
	if !l.running[a] {
		return // was handed back while its handler went on
	}
	a.run, a.verdict = r.run, r.verdict
	a.span.decide(a.job, &a.verdict)
	l.end(a)
}

// end takes an attempt from the running ones and has Redis told, unless the job is no longer ours.
func (l *loop) end(a *attempt) {
	delete(l.running, a)
	l.w.running.Store(int64(len(l.running)))
	a.cancel(nil)
	if a.lost {
		a.verdict.outcome = OutcomeLost
		l.report(a)
		return
	}
	l.ended = append(l.ended, a)
}

// depart sends a round trip that ends the first n ended attempts and fills the free slots.
func (l *loop) depart(now time.Time, n int) {
	t := &trip{w: l.w, ending: l.ended[:n:n], owed: l.owed}
	l.ended, l.owed = slices.Clone(l.ended[n:]), nil
	if want := min(l.free(), batchSize); want > 0 && !l.stopping {
		l.fetches++
		t.next = l.w.fetchOptions(l.fetches, want)
		l.wanted, l.owesWake = false, false
		l.pollAt = time.Time{}
	}
	if len(l.suspects) > 0 && !now.Before(l.searchAt) {
		t.suspects, t.known = l.suspected(now), l.locks(t)
	}
	l.onTrip = true
	go func() {
		t.run(context.Background())
		l.trips <- t
	}()
}

// fetchOptions asks for n jobs under the token with the given number.
func (w *Worker) fetchOptions(number, n int) *scripts.FetchOptions {
	o := &scripts.FetchOptions{
		Token: w.id + ":" + strconv.Itoa(number), LockDuration: w.o.LockDuration, Count: n, Worker: w.o.Name,
	}
	if limiter := w.limiter.Load(); limiter != nil {
		o.Limiter = &scripts.Limiter{Max: limiter.Max, Duration: limiter.Duration}
	}
	return o
}

// back takes in what a trip brought.
func (l *loop) back(t *trip) {
	l.onTrip = false
	now := time.Now()
	for _, a := range t.settled {
		l.report(a)
	}
	l.ended, l.owed = append(t.left, l.ended...), t.owed
	for _, j := range t.jobs {
		l.start(j, now)
	}
	l.noteFetch(t, now)
	if l.looked {
		l.look()
	}
	if t.err != nil {
		l.wanted = l.wanted || t.next != nil
		l.w.healthy.Store(false)
		l.retryAt = now.Add(l.trouble.failed(context.Background(), "talking to redis", t.err))
		return
	}
	l.retryAt = time.Time{}
	l.trouble.ok(context.Background(), "talking to redis")
}

// noteFetch learns from a trip when to fetch again.
func (l *loop) noteFetch(t *trip, now time.Time) {
	if t.searched {
		l.searchAt = now.Add(time.Second)
	}
	if t.fetchLost {
		l.suspects[t.next.Token] = now.Add(l.w.o.LockDuration)
		l.searchAt = time.Time{}
		l.wanted = true
	}
	if t.fetched {
		l.limitedUntil = time.Time{}
	}
	if t.limitedFor > 0 {
		l.limitedUntil = now.Add(min(t.limitedFor, l.w.o.MaxRateLimitWait))
	}
	if !t.fetched {
		return
	}
	l.w.healthy.Store(true)
	l.w.o.Observer.Fetched(l.w.q.Name, now)
	l.wanted = l.wanted || len(t.jobs) >= t.next.Count
	l.pollAt = now.Add(l.w.o.DrainDelay - rand.N(l.w.o.DrainDelay/10+1))
	l.expect(t.nextDue)
}

// expect notes when a delayed job becomes ready, if that is the first to.
func (l *loop) expect(due time.Time) {
	if due.IsZero() {
		return
	}
	if at := time.Now().Add(due.Sub(l.w.q.clock())); l.dueAt.IsZero() || at.Before(l.dueAt) {
		l.dueAt = at
	}
}

// start runs the handler for a job that was taken, or hands the job back when the worker is stopping.
func (l *loop) start(j *Job, now time.Time) {
	a := &attempt{job: j, started: now, renewed: now, cancel: func(error) {}}
	l.w.o.Observer.JobStarted(l.w.q.Name)
	if l.stopping {
		a.verdict, a.unstarted = verdict{kind: giveBack, outcome: OutcomeHandedBack}, true
		l.ended = append(l.ended, a)
		return
	}
	for other := range l.running {
		if other.job.ID == j.ID {
			l.lose(other) // it could not have been taken again otherwise
		}
	}
	ctx, span := l.w.beginSpan(context.Background(), j)
	ctx, cancel := context.WithCancelCause(ctx)
	a.cancel, a.span = cancel, span
	l.running[a] = true
	l.w.running.Store(int64(len(l.running)))
	go l.perform(ctx, a)
}

// perform is the goroutine of one attempt.
func (l *loop) perform(ctx context.Context, a *attempt) {
	r := result{attempt: a}
	defer func() {
		if r.verdict.outcome == "" {
			r.verdict = l.w.rules().failure(a.job, errGoexit)
		}
		r.run = time.Since(a.started)
		select {
		case l.results <- r:
		case <-l.w.quit: // it was handed back, and the worker has ended
		}
	}()
	r.verdict = l.w.perform(ctx, a.job)
}

// report tells the observer how an attempt ended.
func (l *loop) report(a *attempt) {
	if a.verdict.outcome == OutcomeHandedBack && !a.unstarted {
		l.handedBack = append(l.handedBack, a.job.ID)
	}
	a.span.finish(a)
	l.w.o.Observer.JobFinished(l.w.q.Name, a.verdict.outcome, a.run)
}

// look has the loop fetch again, and learn anew how long a rate limit lasts.
func (l *loop) look() {
	l.wanted, l.limitedUntil = true, time.Time{}
	l.looked = l.onTrip // which may bring back what was true before
}

// interrupt cancels the attempt of a job.
func (l *loop) interrupt(id string, cause error) bool {
	for a := range l.running {
		if a.job.ID == id {
			a.cancel(cause)
			return true
		}
	}
	return false
}

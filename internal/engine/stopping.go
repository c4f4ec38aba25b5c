package engine

import (
	"fmt"
	"strings"
	"time"
)

const (
	// handBackWait is how long handlers may take to return after their contexts were cancelled by a stop.
	handBackWait = time.Second
	// giveUpWait is how long a stop whose time is over still tries to tell Redis how jobs ended.
	giveUpWait = 5 * time.Second
)

// stop takes no more jobs.
func (l *loop) stop() {
	if !l.stopping {
		l.stopping = true
		l.waker.close()
	}
}

// abandon ends the wait for running handlers.
func (l *loop) abandon() {
	if l.abandoned {
		return
	}
	l.abandoned = true
	now := time.Now()
	l.handBackAt, l.giveUpAt = now.Add(handBackWait), now.Add(handBackWait+giveUpWait)
	for a := range l.running {
		a.cancel(ErrStopping)
	}
}

// handBack gives up waiting for handlers that ignore their contexts.
func (l *loop) handBack() {
	for a := range l.running {
		a.verdict = verdict{kind: giveBack, outcome: OutcomeHandedBack}
		a.run = time.Since(a.started)
		l.end(a)
	}
}

// giveUp forgets the attempts that Redis cannot be told about: their locks expire.
func (l *loop) giveUp() {
	for _, a := range l.ended {
		a.verdict.outcome = OutcomeLost
		l.untold = append(l.untold, a.job.ID)
		l.report(a)
	}
	l.ended = nil
}

// unfinished is the error of a stop that left jobs behind.
func (l *loop) unfinished() error {
	if len(l.untold) == 0 {
		return nil
	}
	return fmt.Errorf("stop worker of %s: redis could not be told how these jobs ended, they will run again once their locks expire: %s",
		l.w.q.Name, strings.Join(l.untold, ", "))
}

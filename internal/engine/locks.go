package engine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"bullpen/internal/engine/scripts"
)

// renewal is the outcome of extending locks.
type renewal struct {
	attempts []*attempt
	at       time.Time
	lost     []string
	err      error
}

// renew extends the locks that were last extended LockRenew/2 ago or earlier, those of ended attempts that Redis was
// not told about included (lifecycle 11.5).
func (l *loop) renew(now time.Time) {
	if l.renewing {
		return
	}
	due := func(a *attempt) bool { return !a.lost && now.Sub(a.renewed) >= l.w.o.LockRenew/2 }
	r := renewal{at: now}
	for a := range l.running {
		if due(a) {
			r.attempts = append(r.attempts, a)
		}
	}
	for _, a := range l.ended {
		if due(a) {
			r.attempts = append(r.attempts, a)
		}
	}
	if len(r.attempts) == 0 {
		return
	}
	locks := make([]scripts.Lock, len(r.attempts))
	for i, a := range r.attempts {
		locks[i] = a.lock()
	}
	l.renewing = true
	go func() {
		q := l.w.q
		ctx, span := q.span(context.Background(), SpanInternal, "extendLocks", q.Name, l.w.attributes()...)
		if q.traced() {
			span.SetAttributes(slog.Any(attrExtendLocks, idsOf(locks)))
		}
		defer func() {
			span.End(r.err)
			l.renewals <- r
		}()
		for batch := range slices.Chunk(locks, bulkSize) {
			lost, err := q.runner.ExtendLocks(ctx, q.target, batch, l.w.o.LockDuration)
			r.lost = append(r.lost, lost...)
			if r.err = err; err != nil {
				return
			}
		}
	}()
}

func idsOf(locks []scripts.Lock) []string {
	ids := make([]string, len(locks))
	for i, lock := range locks {
		ids[i] = lock.ID
	}
	return ids
}

// renewed notes which locks still hold. A running attempt that lost its lock is cancelled: another worker may have the
// job by now, and ours could not finish it.
func (l *loop) renewed(r renewal) {
	l.renewing = false
	var lost []string
	for _, a := range r.attempts {
		switch {
		case slices.Contains(r.lost, a.job.ID):
			if l.running[a] {
				l.lose(a)
				lost = append(lost, a.job.ID)
			}
		case r.err == nil:
			a.renewed = r.at
		case l.running[a] && time.Since(a.renewed) > l.w.o.LockDuration:
			// Redis has not answered for so long that it has dropped the lock, or will have when it is back.
			a.cancel(ErrLockLost)
		}
	}
	ctx := context.Background()
	if len(lost) > 0 {
		l.w.log.WarnContext(ctx, "could not renew locks, their jobs are cancelled", "job_ids", lost)
		l.w.o.Observer.LockLost(l.w.q.Name, len(lost))
	}
	if r.err != nil {
		l.w.log.Log(ctx, slog.LevelDebug, "renewing locks failed", "err", r.err)
	}
}

// lose cancels a running attempt whose lock is gone; nothing will be sent for it.
func (l *loop) lose(a *attempt) {
	a.lost = true
	a.cancel(ErrLockLost)
}

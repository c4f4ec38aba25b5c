package engine

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// watchStalls runs the stall check at once and then every StalledInterval (lifecycle 11.6). The check itself takes care
// that among all workers of the queue it runs once per interval.
func (w *Worker) watchStalls(ctx context.Context) {
	trouble := trouble{log: w.log, level: slog.LevelDebug}
	for {
		wait := w.o.StalledInterval + rand.N(w.o.StalledInterval/20+1)
		if err := w.checkStalls(ctx); err != nil && ctx.Err() == nil {
			wait = min(wait, trouble.failed(ctx, "stall check", err)+time.Second)
		} else {
			trouble.ok(ctx, "stall check")
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// checkStalls recovers jobs whose worker is gone and has the loop look for them.
func (w *Worker) checkStalls(ctx context.Context) (err error) {
	ctx, span := w.q.span(ctx, SpanInternal, "moveStalledJobsToWait", w.q.Name, w.attributes()...)
	defer func() { span.End(err) }()
	recovered, err := w.q.runner.StalledCheck(ctx, w.q.target, w.q.clock(), *w.o.MaxStalledCount, w.o.StalledInterval)
	if err != nil {
		return err
	}
	span.SetAttributes(slog.Any(attrStalled, recovered))
	if len(recovered) > 0 {
		w.log.Warn("recovered stalled jobs", "job_ids", recovered)
		w.Look()
	}
	return nil
}

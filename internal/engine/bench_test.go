package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkWorker measures how many jobs a second one worker completes. The jobs are in the queue before the clock
// starts, the handler does nothing, Redis is a local redis-server with an append-only file on a unix socket, so the
// figure is the engine's own cost: taking, locking and finishing jobs, their events included. One iteration is one job;
// run it with a fixed number of jobs so that the sizes compare:
//
//	go test -run xxx -bench Worker -benchtime 20000x ./internal/engine
func BenchmarkWorker(b *testing.B) {
	for _, concurrency := range []int{1, 10, 50} {
		b.Run(fmt.Sprintf("concurrency=%d", concurrency), func(b *testing.B) {
			q := newQueue(b)
			fill(b, q, b.N)
			var done atomic.Int64
			all := make(chan struct{})
			w := newWorker(b, q, nothing, func(o *WorkerOptions) {
				o.Concurrency = concurrency
				o.Observer = observed{finished: func(Outcome) {
					if done.Add(1) == int64(b.N) {
						close(all)
					}
				}}
			})
			b.ResetTimer()
			if err := w.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			<-all
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
			if _, err := w.Stop(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkAddBulk measures how many jobs a second one producer adds, a thousand per call.
func BenchmarkAddBulk(b *testing.B) {
	q := newQueue(b)
	b.ResetTimer()
	fill(b, q, b.N)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// fill adds n jobs.
func fill(b *testing.B, q *Queue, n int) {
	b.Helper()
	keep := JobOptions{KeepCompleted: KeepCount(1000), Timestamp: time.Now()}
	for ; n > 0; n -= 1000 {
		specs := make([]JobSpec, min(n, 1000))
		for i := range specs {
			specs[i] = JobSpec{Name: "job", Data: i, Options: keep}
		}
		if _, err := q.AddBulk(b.Context(), specs); err != nil {
			b.Fatal(err)
		}
	}
}

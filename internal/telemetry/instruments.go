package telemetry

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// instruments are BullMQ's (features 4.4).
type instruments struct {
	jobs     map[string]metric.Int64Counter // by state
	duration metric.Float64Histogram
}

// counterNames are the names of the counters by the state they count.
var counterNames = map[string]string{
	"completed":        "bullmq.jobs.completed",
	"failed":           "bullmq.jobs.failed",
	"delayed":          "bullmq.jobs.delayed",
	"retried":          "bullmq.jobs.retried",
	"waiting":          "bullmq.jobs.waiting",
	"waiting-children": "bullmq.jobs.waiting_children",
}

func newInstruments(m metric.Meter) (*instruments, error) {
	i := &instruments{jobs: map[string]metric.Int64Counter{}}
	var err error
	for state, name := range counterNames {
		if i.jobs[state], err = m.Int64Counter(name, metric.WithDescription("Number of jobs "+state), metric.WithUnit("1")); err != nil {
			return nil, fmt.Errorf("instrument %s: %w", name, err)
		}
	}
	i.duration, err = m.Float64Histogram("bullmq.job.duration", metric.WithDescription("Job processing duration"), metric.WithUnit("ms"))
	if err != nil {
		return nil, fmt.Errorf("instrument bullmq.job.duration: %w", err)
	}
	return i, nil
}

func (i *instruments) record(queue, job, state string, run time.Duration) {
	counter, ok := i.jobs[state]
	if !ok {
		return
	}
	ctx := context.Background()
	attributes := metric.WithAttributes(attribute.String("bullmq.queue.name", queue), attribute.String("bullmq.job.name", job),
		attribute.String("bullmq.job.state", state))
	counter.Add(ctx, 1, attributes)
	i.duration.Record(ctx, float64(run)/float64(time.Millisecond), attributes)
}

// QueueJobs exports how many jobs each queue has in each state (features 4.4). read tells it whenever an export is due; it
// must not block.
func (t *Telemetry) QueueJobs(read func(observe func(queue, state string, n int64))) error {
	if t.metrics == nil {
		return nil
	}
	_, err := t.metrics.Meter(scope).Int64ObservableGauge("bullmq.queue.jobs", metric.WithDescription("Number of jobs in the queue by state"),
		metric.WithUnit("{jobs}"), metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			read(func(queue, state string, n int64) {
				o.Observe(n, metric.WithAttributes(attribute.String("bullmq.queue.name", queue), attribute.String("bullmq.queue.jobs.state", state)))
			})
			return nil
		}))
	if err != nil {
		return fmt.Errorf("instrument bullmq.queue.jobs: %w", err)
	}
	return nil
}

// noTracer makes spans that nobody sees.
func noTracer() trace.Tracer { return noop.NewTracerProvider().Tracer(scope) }

package engine

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Telemetry traces and counts what queues and workers do, under BullMQ's names (features 4.4, 7.1). Its methods are
// called from many goroutines and must not block.
type Telemetry interface {
	// Start begins a span below the one that ctx carries. The context returned carries the new one.
	Start(ctx context.Context, kind SpanKind, name string, attributes ...slog.Attr) (context.Context, Span)
	// Inject gives the span of ctx as text for another process; "" if there is none.
	Inject(ctx context.Context) string
	// Extract gives a context below whose span, which Inject made a text of elsewhere, new ones begin; ctx itself if the
	// text says nothing.
	Extract(ctx context.Context, metadata string) context.Context
	// Count counts a job that came into a state: completed, failed, delayed, retried, waiting or waiting-children. run is
	// the time since it was taken.
	Count(queue, job, state string, run time.Duration)
}

// Span is a piece of work with a beginning and an end.
type Span interface {
	SetAttributes(attributes ...slog.Attr)
	AddEvent(name string, attributes ...slog.Attr)
	// End ends the span; an error is recorded with it.
	End(err error)
}

// SpanKind says on which side of a queue the work is done.
type SpanKind int

// The kinds of spans.
const (
	SpanInternal SpanKind = iota
	SpanProducer          // adds jobs
	SpanConsumer          // runs a job
)

// Attributes of spans (features 7.1).
const (
	attrQueue        = "bullmq.queue.name"
	attrQueueOptions = "bullmq.queue.options"
	attrOperation    = "bullmq.queue.operation"
	attrJobID        = "bullmq.job.id"
	attrJobName      = "bullmq.job.name"
	attrJobOptions   = "bullmq.job.options"
	attrBulkCount    = "bullmq.job.bulk.count"
	attrBulkNames    = "bullmq.job.bulk.names"
	attrAttempts     = "bullmq.job.attempts.made"
	attrFinished     = "bullmq.job.attempt_finished_timestamp"
	attrProcessed    = "bullmq.job.processed.timestamp"
	attrReason       = "bullmq.job.failed.reason"
	attrScheduler    = "bullmq.job.scheduler.id"
	attrDedup        = "bullmq.job.deduplication.key"
	attrFlow         = "bullmq.flow.name"
	attrWorkerID     = "bullmq.worker.id"
	attrWorker       = "bullmq.worker.name"
	attrStalled      = "bullmq.worker.stalled.jobs"
	attrExtendLocks  = "bullmq.worker.jobs.to.extend.locks"
)

// traceKey is under which a context carries trace metadata.
type traceKey struct{}

// WithTraceContext returns a context that carries trace metadata, as the option telemetry.metadata holds it: a JSON
// object of W3C headers. Jobs added with it carry the metadata, unless a queue's Telemetry has a span of its own for them.
func WithTraceContext(ctx context.Context, metadata string) context.Context {
	if metadata == "" {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, metadata)
}

// TraceContext is the trace metadata that ctx carries, "" if none. A handler's context carries that of its own span or,
// without Telemetry, that of the job.
func TraceContext(ctx context.Context) string {
	metadata, _ := ctx.Value(traceKey{}).(string)
	return metadata
}

// silent is the telemetry of queues without one: it only carries what it is given.
type silent struct{}

func (silent) Start(ctx context.Context, _ SpanKind, _ string, _ ...slog.Attr) (context.Context, Span) {
	return ctx, silentSpan{}
}

func (silent) Inject(ctx context.Context) string { return TraceContext(ctx) }

func (silent) Extract(ctx context.Context, metadata string) context.Context {
	return WithTraceContext(ctx, metadata)
}

func (silent) Count(string, string, string, time.Duration) {}

type silentSpan struct{}

func (silentSpan) SetAttributes(...slog.Attr)    {}
func (silentSpan) AddEvent(string, ...slog.Attr) {}
func (silentSpan) End(error)                     {}

// traced reports whether the queue has telemetry of its own.
func (q *Queue) traced() bool { return q.telemetry != silent{} }

// span begins a span "operation destination" of the queue.
func (q *Queue) span(ctx context.Context, kind SpanKind, operation, destination string, more ...slog.Attr) (context.Context, Span) {
	return startSpan(ctx, q.telemetry, kind, operation, destination, q.Name, more...)
}

func startSpan(
	ctx context.Context, t Telemetry, kind SpanKind, operation, destination, queue string, more ...slog.Attr,
) (context.Context, Span) {
	if t == (silent{}) {
		return t.Start(ctx, kind, operation)
	}
	attributes := append(more, slog.String(attrQueue, queue), slog.String(attrOperation, operation))
	return t.Start(ctx, kind, strings.TrimSuffix(operation+" "+destination, " "), attributes...)
}

// begin begins the span of an act on the whole queue; the function returned ends it, to be deferred with the act's error.
func (q *Queue) begin(ctx context.Context, operation string) (context.Context, func(*error)) {
	ctx, span := q.span(ctx, SpanInternal, operation, q.Name)
	return ctx, func(err *error) { span.End(*err) }
}

// carry gives a new job the trace metadata of the context it is added in. own says that the job's metadata is to go
// first, as BullMQ has it for all but a single traced add (features 7.1).
func (q *Queue) carry(ctx context.Context, o JobOptions, own bool) JobOptions {
	if o.OmitContext || o.TelemetryContext != "" && own {
		return o
	}
	if metadata := q.telemetry.Inject(ctx); metadata != "" {
		o.TelemetryContext = metadata
	}
	return o
}

// nameList is an attribute with the names of jobs that are added together.
func nameList(specs []JobSpec) slog.Attr {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	return slog.Any(attrBulkNames, names)
}

// attemptSpan are the spans of one attempt: the run, and its end until Redis knows of it. nil is one without telemetry.
type attemptSpan struct {
	w       *Worker
	ctx     context.Context // of the run
	process Span
	end     Span // nil until the verdict
}

// beginSpan begins the run of a job below the span of whoever added it. The context returned is the handler's.
func (w *Worker) beginSpan(ctx context.Context, j *Job) (context.Context, *attemptSpan) {
	t := w.q.telemetry
	ctx = t.Extract(ctx, j.Opts.TelemetryContext)
	if !w.q.traced() {
		return ctx, nil
	}
	attributes := append(w.attributes(), slog.String(attrJobID, j.ID), slog.String(attrJobName, j.Name))
	ctx, process := w.q.span(ctx, SpanConsumer, "process", w.q.Name, attributes...)
	ctx = WithTraceContext(ctx, t.Inject(ctx))
	return ctx, &attemptSpan{w: w, ctx: ctx, process: process}
}

// attributes name the worker.
func (w *Worker) attributes() []slog.Attr {
	return []slog.Attr{slog.String(attrWorkerID, w.id), slog.String(attrWorker, w.o.Name)}
}

// spanNames are BullMQ's names of the spans that end an attempt.
var spanNames = map[kind]string{complete: "complete", fail: "fail", retry: "retry", delay: "delay"}

// decide begins the end of an attempt. A failed one stores the trace metadata of that end (features 7.1).
func (s *attemptSpan) decide(j *Job, v *verdict) {
	if s == nil {
		return
	}
	name, ok := spanNames[v.kind]
	if !ok {
		return
	}
	ctx, end := s.w.q.span(s.ctx, SpanInternal, name, s.w.q.Name, slog.String(attrJobID, j.ID), slog.String(attrJobName, j.Name))
	s.end = end
	if v.stacktrace != "" && !j.Opts.OmitContext {
		v.trace = s.w.q.telemetry.Inject(ctx)
	}
}

// countedStates are the states in which BullMQ counts jobs, by the outcome of an attempt.
var countedStates = map[Outcome]string{
	OutcomeCompleted: "completed", OutcomeFailed: "failed", OutcomeRateLimited: "waiting", OutcomeHandedBack: "waiting",
}

// finish ends the spans of an attempt, of which Redis knows or never will.
func (s *attemptSpan) finish(a *attempt) {
	if s == nil {
		return
	}
	j, v := a.job, a.verdict
	made := j.AttemptsMade
	var failure error
	switch v.outcome {
	case OutcomeCompleted:
		made++
		s.process.AddEvent("job completed")
	case OutcomeFailed, OutcomeRetried:
		made++
		failure = reason(v.result)
		s.process.AddEvent("job failed", slog.String(attrReason, v.result))
	case OutcomeLost:
		failure = a.fault
		if failure == nil {
			failure = ErrLockLost
		}
	}
	if s.end != nil {
		s.end.End(failure)
	}
	s.process.SetAttributes(slog.Int(attrAttempts, made), slog.Int64(attrFinished, s.w.q.clock().UnixMilli()),
		slog.Int64(attrProcessed, j.ProcessedOn.UnixMilli()))
	s.process.End(failure)
	state := countedStates[v.outcome]
	switch {
	case v.kind == retry && v.outcome == OutcomeRetried:
		state = "retried"
	case v.kind == delay && slices.Contains([]Outcome{OutcomeRetried, OutcomeDelayed}, v.outcome):
		state = "delayed"
	}
	if state != "" {
		s.w.q.count(j, state)
	}
}

// reason is a failure as Redis holds it.
type reason string

func (r reason) Error() string { return string(r) }

// count counts a job that came into a state.
func (q *Queue) count(j *Job, state string) {
	if q.traced() {
		q.telemetry.Count(q.Name, j.Name, state, q.clock().Sub(j.ProcessedOn))
	}
}

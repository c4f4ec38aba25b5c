package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorder is a Telemetry that remembers: a span's text is its name and number.
type recorder struct {
	mu    sync.Mutex
	spans []*recorded
	count map[string]int
}

type recorded struct {
	r          *recorder
	name       string
	kind       SpanKind
	id, below  string
	attributes map[string]string
	events     []string
	ended      bool
	err        error
}

type recorderKey struct{}

func newRecorder() *recorder { return &recorder{count: map[string]int{}} }

func (r *recorder) Start(ctx context.Context, kind SpanKind, name string, attributes ...slog.Attr) (context.Context, Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	below, _ := ctx.Value(recorderKey{}).(string)
	s := &recorded{r: r, name: name, kind: kind, id: fmt.Sprintf("%s#%d", name, len(r.spans)), below: below, attributes: map[string]string{}}
	r.spans = append(r.spans, s)
	s.set(attributes)
	return context.WithValue(ctx, recorderKey{}, s.id), s
}

func (r *recorder) Inject(ctx context.Context) string {
	id, _ := ctx.Value(recorderKey{}).(string)
	return id
}

func (r *recorder) Extract(ctx context.Context, metadata string) context.Context {
	if metadata == "" {
		return ctx
	}
	return context.WithValue(ctx, recorderKey{}, metadata)
}

func (r *recorder) Count(queue, job, state string, run time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count[queue+" "+job+" "+state]++
}

// named are the spans of a name, all ended.
func (r *recorder) named(t *testing.T, name string) (found []*recorded) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.name == name {
			found = append(found, s)
			if !s.ended {
				t.Errorf("span %s has not ended", s.id)
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("no span %s", name)
	}
	return found
}

func (s *recorded) set(attributes []slog.Attr) {
	for _, a := range attributes {
		s.attributes[a.Key] = a.Value.String()
	}
}

func (s *recorded) SetAttributes(attributes ...slog.Attr) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.set(attributes)
}

func (s *recorded) AddEvent(name string, _ ...slog.Attr) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.events = append(s.events, name)
}

func (s *recorded) End(err error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.ended, s.err = true, err
}

func tracedQueue(t *testing.T) (*Queue, *recorder) {
	t.Helper()
	r := newRecorder()
	q, err := NewQueue(QueueOptions{Client: srv.Client(t), Prefix: srv.Prefix(), Name: "q", Telemetry: r})
	if err != nil {
		t.Fatal(err)
	}
	return q, r
}

func runOnce(t *testing.T, q *Queue, h Handler) {
	t.Helper()
	if j, err := newWorker(t, q, h, nil).RunOnce(t.Context()); err != nil || j == nil {
		t.Fatal(j, err)
	}
}

func TestTraceGoesFromProducerToHandler(t *testing.T) {
	t.Parallel()
	q, r := tracedQueue(t)
	ctx, request := r.Start(t.Context(), SpanInternal, "request")
	if _, err := q.Add(ctx, "mail", nil, JobOptions{TelemetryContext: "the caller's"}); err != nil {
		t.Fatal(err)
	}
	request.End(nil)
	var seen string
	runOnce(t, q, func(ctx context.Context, j *Job) (any, error) {
		seen = TraceContext(ctx)
		_, err := q.Add(ctx, "next", nil, JobOptions{})
		return nil, err
	})
	added, process, next, complete := r.named(t, "add q.mail")[0], r.named(t, "process q")[0], r.named(t, "add q.next")[0], r.named(t, "complete q")[0]
	for _, link := range [][2]*recorded{{process, added}, {next, process}, {complete, process}} {
		if link[0].below != link[1].id {
			t.Errorf("%s is below %q, want %s", link[0].id, link[0].below, link[1].id)
		}
	}
	if added.below != "request#0" || seen != process.id {
		t.Errorf("add is below %q, the handler saw %q", added.below, seen)
	}
	if added.kind != SpanProducer || process.kind != SpanConsumer || complete.kind != SpanInternal {
		t.Error("wrong kinds of spans")
	}
	want := map[string]string{
		attrQueue: "q", attrOperation: "process", attrJobID: "1", attrJobName: "mail", attrWorker: "w", attrAttempts: "1",
		attrWorkerID: process.attributes[attrWorkerID], attrFinished: process.attributes[attrFinished],
		attrProcessed: process.attributes[attrProcessed],
	}
	if diff := cmp.Diff(process.attributes, want); diff != "" || len(want[attrWorkerID]) != 36 || len(want[attrProcessed]) != 13 {
		t.Errorf("attributes of the run (-got +want):\n%s", diff)
	}
	if !slices.Equal(process.events, []string{"job completed"}) || process.err != nil {
		t.Errorf("the run ended with %v, %v", process.events, process.err)
	}
	if got := read(t, q, "1").Opts.TelemetryContext; got != added.id {
		t.Errorf("stored %q", got)
	}
	if diff := cmp.Diff(r.count, map[string]int{"q mail completed": 1}); diff != "" {
		t.Error(diff)
	}
}

func TestTraceContextIsCarriedWithoutTelemetry(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := WithTraceContext(t.Context(), `{"traceparent":"x"}`)
	for want, o := range map[string]JobOptions{
		`{"traceparent":"x"}`: {}, "own": {TelemetryContext: "own"}, "": {OmitContext: true},
	} {
		j, err := q.Add(ctx, "n", nil, o)
		if err != nil || j.Opts.TelemetryContext != want || j.Opts.OmitContext != o.OmitContext {
			t.Errorf("%+v carries %q, %v", o, j.Opts.TelemetryContext, err)
		}
		runOnce(t, q, func(ctx context.Context, _ *Job) (any, error) {
			if got := TraceContext(ctx); got != want {
				t.Errorf("the handler saw %q, want %q", got, want)
			}
			return nil, nil
		})
	}
	if j := add(t, q, "n", nil, JobOptions{}); strings.Contains(string(j.RawOpts), "tm") {
		t.Errorf("options %s", j.RawOpts)
	}
}

func TestTraceOfFailures(t *testing.T) {
	t.Parallel()
	q, r := tracedQueue(t)
	fails := func(context.Context, *Job) (any, error) { return nil, errors.New("broken") }
	o := JobOptions{Attempts: 3, Backoff: &Backoff{Type: "custom"}}
	id := add(t, q, "n", nil, o).ID
	waits := []time.Duration{0, time.Hour}
	w := newWorker(t, q, fails, func(o *WorkerOptions) {
		o.Backoff = func(made int, _ string, _ error, _ *Job) time.Duration { return waits[made-1] }
	})
	run := func(want string) {
		if j, err := w.RunOnce(t.Context()); j == nil || err != nil {
			t.Fatal(j, err)
		}
		end := r.named(t, want)[0]
		if end.err == nil || end.err.Error() != "broken" || end.attributes[attrJobID] != id {
			t.Errorf("%s: %v, %v", want, end.err, end.attributes)
		}
		if got := read(t, q, id).Fields["tm"]; got != end.id {
			t.Errorf("field tm is %q, want %s", got, end.id)
		}
	}
	run("retry q")
	run("delay q")
	if err := q.PromoteJob(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	run("fail q")
	if diff := cmp.Diff(r.count, map[string]int{"q n retried": 1, "q n delayed": 1, "q n failed": 1}); diff != "" {
		t.Error(diff)
	}
	for i, p := range r.named(t, "process q") {
		if p.attributes[attrAttempts] != fmt.Sprint(i+1) || !slices.Equal(p.events, []string{"job failed"}) || p.err == nil {
			t.Errorf("run %d: %v, %v, %v", i, p.attributes, p.events, p.err)
		}
	}
	id = add(t, q, "quiet", nil, JobOptions{OmitContext: true}).ID
	runOnce(t, q, fails)
	if tm, ok := read(t, q, id).Fields["tm"]; ok {
		t.Errorf("context was to be omitted, field tm is %q", tm)
	}
}

func TestTraceOfAddsTogether(t *testing.T) {
	t.Parallel()
	q, r := tracedQueue(t)
	jobs, err := q.AddBulk(t.Context(), []JobSpec{{Name: "a"}, {Name: "b", Options: JobOptions{TelemetryContext: "own"}}})
	bulk := r.named(t, "addBulk q")[0]
	if err != nil || jobs[0].Opts.TelemetryContext != bulk.id || jobs[1].Opts.TelemetryContext != "own" {
		t.Errorf("%v, %v", jobs, err)
	}
	if bulk.attributes[attrBulkCount] != "2" || bulk.attributes[attrBulkNames] != "[a b]" {
		t.Errorf("attributes %v", bulk.attributes)
	}

	p, err := NewFlowProducer(FlowProducerOptions{Client: q.client, Prefix: q.Prefix, Telemetry: r})
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.Add(t.Context(), family(leaf("kid", JobOptions{})))
	if err != nil {
		t.Fatal(err)
	}
	top, nodes, kid := r.named(t, "addFlow q")[0], r.named(t, "addNode q"), r.named(t, "addNode kids")[0]
	if top.attributes[attrFlow] != "root" || nodes[0].below != top.id || kid.attributes[attrJobID] != "kid" {
		t.Errorf("%v, %v", top.attributes, kid.attributes)
	}
	if got := f.Children[0].Job.Opts.TelemetryContext; got != kid.id {
		t.Errorf("the child carries %q", got)
	}
	if _, err := p.AddBulk(t.Context(), []FlowNode{leaf("x", JobOptions{}), leaf("y", JobOptions{})}); err != nil {
		t.Fatal(err)
	}
	if got := r.named(t, "addBulkFlows")[0].attributes[attrBulkNames]; got != "x,y" {
		t.Errorf("names %q", got)
	}
}

func TestTraceOfSchedulers(t *testing.T) {
	t.Parallel()
	q, r := tracedQueue(t)
	j := upsert(t, q, Repeat{Every: time.Hour}, JobTemplate{Name: "n", Options: JobOptions{Attempts: 2}})
	add := r.named(t, "add q.n")[0]
	if j.Opts.TelemetryContext != add.id || add.attributes[attrScheduler] != "s" || add.attributes[attrJobID] != j.ID {
		t.Errorf("the job carries %q of %v", j.Opts.TelemetryContext, add.attributes)
	}
	if s := scheduler(t, q); strings.Contains(string(s.RawOptions), "tm") {
		t.Errorf("the record has options %s", s.RawOptions)
	}
	runOnce(t, q, func(context.Context, *Job) (any, error) { return nil, nil })
	next := read(t, q, scheduler(t, q).JobID)
	if next.ID == j.ID || next.Opts.TelemetryContext != add.id {
		t.Errorf("job %s carries %q", next.ID, next.Opts.TelemetryContext)
	}
}

func TestTraceOfActs(t *testing.T) {
	t.Parallel()
	q, r := tracedQueue(t)
	ctx := t.Context()
	for _, err := range []error{q.Pause(ctx), q.Resume(ctx), q.Drain(ctx, true), q.RateLimit(ctx, time.Second), q.Obliterate(ctx, false)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Clean(ctx, "completed", -1, 0); err == nil {
		t.Fatal("cleaned with a negative grace")
	}
	if _, err := q.RemoveDeduplicationKey(ctx, "d"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pause q", "resume q", "drain q", "rateLimit q", "obliterate q", "removeDeduplicationKey q"} {
		if s := r.named(t, name)[0]; s.err != nil || s.attributes[attrQueue] != "q" {
			t.Errorf("%s: %v, %v", name, s.err, s.attributes)
		}
	}
	if s := r.named(t, "clean q")[0]; !errors.Is(s.err, ErrInvalid) {
		t.Errorf("clean ended with %v", s.err)
	}
}

func TestTraceOfAStartedWorker(t *testing.T) {
	t.Parallel()
	q, r := tracedQueue(t)
	w := startWorker(t, q, func(ctx context.Context, j *Job) (any, error) {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
		if j.Name == "later" {
			return nil, DelayJob(time.Hour)
		}
		return nil, nil
	}, func(o *WorkerOptions) { o.LockDuration, o.LockRenew = 10*time.Second, 20*time.Millisecond })
	add(t, q, "now", nil, JobOptions{})
	awaitState(t, q, "1", "completed")
	add(t, q, "later", nil, JobOptions{})
	awaitState(t, q, "2", "delayed")
	if _, err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{
		"process q": attrJobID, "complete q": attrJobID, "delay q": attrJobID, "extendLocks q": attrExtendLocks, "moveStalledJobsToWait q": attrStalled,
	} {
		if s := r.named(t, name)[0]; s.attributes[key] == "" {
			t.Errorf("%s has attributes %v", name, s.attributes)
		}
	}
	if diff := cmp.Diff(r.count, map[string]int{"q now completed": 1, "q later delayed": 1}); diff != "" {
		t.Error(diff)
	}
}

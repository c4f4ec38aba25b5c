package telemetry

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is an OTLP collector that keeps what it gets.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*traces.Span
	metrics  map[string]*metrics.Metric
	resource map[string]string
	auth     string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{metrics: map[string]*metrics.Metric{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(_ http.ResponseWriter, req *http.Request) {
		var got collectortrace.ExportTraceServiceRequest
		r.read(t, req, &got)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.auth = req.Header.Get("Authorization")
		for _, resource := range got.ResourceSpans {
			r.resource = attributesOf(resource.Resource.Attributes)
			for _, scope := range resource.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	})
	mux.HandleFunc("POST /v1/metrics", func(_ http.ResponseWriter, req *http.Request) {
		var got collectormetrics.ExportMetricsServiceRequest
		r.read(t, req, &got)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, resource := range got.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					r.metrics[m.Name] = m
				}
			}
		}
	})
	r.Server = httptest.NewServer(mux)
	t.Cleanup(r.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	return r
}

func (r *receiver) read(t *testing.T, req *http.Request, into proto.Message) {
	body, err := io.ReadAll(req.Body)
	if err == nil {
		err = proto.Unmarshal(body, into)
	}
	if err != nil {
		t.Errorf("received %s: %v", req.URL, err)
	}
}

// named returns the spans of a name.
func (r *receiver) named(name string) (found []*traces.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

func attributesOf(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.Key] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_ArrayValue:
			var items []string
			for _, item := range v.ArrayValue.Values {
				items = append(items, item.GetStringValue())
			}
			out[a.Key] = strings.Join(items, ",")
		}
	}
	return out
}

func start(t *testing.T) *Telemetry {
	t.Helper()
	tel, err := New(t.Context(), Options{Version: "1.2.3"})
	require.NoError(t, err)
	return tel
}

// flush ends the export, so that all of it has arrived.
func flush(t *testing.T, tel *Telemetry) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	require.NoError(t, tel.Shutdown(ctx))
}

// TestExport runs a job that succeeds and one that fails, and requires what a collector is to know of them.
func TestExport(t *testing.T) {
	r := newReceiver(t)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x")
	tel := start(t)
	server := testredis.Start(t)
	q, err := engine.NewQueue(engine.QueueOptions{Client: server.Client(t), Name: "mail", Telemetry: tel})
	require.NoError(t, err)
	handlerSaw := ""
	w, err := engine.NewWorker(engine.WorkerOptions{
		Queue: q, Name: "w1", Blocking: func(string) redis.UniversalClient { return nil },
		Handler: func(ctx context.Context, j *engine.Job) (any, error) {
			handlerSaw = engine.TraceContext(ctx)
			if j.Name == "bad" {
				return nil, errors.New("broken")
			}
			return map[string]string{"secret": "result"}, nil
		},
	})
	require.NoError(t, err)
	_, err = q.Add(t.Context(), "good", nil, engine.JobOptions{})
	require.NoError(t, err)
	_, err = q.AddBulk(t.Context(), []engine.JobSpec{{Name: "bad"}, {Name: "bad", Options: engine.JobOptions{Delay: time.Hour}}})
	require.NoError(t, err)
	for range 2 {
		_, err := w.RunOnce(t.Context())
		require.NoError(t, err)
	}
	_, err = q.Add(engine.WithTraceContext(t.Context(), `{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`), "sent", nil, engine.JobOptions{ID: "s-1"})
	require.NoError(t, err)
	require.ErrorIs(t, q.PromoteJob(t.Context(), "s-1"), engine.ErrWrongState)
	require.NoError(t, q.RemoveJob(t.Context(), "s-1", true))
	require.NoError(t, tel.QueueJobs(func(observe func(queue, state string, n int64)) { observe("mail", "delayed", 3) }))
	flush(t, tel)

	sent, remove, promote := r.named("add mail.sent"), r.named("remove mail"), r.named("promoteJobs mail")
	require.Equal(t, "b7ad6b7169203331", hex.EncodeToString(sent[0].ParentSpanId), "below the span of whoever asked")
	require.Equal(t, "s-1", attributesOf(remove[0].Attributes)["bullmq.job.id"])
	require.Equal(t, `{"removeChildren":true}`, attributesOf(remove[0].Attributes)["bullmq.job.options"])
	require.Equal(t, "s-1", attributesOf(promote[0].Attributes)["bullmq.job.id"])
	jobs := r.metrics["bullmq.queue.jobs"].GetGauge().DataPoints
	require.EqualValues(t, 3, jobs[0].GetAsInt())
	require.Equal(t, map[string]string{"bullmq.queue.name": "mail", "bullmq.queue.jobs.state": "delayed"}, attributesOf(jobs[0].Attributes))
	require.Equal(t, "bullpen", r.resource["service.name"])
	require.Equal(t, "1.2.3", r.resource["service.version"])
	require.Equal(t, "test", r.resource["deployment.environment"])
	require.Equal(t, "Bearer x", r.auth)
	added, bulk, runs := r.named("add mail.good"), r.named("addBulk mail"), r.named("process mail")
	complete, fail := r.named("complete mail"), r.named("fail mail")
	require.Len(t, added, 1)
	require.Len(t, bulk, 1)
	require.Len(t, runs, 2)
	require.Equal(t, traces.Span_SPAN_KIND_PRODUCER, added[0].Kind)
	require.Equal(t, traces.Span_SPAN_KIND_CONSUMER, runs[0].Kind)
	require.Equal(t, traces.Span_SPAN_KIND_INTERNAL, complete[0].Kind)
	for _, link := range [][2]*traces.Span{{runs[0], added[0]}, {runs[1], bulk[0]}, {complete[0], runs[0]}, {fail[0], runs[1]}} {
		require.Equal(t, link[1].SpanId, link[0].ParentSpanId, "parent of %s", link[0].Name)
		require.Equal(t, link[1].TraceId, link[0].TraceId)
	}
	attributes := attributesOf(runs[0].Attributes)
	require.Equal(t, "1", attributes["bullmq.job.id"])
	require.Equal(t, "mail", attributes["bullmq.queue.name"])
	require.Equal(t, "w1", attributes["bullmq.worker.name"])
	require.Equal(t, "1", attributes["bullmq.job.attempts.made"])
	require.Equal(t, "bad,bad", attributesOf(bulk[0].Attributes)["bullmq.job.bulk.names"])
	require.Equal(t, "job completed", runs[0].Events[0].Name)
	require.Equal(t, "broken", attributesOf(runs[1].Events[0].Attributes)["bullmq.job.failed.reason"])
	require.Equal(t, traces.Status_STATUS_CODE_ERROR, runs[1].Status.Code)
	require.NotContains(t, fmt.Sprint(r.spans), "secret", "results stay at home")
	require.Contains(t, handlerSaw, hex.EncodeToString(runs[1].SpanId), "the handler's context is that of its run")

	failed := r.metrics["bullmq.jobs.failed"].GetSum().DataPoints
	require.Len(t, failed, 1)
	require.EqualValues(t, 1, failed[0].GetAsInt())
	require.Equal(t, map[string]string{
		"bullmq.queue.name": "mail", "bullmq.job.name": "bad", "bullmq.job.state": "failed",
	}, attributesOf(failed[0].Attributes))
	require.Len(t, r.metrics["bullmq.job.duration"].GetHistogram().DataPoints, 2)
}

// TestTraceContextsOfOthers goes on with a trace that BullMQ's adapter began.
func TestTraceContextsOfOthers(t *testing.T) {
	r := newReceiver(t)
	tel := start(t)
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	theirs := `{"traceparent":"00-` + trace + `-` + span + `-01","tracestate":"a=b"}`
	ctx, s := tel.Start(tel.Extract(t.Context(), theirs), engine.SpanConsumer, "process q")
	var carried map[string]string
	require.NoError(t, json.Unmarshal([]byte(tel.Inject(ctx)), &carried))
	require.Contains(t, carried["traceparent"], trace)
	require.NotContains(t, carried["traceparent"], span)
	require.Equal(t, "a=b", carried["tracestate"])
	s.End(nil)
	for _, odd := range []string{"", "text", `{"traceparent":5}`, `{"traceparent":"00-xyz"}`, `[]`} {
		ctx, s := tel.Start(tel.Extract(t.Context(), odd), engine.SpanConsumer, "alone")
		require.NotEmpty(t, tel.Inject(ctx))
		s.End(nil)
	}
	require.Empty(t, tel.Inject(t.Context()))
	require.Equal(t, "kept", tel.Inject(engine.WithTraceContext(t.Context(), "kept")))
	flush(t, tel)
	require.Equal(t, span, hex.EncodeToString(r.named("process q")[0].ParentSpanId))
	for _, s := range r.named("alone") {
		require.Empty(t, s.ParentSpanId)
	}
}

func TestEnabled(t *testing.T) {
	t.Parallel()
	endpoint := "OTEL_EXPORTER_OTLP_ENDPOINT=http://x"
	for _, test := range []struct {
		env  string
		want bool
	}{
		{"", false},
		{endpoint, true},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://x", true},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://x", true},
		{endpoint + " OTEL_SDK_DISABLED=true", false},
		{endpoint + " OTEL_TRACES_EXPORTER=none", true},
		{endpoint + " OTEL_TRACES_EXPORTER=none OTEL_METRICS_EXPORTER=none", false},
	} {
		getenv := func(name string) string {
			for _, pair := range strings.Fields(test.env) {
				if value, ok := strings.CutPrefix(pair, name+"="); ok {
					return value
				}
			}
			return ""
		}
		require.Equal(t, test.want, Enabled(getenv), test.env)
	}
}

// TestWithoutTraces exports metrics alone, and still passes trace contexts on.
func TestWithoutTraces(t *testing.T) {
	r := newReceiver(t)
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	tel := start(t)
	theirs := `{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`
	ctx, s := tel.Start(tel.Extract(t.Context(), theirs), engine.SpanConsumer, "process q")
	s.End(errors.New("broken"))
	require.JSONEq(t, theirs, tel.Inject(ctx))
	tel.Count("q", "n", "completed", time.Second)
	tel.Count("q", "n", "nonsense", time.Second)
	flush(t, tel)
	require.Empty(t, r.spans)
	require.Contains(t, r.metrics, "bullmq.jobs.completed")
}

func TestWithoutMetrics(t *testing.T) {
	r := newReceiver(t)
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	tel := start(t)
	tel.Count("q", "n", "completed", time.Second)
	_, s := tel.Start(t.Context(), engine.SpanInternal, "work")
	s.End(nil)
	flush(t, tel)
	require.Len(t, r.named("work"), 1)
	require.Empty(t, r.metrics)
}

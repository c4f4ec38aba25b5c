package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	dto "github.com/prometheus/client_model/go"
)

// text scrapes the handler.
func text(t *testing.T, m *Metrics, token string) string {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	m.Handler(token).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func queues(n int, declared bool) []*monitor.Queue {
	out := make([]*monitor.Queue, n)
	for i := range out {
		out[i] = queue(fmt.Sprintf("q%04d", i))
		out[i].Declared = declared
	}
	return out
}

// series counts the series of a queue as Prometheus stores them: a histogram is its buckets, sum and count.
func series(families []*dto.MetricFamily, has func(*dto.Metric) bool) (all, histogram int) {
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if !has(m) {
				continue
			}
			n := 1
			if h := m.GetHistogram(); h != nil {
				n = len(h.GetBucket()) + 3 // +Inf, sum, count
				histogram += n
			}
			all += n
		}
	}
	return all, histogram
}

func hasLabel(name, value string) func(*dto.Metric) bool {
	return func(m *dto.Metric) bool {
		for _, l := range m.GetLabel() {
			if l.GetName() == name && l.GetValue() == value {
				return true
			}
		}
		return false
	}
}

// TestCardinality holds the number of series to what metrics.md and the README promise.
func TestCardinality(t *testing.T) {
	t.Parallel()
	m, _ := newTest(Options{}, snapshot(queues(3, true)...))
	families := gathered(t, m)
	all, histogram := series(families, hasLabel("queue", "q0001"))
	if histogram != 69 {
		t.Errorf("a queue has %d series of histograms, want 69", histogram)
	}
	if all > 123 {
		t.Errorf("a queue has %d series, want at most 119 and 4 about its events", all)
	}
	perRedis, _ := series(families, func(m *dto.Metric) bool {
		return hasLabel("redis", "default")(m) && !hasLabel("prefix", "bull")(m)
	})
	if perRedis > 30 {
		t.Errorf("a Redis has %d series, want at most 30", perRedis)
	}
	rest, _ := series(families, func(m *dto.Metric) bool { return !hasLabel("redis", "default")(m) })
	if rest > 100 {
		t.Errorf("the process has %d series, want at most 100", rest)
	}
}

func TestQueueLimit(t *testing.T) {
	t.Parallel()
	list := queues(8, false)
	list[7].Declared = true
	s := snapshot(list...)
	s.Dropped = 2
	m, f := newTest(Options{MaxQueues: 4}, s)
	body := text(t, m, "")
	for _, want := range []string{"bullpen_queues 4", "bullpen_queues_dropped 6", `bullpen_label_overflow_total{label="queue"} 4`} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("the exposition lacks %s", want)
		}
	}
	if !strings.Contains(body, `queue="q0007"`) {
		t.Error("a declared queue is left out")
	}
	early := queue("a-new-one")
	early.Declared = false
	f.s = snapshot(append([]*monitor.Queue{early}, list...)...)
	if body = text(t, m, ""); strings.Contains(body, `queue="a-new-one"`) || !strings.Contains(body, `queue="q0002"`) {
		t.Error("a new queue pushed out one that was exported before")
	}
	if !strings.Contains(body, "\n"+`bullpen_label_overflow_total{label="queue"} 5`+"\n") {
		t.Error("queues left out before are counted again")
	}
}

func TestHistogramLimit(t *testing.T) {
	t.Parallel()
	list := queues(6, false)
	list[5].Declared = true
	m, _ := newTest(Options{MaxHistograms: 3}, snapshot(list...))
	text(t, m, "")
	for _, q := range list {
		m.Jobs().JobWaited(q.Queue, "1", time.Second)
	}
	body := text(t, m, "")
	if !strings.Contains(body, `bullmq_job_wait_seconds_count{prefix="bull",queue="q0005",redis="default"} 1`) {
		t.Error("a declared queue has no histogram")
	}
	if strings.Contains(body, `bullmq_job_wait_seconds_count{prefix="bull",queue="q0001"`) {
		t.Error("an undeclared queue has a histogram though there are many queues")
	}
	off, _ := newTest(Options{NoHistograms: true}, snapshot(queue("q")))
	off.Jobs().JobWaited(keys.Queue{Prefix: "bull", Name: "q"}, "1", time.Second)
	if strings.Contains(text(t, off, ""), "bullmq_job_wait_seconds") {
		t.Error("histograms are exported though they are off")
	}
}

func TestHistograms(t *testing.T) {
	t.Parallel()
	m, _ := newTest(Options{}, snapshot(queue("mail")))
	q := keys.Queue{Prefix: "bull", Name: "mail"}
	jobs := m.Jobs()
	jobs.JobWaited(q, "1", 70*time.Millisecond)
	jobs.JobRan(q, "1", true, 2*time.Second)
	jobs.JobRan(q, "1", false, 3*time.Second)
	jobs.JobEnded(q, "1", 3)
	body := text(t, m, "")
	for _, want := range []string{
		`bullmq_job_wait_seconds_bucket{prefix="bull",queue="mail",redis="default",le="0.025"} 0`,
		`bullmq_job_wait_seconds_bucket{prefix="bull",queue="mail",redis="default",le="0.1"} 1`,
		`bullmq_job_processing_seconds_sum{outcome="completed",prefix="bull",queue="mail",redis="default"} 2`,
		`bullmq_job_processing_seconds_sum{outcome="failed",prefix="bull",queue="mail",redis="default"} 3`,
		`bullmq_job_attempts_bucket{prefix="bull",queue="mail",redis="default",le="3"} 1`,
		`bullmq_job_attempts_bucket{prefix="bull",queue="mail",redis="default",le="2"} 0`,
	} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("the exposition lacks %s", want)
		}
	}
	for _, f := range gathered(t, m) {
		if f.GetName() == "bullmq_job_wait_seconds" && len(f.GetMetric()[0].GetHistogram().GetPositiveSpan()) == 0 {
			t.Error("the native form is missing")
		}
	}
}

func TestJobNamesAreBounded(t *testing.T) {
	t.Parallel()
	m, _ := newTest(Options{JobNames: []string{"mail"}}, snapshot(queue("mail")))
	q := keys.Queue{Prefix: "bull", Name: "mail"}
	jobs := m.Jobs().(monitor.JobNameObserver)
	if !jobs.WantsJobNames(q) || jobs.WantsJobNames(keys.Queue{Prefix: "bull", Name: "other"}) {
		t.Error("names are wanted for the wrong queues")
	}
	for _, odd := range []string{"order-123456789", "3f2b8c1e-9d4a-4c2b-8a1f-0123456789ab", strings.Repeat("x", 65), "deadbeefdeadbeef"} {
		jobs.NamedJob(q, odd, "completed")
	}
	for i := range maxNamesOfQueue + 3 {
		jobs.NamedJob(q, fmt.Sprintf("kind-%d", i), "failed")
	}
	jobs.NamedJob(q, "", "retried")
	jobs.NamedJob(q, "kind-1", "failed")
	body := text(t, m, "")
	for _, want := range []string{
		`bullmq_jobs_by_name_total{job_name="other",outcome="completed",prefix="bull",queue="mail",redis="default"} 4`,
		`bullmq_jobs_by_name_total{job_name="other",outcome="failed",prefix="bull",queue="mail",redis="default"} 3`,
		`bullmq_jobs_by_name_total{job_name="unknown",outcome="retried",prefix="bull",queue="mail",redis="default"} 1`,
		`bullmq_jobs_by_name_total{job_name="kind-1",outcome="failed",prefix="bull",queue="mail",redis="default"} 2`,
		`bullpen_label_overflow_total{label="job_name"} 7`,
	} {
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("the exposition lacks %s", want)
		}
	}
}

// TestJobNamesGoWithTheirQueue has a queue that is gone lose its series and leave room for the names of others.
func TestJobNamesGoWithTheirQueue(t *testing.T) {
	t.Parallel()
	const many = maxNames / maxNamesOfQueue
	full := queues(many, false)
	m, f := newTest(Options{}, snapshot(full...))
	jobs := m.Jobs().(monitor.JobNameObserver)
	for _, q := range full {
		for i := range maxNamesOfQueue {
			jobs.NamedJob(q.Queue, fmt.Sprintf("kind-%d", i), "completed")
		}
	}
	late := queue("late")
	f.s = snapshot(append(full, late)...)
	jobs.NamedJob(late.Queue, "welcome", "completed")
	if !strings.Contains(text(t, m, ""), `job_name="other",outcome="completed",prefix="bull",queue="late",redis="default"} 1`) {
		t.Error("there is room for more names than the bound")
	}
	f.s = snapshot(append(full[1:], late)...)
	if strings.Contains(text(t, m, ""), `queue="q0000"`) {
		t.Error("a queue that is gone has series")
	}
	jobs.NamedJob(late.Queue, "welcome", "failed")
	body := text(t, m, "")
	for outcome, n := range map[string]int{"completed": 0, "failed": 1, "retried": 0} {
		want := fmt.Sprintf(`bullmq_jobs_by_name_total{job_name="welcome",outcome="%s",prefix="bull",queue="late",redis="default"} %d`, outcome, n)
		if !strings.Contains(body, "\n"+want+"\n") {
			t.Errorf("the exposition lacks %s", want)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	m, _ := newTest(Options{}, snapshot())
	h := m.Handler("s3cret")
	for header, want := range map[string]int{
		"": 401, "Bearer": 401, "Bearer wrong": 401, "Basic s3cret": 401, "s3cret": 401,
		"Bearer s3cret": 200, "bearer s3cret": 200,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Authorization", header)
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q answers %d, want %d", header, w.Code, want)
		}
	}
}

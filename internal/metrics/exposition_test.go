package metrics

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Formats as scrapers ask for them.
const (
	openMetrics = "application/openmetrics-text;version=1.0.0"
	protobuf    = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
)

// odd are families with every kind of metric, number and text.
func odd(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "g", Help: "A \\ gauge\nof \"numbers\"."}, []string{"x", "y"})
	for i, v := range []float64{
		0, 1, -1, 7, -300, 0.1, 1.5e9, 1e6, 123456789, 1e21, 1e-9, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
		math.Copysign(0, -1), 999999.5,
	} {
		g.WithLabelValues(strings.Repeat("q\"\\\n\xc3\xa9", i), "plain").Set(v)
	}
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "c_total", Help: "A counter."})
	c.Add(3)
	unfit := prometheus.NewCounter(prometheus.CounterOpts{Name: "unfit", Help: "A counter without the suffix."})
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "h_seconds", Help: "A histogram.", Buckets: []float64{.1, 1, 10}}, []string{"x"})
	observe(h.WithLabelValues("a").(prometheus.Histogram), .5, "17")
	observe(h.WithLabelValues("a").(prometheus.Histogram), 50, "b8a4a7f0-6f6e-4a4b-9d5e-1f2a3b4c5d6e")
	observe(h.WithLabelValues("b").(prometheus.Histogram), 3, "ada@example.org")
	s := prometheus.NewSummary(prometheus.SummaryOpts{Name: "s", Help: "A summary.", Objectives: map[float64]float64{.5: .1}})
	s.Observe(2)
	r.MustRegister(g, c, unfit, h, s)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return append(families, gathered(t, everything())...)
}

// TestExpositionIsThatOfTheLibrary compares what is written with what the library writes, byte by byte.
func TestExpositionIsThatOfTheLibrary(t *testing.T) {
	t.Parallel()
	families := odd(t)
	for name, accept := range map[string]string{"text": "", "OpenMetrics": openMetrics} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			format := negotiate(http.Header{"Accept": {accept}})
			var want, got bytes.Buffer
			library := expfmt.NewEncoder(&want, format)
			for _, f := range families {
				if err := library.Encode(f); err != nil {
					t.Fatal(err)
				}
			}
			_ = library.(expfmt.Closer).Close()
			e := exposition{w: &got, open: format.FormatType() == expfmt.TypeOpenMetrics}
			if err := e.write(families); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Errorf("the text differs from the library's (-want +got):\n%s", diff)
			}
		})
	}
}

// scraped asks a handler for a format and returns the text, without its compression.
func scraped(t *testing.T, h http.Handler, accept string) string {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	r.Header.Set("Accept-Encoding", "gzip")
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.Header().Get("Content-Encoding") != "gzip" {
		t.Fatalf("answer %d in %q: %s", w.Code, w.Header().Get("Content-Encoding"), w.Body)
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return w.Header().Get("Content-Type") + "\n" + string(text)
}

// TestExemplarsNameJobs finds the job behind a bucket, but not where its id is somebody's own.
func TestExemplarsNameJobs(t *testing.T) {
	t.Parallel()
	m, _ := newTest(Options{}, snapshot(queue("mail")))
	h, jobs, q := m.Handler(""), m.Jobs(), keys.Queue{Prefix: "bull", Name: "mail"}
	jobs.JobWaited(q, "4711", 70*time.Millisecond)
	jobs.JobRan(q, "ada@example.org", true, 70*time.Millisecond)
	open := scraped(t, h, openMetrics)
	for _, want := range []string{
		"application/openmetrics-text;", `le="0.1"} 1 # {job_id="4711"} 0.07 `, "\n# TYPE bullmq_jobs_added counter\n", "# EOF\n",
	} {
		if !strings.Contains(open, want) {
			t.Errorf("OpenMetrics lacks %q", want)
		}
	}
	if plain := scraped(t, h, ""); strings.Contains(plain, "4711") || strings.Contains(open+plain, "ada@") {
		t.Error("an exemplar is where it must not be")
	}
	if !strings.Contains(scraped(t, h, protobuf), "bullmq_job_wait_seconds") {
		t.Error("the binary format lacks a histogram")
	}
}

// TestScrapesAtOnce answers some together and refuses too many.
func TestScrapesAtOnce(t *testing.T) {
	t.Parallel()
	m, _ := newTest(Options{}, snapshot(queue("mail")))
	h := m.Handler("").(*scrapes)
	under := &answer{done: make(chan struct{})}
	h.answers[wanted{negotiate(nil), false}] = under
	var all sync.WaitGroup
	for range maxScrapes {
		all.Go(func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			if w.Body.String() != "shared" {
				t.Errorf("a scrape got %q, want what another one gets", w.Body)
			}
		})
	}
	for len(h.slots) < maxScrapes {
		time.Sleep(time.Millisecond)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("one scrape too many is answered %d", w.Code)
	}
	under.body = []byte("shared")
	close(under.done)
	all.Wait()
}

// TestIncompleteScrapes leaves out what cannot be gathered, and counts that.
func TestIncompleteScrapes(t *testing.T) {
	t.Parallel()
	m, _ := newTest(Options{}, snapshot(queue("mail")))
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "fine"}, func() float64 { return 1 }))
	bad := prometheus.NewDesc("bad", "", nil, nil)
	m.registry.MustRegister(invalid{bad})
	for _, want := range []string{"\nbullmq_queue_paused{", "\nfine 1\n"} {
		if !strings.Contains(text(t, m, ""), want) {
			t.Errorf("an incomplete scrape lacks %s", want)
		}
	}
	if !strings.Contains(text(t, m, ""), "\nbullpen_scrape_errors_total 2\n") {
		t.Error("incomplete scrapes are not counted")
	}
}

// invalid is a collector that fails.
type invalid struct{ desc *prometheus.Desc }

func (i invalid) Describe(ch chan<- *prometheus.Desc) { ch <- i.desc }

func (i invalid) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(i.desc, io.ErrUnexpectedEOF)
}

func TestNamesThatAreNoText(t *testing.T) {
	t.Parallel()
	m, _ := newTest(Options{}, snapshot(queue("a\xffb")))
	if !strings.Contains(text(t, m, ""), `queue="a`+"\uFFFD"+`b"`) {
		t.Error("a name that is not UTF-8 is not mended")
	}
}

// BenchmarkScrape scrapes 500 queues, the most there are by default, as a Prometheus does: without histograms, as they
// are when nobody declares so many, and with those of all of them.
func BenchmarkScrape(b *testing.B) {
	for name, accept := range map[string]string{"text": "", "openmetrics": openMetrics, "protobuf": protobuf} {
		for _, histograms := range []bool{false, true} {
			if histograms {
				name += "-histograms"
			}
			b.Run(name, func(b *testing.B) {
				m := New(Options{Clock: func() time.Time { return now }})
				m.Watch(&fake{s: snapshot(queues(500, histograms)...)})
				h := m.Handler("")
				for b.Loop() {
					w := httptest.NewRecorder()
					r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
					r.Header.Set("Accept", accept)
					r.Header.Set("Accept-Encoding", "gzip")
					h.ServeHTTP(w, r)
				}
			})
		}
	}
}

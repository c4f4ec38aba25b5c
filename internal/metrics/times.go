package metrics

import (
	"regexp"
	"sync"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// times has the histograms of wait, run and attempts. It implements monitor.JobObserver.
type times struct {
	off   bool
	most  int
	alias string

	vecs [3]*prometheus.HistogramVec // wait, run and attempts

	mu     sync.RWMutex
	queues map[keys.Queue]*queueTimes
	full   bool // more queues than most: only those the collector chose have histograms
}

// queueTimes are the histograms of one queue.
type queueTimes struct {
	wait, completed, failed, attempts prometheus.Histogram
}

// The families, in the order of queueTimes.of.
var timesFamilies = [3]struct{ name, help string }{
	{"bullmq_job_wait_seconds", "Time from ready to run until an attempt starts." + localHelp},
	{"bullmq_job_processing_seconds", "Run time of an attempt by outcome." + localHelp},
	{"bullmq_job_attempts", "Attempts a job had used when it finished." + localHelp},
}

// of are the histograms of each family.
func (h *queueTimes) of() [3][]prometheus.Histogram {
	return [3][]prometheus.Histogram{{h.wait}, {h.completed, h.failed}, {h.attempts}}
}

func newTimes(o Options) *times {
	seconds := []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
	vec := func(i int, buckets []float64, own ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: timesFamilies[i].name, Help: timesFamilies[i].help, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}, append([]string{"redis", "prefix", "queue"}, own...))
	}
	return &times{
		off: o.NoHistograms, most: o.MaxHistograms, alias: o.Alias, queues: map[keys.Queue]*queueTimes{},
		vecs: [3]*prometheus.HistogramVec{
			vec(0, seconds), vec(1, seconds, "outcome"), vec(2, []float64{1, 2, 3, 4, 5, 7, 10, 15, 25}),
		},
	}
}

// observe notes a value, with the job's id as its exemplar.
func observe(h prometheus.Histogram, v float64, id string) {
	if !madeID.MatchString(id) {
		h.Observe(v)
		return
	}
	h.(prometheus.ExemplarObserver).ObserveWithExemplar(v, prometheus.Labels{"job_id": id})
}

// madeID matches ids that BullMQ made up. One of somebody's own may be an address or a name, which is nobody's business
// in a Prometheus.
var madeID = regexp.MustCompile(`^[0-9]{1,20}$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// JobWaited implements monitor.JobObserver.
func (t *times) JobWaited(q keys.Queue, id string, d time.Duration) {
	if h := t.of(q); h != nil {
		observe(h.wait, d.Seconds(), id)
	}
}

// JobRan implements monitor.JobObserver.
func (t *times) JobRan(q keys.Queue, id string, completed bool, d time.Duration) {
	h := t.of(q)
	switch {
	case h == nil:
	case completed:
		observe(h.completed, d.Seconds(), id)
	default:
		observe(h.failed, d.Seconds(), id)
	}
}

// JobEnded implements monitor.JobObserver.
func (t *times) JobEnded(q keys.Queue, id string, attempts int) {
	if h := t.of(q); h != nil {
		observe(h.attempts, float64(attempts), id)
	}
}

// of returns the histograms of a queue; nil if it has none.
func (t *times) of(q keys.Queue) *queueTimes {
	if t.off {
		return nil
	}
	t.mu.RLock()
	h := t.queues[q]
	t.mu.RUnlock()
	if h != nil {
		return h
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.full || len(t.queues) >= t.most {
		return t.queues[q]
	}
	return t.add(q)
}

func (t *times) add(q keys.Queue) *queueTimes {
	h := t.queues[q]
	if h == nil {
		one := func(vec int, own ...string) prometheus.Histogram {
			return t.vecs[vec].WithLabelValues(append([]string{t.alias, fit(q.Prefix), fit(q.Name)}, own...)...).(prometheus.Histogram)
		}
		h = &queueTimes{wait: one(0), completed: one(1, "completed"), failed: one(1, "failed"), attempts: one(2)}
		t.queues[q] = h
	}
	return h
}

// families makes the histograms of the exported queues, at zero where nothing was observed, and drops all others.
func (t *times) families(exported []*monitor.Queue) []*dto.MetricFamily {
	if t.off {
		return nil
	}
	var out [3]*dto.MetricFamily
	for i, f := range timesFamilies {
		out[i] = &dto.MetricFamily{Name: &f.name, Help: &f.help, Type: dto.MetricType_HISTOGRAM.Enum()}
	}
	for _, h := range t.keep(exported) {
		for i, histograms := range h.of() {
			for _, one := range histograms {
				m := &dto.Metric{}
				if one.Write(m) == nil { // it never fails
					out[i].Metric = append(out[i].Metric, m)
				}
			}
		}
	}
	if len(out[0].Metric) == 0 {
		return nil
	}
	return out[:]
}

// keep returns the histograms of the queues that have some, and forgets those of all others.
func (t *times) keep(exported []*monitor.Queue) (kept []*queueTimes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.full = len(exported) > t.most
	keep := make(map[keys.Queue]bool, len(exported))
	for _, q := range exported {
		if !t.full || q.Declared {
			keep[q.Queue] = true
			kept = append(kept, t.add(q.Queue))
		}
	}
	for q := range t.queues {
		if !keep[q] {
			for _, v := range t.vecs {
				v.DeletePartialMatch(prometheus.Labels{"prefix": fit(q.Prefix), "queue": fit(q.Name)})
			}
			delete(t.queues, q)
		}
	}
	return kept
}

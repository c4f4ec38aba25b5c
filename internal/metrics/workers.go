package metrics

import (
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/prometheus/client_golang/prometheus"
)

// workers counts what the workers of this process do.
type workers struct {
	alias               string
	concurrency, active *prometheus.GaugeVec
	jobs, lost          *prometheus.CounterVec
	lastFetch           *prometheus.GaugeVec
}

func newWorkers(o Options) *workers {
	gauge := func(name, text, end string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "bullpen_worker_" + name, Help: text + end}, queueLabels)
	}
	return &workers{
		alias:       o.Alias,
		concurrency: gauge("concurrency", "Jobs the worker may run at once.", processHelp),
		active:      gauge("active_jobs", "Jobs the worker runs now.", processHelp),
		lastFetch:   gauge("last_fetch_timestamp_seconds", "Time of the last fetch that Redis answered, jobs or not.", viewHelp),
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bullpen_worker_jobs_total", Help: "Attempts that ended, by outcome." + processHelp,
		}, append([]string{"redis", "prefix", "queue"}, "outcome")),
		lost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bullpen_worker_lock_lost_total", Help: "Running jobs that lost their lock." + processHelp,
		}, queueLabels),
	}
}

func (w *workers) all() []prometheus.Collector {
	return []prometheus.Collector{w.concurrency, w.active, w.jobs, w.lost, w.lastFetch}
}

// Describe implements prometheus.Collector.
func (w *workers) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range w.all() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (w *workers) Collect(ch chan<- prometheus.Metric) {
	for _, c := range w.all() {
		c.Collect(ch)
	}
}

// Worker observes the workers that this process runs for one queue. It implements engine.Observer.
type Worker struct {
	concurrency, active, lastFetch prometheus.Gauge
	jobs                           map[engine.Outcome]prometheus.Counter
	lost                           prometheus.Counter
}

// Worker returns the observer of the workers of a queue, with every series at 0.
func (m *Metrics) Worker(q keys.Queue) *Worker {
	w, labels := m.workers, []string{m.workers.alias, fit(q.Prefix), fit(q.Name)}
	out := &Worker{
		concurrency: w.concurrency.WithLabelValues(labels...),
		active:      w.active.WithLabelValues(labels...),
		lastFetch:   w.lastFetch.WithLabelValues(labels...),
		lost:        w.lost.WithLabelValues(labels...),
		jobs:        map[engine.Outcome]prometheus.Counter{},
	}
	for _, o := range []engine.Outcome{
		engine.OutcomeCompleted, engine.OutcomeFailed, engine.OutcomeRetried,
		engine.OutcomeRateLimited, engine.OutcomeDelayed, engine.OutcomeLost,
	} {
		out.jobs[o] = w.jobs.WithLabelValues(append(labels[:3:3], string(o))...)
	}
	return out
}

// SetConcurrency records how many jobs the worker may run at once.
func (w *Worker) SetConcurrency(n int) { w.concurrency.Set(float64(n)) }

// JobStarted implements engine.Observer.
func (w *Worker) JobStarted(string) { w.active.Inc() }

// JobFinished implements engine.Observer. An outcome without a series of its own is not counted.
func (w *Worker) JobFinished(_ string, o engine.Outcome, _ time.Duration) {
	w.active.Dec()
	if c := w.jobs[o]; c != nil {
		c.Inc()
	}
}

// LockLost implements engine.Observer.
func (w *Worker) LockLost(_ string, n int) { w.lost.Add(float64(n)) }

// Fetched implements engine.Observer.
func (w *Worker) Fetched(_ string, at time.Time) { w.lastFetch.Set(seconds(at)) }

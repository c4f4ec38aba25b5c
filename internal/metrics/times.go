package metrics

import (
	"sync"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	"github.com/prometheus/client_golang/prometheus"
)

const localHelp = " Observed by one replica at a time: aggregate with sum."

// times has the histograms of wait, run and attempts. It implements monitor.JobObserver.
type times struct {
	off   bool
	most  int
	alias string

	wait, run, attempts *prometheus.HistogramVec

	mu     sync.RWMutex
	queues map[keys.Queue]*queueTimes
	full   bool // more queues than most: only those the collector chose have histograms
}

// queueTimes are the histograms of one queue.
type queueTimes struct {
	wait, completed, failed, attempts prometheus.Observer
}

func newTimes(o Options) *times {
	buckets := []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
	vec := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: help + localHelp, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour,
		}, append([]string{"redis", "prefix", "queue"}, labels...))
	}
	return &times{
		off: o.NoHistograms, most: o.MaxHistograms, alias: o.Alias, queues: map[keys.Queue]*queueTimes{},
		wait:     vec("bullmq_job_wait_seconds", "Time from ready to run until an attempt starts.", buckets),
		run:      vec("bullmq_job_processing_seconds", "Run time of an attempt by outcome.", buckets, "outcome"),
		attempts: vec("bullmq_job_attempts", "Attempts a job had used when it finished.", []float64{1, 2, 3, 4, 5, 7, 10, 15, 25}),
	}
}

// JobWaited implements monitor.JobObserver.
func (t *times) JobWaited(q keys.Queue, d time.Duration) {
	if h := t.of(q); h != nil {
		h.wait.Observe(d.Seconds())
	}
}

// JobRan implements monitor.JobObserver.
func (t *times) JobRan(q keys.Queue, completed bool, d time.Duration) {
	h := t.of(q)
	switch {
	case h == nil:
	case completed:
		h.completed.Observe(d.Seconds())
	default:
		h.failed.Observe(d.Seconds())
	}
}

// JobEnded implements monitor.JobObserver.
func (t *times) JobEnded(q keys.Queue, attempts int) {
	if h := t.of(q); h != nil {
		h.attempts.Observe(float64(attempts))
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
		h = &queueTimes{
			wait:      t.wait.WithLabelValues(t.alias, q.Prefix, q.Name),
			completed: t.run.WithLabelValues(t.alias, q.Prefix, q.Name, "completed"),
			failed:    t.run.WithLabelValues(t.alias, q.Prefix, q.Name, "failed"),
			attempts:  t.attempts.WithLabelValues(t.alias, q.Prefix, q.Name),
		}
		t.queues[q] = h
	}
	return h
}

// Describe implements half of prometheus.Collector.
func (t *times) Describe(ch chan<- *prometheus.Desc) {
	t.wait.Describe(ch)
	t.run.Describe(ch)
	t.attempts.Describe(ch)
}

// collect sends the histograms of the exported queues, at zero where nothing was observed, and drops all others.
func (t *times) collect(ch chan<- prometheus.Metric, exported []*monitor.Queue) {
	if t.off {
		return
	}
	t.mu.Lock()
	t.full = len(exported) > t.most
	keep := make(map[keys.Queue]bool, len(exported))
	for _, q := range exported {
		if !t.full || q.Declared {
			keep[q.Queue] = true
			t.add(q.Queue)
		}
	}
	for q := range t.queues {
		if !keep[q] {
			labels := prometheus.Labels{"prefix": q.Prefix, "queue": q.Name}
			t.wait.DeletePartialMatch(labels)
			t.run.DeletePartialMatch(labels)
			t.attempts.DeletePartialMatch(labels)
			delete(t.queues, q)
		}
	}
	t.mu.Unlock()
	t.wait.Collect(ch)
	t.run.Collect(ch)
	t.attempts.Collect(ch)
}

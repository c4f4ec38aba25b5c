package metrics

import (
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Options configure New; the zero value is usable.
type Options struct {
	// Alias names the Redis in the label redis; default "default".
	Alias string
	// Cluster adds the label node to what is known of each node of a Cluster.
	Cluster bool
	// ReadOnly says that this process keeps its own totals: help texts then say so.
	ReadOnly bool
	// MaxQueues is how many queues are exported, declared ones first; default 500.
	MaxQueues int
	// NoHistograms leaves out the histograms. With more than MaxHistograms queues (default 200) only declared ones
	// have any.
	NoHistograms  bool
	MaxHistograms int
	// BullMQNames adds the three metrics of BullMQ's own exporter under their names.
	BullMQNames bool
	// JobNames are the names of queues whose finished and retried jobs are also counted by job name.
	JobNames []string
	// Version and Revision describe the build.
	Version, Revision string
	Logger            *slog.Logger // default: nothing is logged
	Clock             func() time.Time
	// registry is set by tests.
	registry *prometheus.Registry
}

func (o Options) withDefaults() Options {
	if o.Alias == "" {
		o.Alias = "default"
	}
	if o.MaxQueues == 0 {
		o.MaxQueues = 500
	}
	if o.MaxHistograms == 0 {
		o.MaxHistograms = 200
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.registry == nil {
		o.registry = prometheus.NewRegistry()
	}
	return o
}

// Source is what the metrics are made of; *monitor.Monitor is one.
type Source interface {
	Snapshot() *monitor.Snapshot
	Policy(keys.Queue) policy.Policy
}

// Metrics owns a registry with everything this process exports.
type Metrics struct {
	o        Options
	registry *prometheus.Registry
	times    *times
	names    *jobNames
	workers  *workers
	requests *requests
	failures prometheus.Counter // scrapes that lack something
	// collector makes what is known of a monitor; nil until Watch.
	collector atomic.Pointer[collector]
}

// New returns metrics about this process. Watch adds those of a monitor.
func New(o Options) *Metrics {
	o = o.withDefaults()
	m := &Metrics{o: o, registry: o.registry, times: newTimes(o), names: newJobNames(o), workers: newWorkers(o), requests: newRequests()}
	m.failures = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "bullpen_scrape_errors_total", Help: "Scrapes answered incompletely or not at all." + processHelp,
	})
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.workers,
		m.names,
		m.requests.all,
		m.requests.duration,
		m.failures,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "bullpen_build_info", Help: "Build facts in labels, always 1." + processHelp,
			ConstLabels: prometheus.Labels{"version": o.Version, "revision": o.Revision, "go_version": runtime.Version()},
		}, func() float64 { return 1 }),
	)
	return m
}

// Watch adds the metrics of a monitor. Only the first call counts.
func (m *Metrics) Watch(s Source) {
	m.collector.CompareAndSwap(nil, newCollector(m.o, s, m.times, m.names))
}

// observer joins what wants to know of single jobs.
type observer struct {
	*times
	*jobNames
}

// Jobs returns the observer to give to the monitor.
func (m *Metrics) Jobs() monitor.JobObserver { return observer{m.times, m.names} }

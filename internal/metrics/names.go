package metrics

import (
	"maps"
	"regexp"
	"slices"
	"sync"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	"github.com/prometheus/client_golang/prometheus"
)

// Bounds of the job names that get series of their own.
const (
	maxNamesOfQueue = 50
	maxNames        = 500
	maxNameLength   = 64
	otherName       = "other"
	unknownName     = "unknown"
)

// looksLikeID matches names that are made up for each job: UUIDs, and long runs of digits or hexadecimal ones.
var looksLikeID = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-|[0-9]{6,}|[0-9a-f]{16,}`)

// outcomes are those that monitor.JobNameObserver names.
var outcomes = []string{"completed", "failed", "retried"}

// jobNames counts jobs by name for the queues that opted in. It implements monitor.JobNameObserver together with times.
type jobNames struct {
	wanted []string
	alias  string
	jobs   *prometheus.CounterVec

	mu     sync.Mutex
	queues map[keys.Queue]*queueNames
	all    int
	folded float64
}

// queueNames are the names of one queue.
type queueNames struct {
	admitted map[string]bool
	counters map[string]map[string]prometheus.Counter // by name and outcome; also of other and unknown
}

func newJobNames(o Options) *jobNames {
	return &jobNames{
		wanted: o.JobNames, alias: o.Alias, queues: map[keys.Queue]*queueNames{},
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bullmq_jobs_by_name_total",
			Help: "Jobs that completed or failed for good, and attempts retried, by job name." + localHelp,
		}, append([]string{"redis", "prefix", "queue"}, "job_name", "outcome")),
	}
}

// WantsJobNames implements monitor.JobNameObserver.
func (n *jobNames) WantsJobNames(q keys.Queue) bool { return slices.Contains(n.wanted, q.Name) }

// NamedJob implements monitor.JobNameObserver. An outcome without a series of its own is not counted.
func (n *jobNames) NamedJob(q keys.Queue, name, outcome string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	of := n.queues[q]
	if of == nil {
		of = &queueNames{admitted: map[string]bool{}, counters: map[string]map[string]prometheus.Counter{}}
		n.queues[q] = of
	}
	if c := n.countersOf(q, n.fold(of, fit(name)))[outcome]; c != nil {
		c.Inc()
	}
}

// fold returns the name itself while there is room for it, else "other".
func (n *jobNames) fold(of *queueNames, name string) string {
	switch {
	case name == "":
		return unknownName
	case of.admitted[name]:
		return name
	case len(name) > maxNameLength, looksLikeID.MatchString(name), len(of.admitted) >= maxNamesOfQueue, n.all >= maxNames:
		n.folded++
		return otherName
	}
	of.admitted[name] = true
	n.all++
	return name
}

// countersOf returns the counters of a name. All outcomes begin at 0 together, so that the first failure of a name is
// an increase.
func (n *jobNames) countersOf(q keys.Queue, name string) map[string]prometheus.Counter {
	of := n.queues[q]
	if of.counters[name] == nil {
		of.counters[name] = map[string]prometheus.Counter{}
		for _, o := range outcomes {
			of.counters[name][o] = n.jobs.WithLabelValues(n.alias, fit(q.Prefix), fit(q.Name), name, o)
		}
	}
	return of.counters[name]
}

// keep forgets the names of all queues but the exported ones.
func (n *jobNames) keep(exported []*monitor.Queue) {
	n.mu.Lock()
	defer n.mu.Unlock()
	gone := maps.Clone(n.queues)
	for _, q := range exported {
		delete(gone, q.Queue)
	}
	for q, of := range gone {
		n.jobs.DeletePartialMatch(prometheus.Labels{"prefix": fit(q.Prefix), "queue": fit(q.Name)})
		n.all -= len(of.admitted)
		delete(n.queues, q)
	}
}

// overflow is how many jobs were counted under "other".
func (n *jobNames) overflow() float64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.folded
}

// Describe implements prometheus.Collector.
func (n *jobNames) Describe(ch chan<- *prometheus.Desc) { n.jobs.Describe(ch) }

// Collect implements prometheus.Collector.
func (n *jobNames) Collect(ch chan<- prometheus.Metric) { n.jobs.Collect(ch) }

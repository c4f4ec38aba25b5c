package metrics

import (
	"regexp"
	"slices"
	"sync"

	"bullpen/internal/engine/keys"

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

// jobNames counts jobs by name for the queues that opted in. It implements monitor.JobNameObserver together with times.
type jobNames struct {
	wanted []string
	alias  string
	jobs   *prometheus.CounterVec

	mu     sync.Mutex
	names  map[keys.Queue]map[string]bool
	all    int
	folded float64
}

func newJobNames(o Options) *jobNames {
	return &jobNames{
		wanted: o.JobNames, alias: o.Alias, names: map[keys.Queue]map[string]bool{},
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bullmq_jobs_by_name_total",
			Help: "Jobs that completed or failed for good, and attempts retried, by job name." + localHelp,
		}, append([]string{"redis", "prefix", "queue"}, "job_name", "outcome")),
	}
}

// WantsJobNames implements monitor.JobNameObserver.
func (n *jobNames) WantsJobNames(q keys.Queue) bool { return slices.Contains(n.wanted, q.Name) }

// NamedJob implements monitor.JobNameObserver.
func (n *jobNames) NamedJob(q keys.Queue, name, outcome string) {
	n.jobs.WithLabelValues(n.alias, fit(q.Prefix), fit(q.Name), n.fold(q, fit(name)), outcome).Inc()
}

// fold returns the name itself while there is room for it, else "other".
func (n *jobNames) fold(q keys.Queue, name string) string {
	if name == "" {
		return unknownName
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	known := n.names[q]
	switch {
	case known[name]:
		return name
	case len(name) > maxNameLength, looksLikeID.MatchString(name), len(known) >= maxNamesOfQueue, n.all >= maxNames:
		n.folded++
		return otherName
	case known == nil:
		known = map[string]bool{}
		n.names[q] = known
	}
	known[name] = true
	n.all++
	return name
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

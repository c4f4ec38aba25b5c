package metrics

import (
	"cmp"
	"slices"
	"sync"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	dto "github.com/prometheus/client_model/go"
)

// collector makes families of the figures of the last snapshot.
type collector struct {
	o      Options
	source Source
	times  *times
	names  *jobNames

	queue []*family[queueView]
	redis []*family[monitor.Redis]
	parts []*family[monitor.Part]
	own   []*family[*ownView]

	mu       sync.Mutex
	exported map[keys.Queue]bool
	dropped  map[keys.Queue]bool
	overflow float64 // queues ever left out
}

// ownView is what the families about the export itself read.
type ownView struct {
	up               bool
	queues, dropped  int
	names, overflown float64
}

func newCollector(o Options, s Source, t *times, n *jobNames) *collector {
	families := queueFamilies(o)
	if o.BullMQNames {
		families = append(families, bullmqFamilies()...)
	}
	return &collector{
		o: o, source: s, times: t, names: n,
		queue: families, redis: redisFamilies(), parts: partFamilies(), own: ownFamilies(o),
		exported: map[keys.Queue]bool{}, dropped: map[keys.Queue]bool{},
	}
}

var partLabels = []string{"collector"}

func partFamilies() []*family[monitor.Part] {
	return []*family[monitor.Part]{
		gauge("bullpen_collector_success", "1 if the collector succeeded the last time."+viewHelp,
			always(func(p monitor.Part) float64 { return bit(p.Err == nil) })),
		gauge("bullpen_collector_duration_seconds", "Duration of the last run of the collector."+viewHelp,
			always(func(p monitor.Part) float64 { return p.Took.Seconds() })),
		gauge("bullpen_last_success_timestamp_seconds", "Time of the last success of the collector."+viewHelp,
			known(func(p monitor.Part) (float64, bool) { return seconds(p.LastSuccess), !p.LastSuccess.IsZero() })),
	}
}

func ownFamilies(o Options) []*family[*ownView] {
	up := gauge("bullmq_redis_up", "1 if Redis answered the last collection, on a Cluster every master."+viewHelp,
		func(v *ownView, send emit) { send(bit(v.up), o.Alias) }, "redis")
	return []*family[*ownView]{
		up,
		gauge("bullpen_queues", "Queues exported."+viewHelp, always(func(v *ownView) float64 { return float64(v.queues) })),
		gauge("bullpen_queues_dropped", "Queues left out by the limit."+viewHelp,
			always(func(v *ownView) float64 { return float64(v.dropped) })),
		counter("bullpen_label_overflow_total", "Label values folded into other by a limit."+processHelp, func(v *ownView, send emit) {
			send(v.names, "job_name")
			send(v.overflown, "queue")
		}, "label"),
	}
}

// bullmqFamilies are those of BullMQ's own exporter, for boards that know them. They keep its faults: the gauge's name
// is that of a counter.
func bullmqFamilies() []*family[queueView] {
	total := func(name, help string, value func(queueView) int64) *family[queueView] {
		return counter(name, help+globalHelp, known(func(q queueView) (float64, bool) { return float64(value(q)), q.FinishedKnown }))
	}
	return []*family[queueView]{
		gauge("bullmq_job_count", "Number of jobs in the queue by state."+globalHelp, func(q queueView, send emit) {
			for state, n := range q.Counts {
				send(float64(n), string(state))
			}
		}, "state"),
		total("bullmq_job_completed_total", "Total number of completed jobs.", func(q queueView) int64 { return q.Completed }),
		total("bullmq_job_failed_total", "Total number of failed jobs.", func(q queueView) int64 { return q.FailedForGood }),
	}
}

// families makes all there is to say of the present snapshot.
func (c *collector) families() []*dto.MetricFamily {
	s := c.source.Snapshot()
	current := s.Current(c.o.Clock())
	v := &ownView{up: current && s.Redis.Up, names: c.names.overflow()}
	var k maker
	var out []*dto.MetricFamily
	if current {
		queues := c.choose(s, v)
		c.names.keep(queues)
		out = gather(&k, c.queue, c.views(queues))
		out = append(out, c.times.families(queues)...)
		out = append(out, gather(&k, c.redis, c.servers(s))...)
	}
	out = append(out, gather(&k, c.parts, partsOf(s))...)
	return append(out, gather(&k, c.own, []labelled[*ownView]{{v, nil}})...)
}

func (c *collector) views(queues []*monitor.Queue) []labelled[queueView] {
	out := make([]labelled[queueView], len(queues))
	for i, q := range queues {
		view := queueView{q, c.source.Policy(q.Queue).WithDefaults()}
		out[i] = labelled[queueView]{view, label(queueLabels, []string{c.o.Alias, q.Prefix, q.Name})}
	}
	return out
}

func (c *collector) servers(s *monitor.Snapshot) []labelled[monitor.Redis] {
	if !c.o.Cluster {
		return []labelled[monitor.Redis]{{s.Redis, label(redisLabels, []string{c.o.Alias})}}
	}
	var out []labelled[monitor.Redis]
	for _, n := range s.Nodes {
		out = append(out, labelled[monitor.Redis]{n, label(nodeLabels, []string{c.o.Alias, n.Node})})
	}
	return out
}

func partsOf(s *monitor.Snapshot) []labelled[monitor.Part] {
	var out []labelled[monitor.Part]
	for _, p := range s.Parts {
		// A command that is not permitted is not a failure that will pass: what it tells is absent, and so is this.
		if p.Name != "clients" || s.WorkersErr == "" {
			out = append(out, labelled[monitor.Part]{p, label(partLabels, []string{p.Name})})
		}
	}
	return out
}

// choose returns the queues to export: declared ones first, then those exported the last time, so that a new queue
// does not push out an old one.
func (c *collector) choose(s *monitor.Snapshot, v *ownView) []*monitor.Queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	queues := s.Queues
	if len(queues) > c.o.MaxQueues {
		rank := func(q *monitor.Queue) int {
			switch {
			case q.Declared:
				return 0
			case c.exported[q.Queue]:
				return 1
			}
			return 2
		}
		queues = slices.SortedStableFunc(slices.Values(queues), func(a, b *monitor.Queue) int {
			return cmp.Compare(rank(a), rank(b))
		})
	}
	kept := queues[:min(len(queues), c.o.MaxQueues)]
	clear(c.exported)
	for _, q := range kept {
		c.exported[q.Queue] = true
	}
	dropped := make(map[keys.Queue]bool)
	for _, q := range queues[len(kept):] {
		dropped[q.Queue] = true
		if !c.dropped[q.Queue] {
			c.overflow++
		}
	}
	c.dropped = dropped
	v.queues, v.dropped, v.overflown = len(kept), len(dropped)+s.Dropped, c.overflow
	return kept
}

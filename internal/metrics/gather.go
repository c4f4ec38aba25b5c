package metrics

import (
	"cmp"
	"slices"

	dto "github.com/prometheus/client_model/go"
)

// Gather implements prometheus.Gatherer. The registry checks and sorts what it holds; what is made of a snapshot is a
// hundred times as much, of one pen and in order already, so it goes past it.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) {
	var ofSnapshot []*dto.MetricFamily
	if c := m.collector.Load(); c != nil {
		ofSnapshot = c.families() // first, because it lets what the registry holds of gone queues go
	}
	families, err := m.registry.Gather()
	families = append(families, ofSnapshot...)
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return families, err
}

// maker makes metrics. It allocates them many at a time.
type maker struct {
	metrics  []dto.Metric
	gauges   []dto.Gauge
	counters []dto.Counter
	values   []float64
}

// slab is how many metrics are allocated at a time.
const slab = 512

func next[T any](free *[]T) *T {
	if len(*free) == 0 {
		*free = make([]T, slab)
	}
	t := &(*free)[0]
	*free = (*free)[1:]
	return t
}

// metric makes a metric of one value.
func (k *maker) metric(kind dto.MetricType, value float64, labels pairs) *dto.Metric {
	m, v := next(&k.metrics), next(&k.values)
	*v, m.Label = value, labels
	if kind == dto.MetricType_COUNTER {
		m.Counter = next(&k.counters)
		m.Counter.Value = v
	} else {
		m.Gauge = next(&k.gauges)
		m.Gauge.Value = v
	}
	return m
}

package metrics

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Ends of help texts: how to aggregate over replicas.
const (
	globalHelp   = " Same value on every replica: aggregate with max."
	survivesHelp = " Survives restarts of the server and removal of jobs." + globalHelp
	readOnlyHelp = " Counted by this process alone since it started (read-only mode): aggregate with max."
)

// emit sends one sample: its value, then the values of the family's own labels.
type emit func(value float64, labels ...string)

// family is one metric: what it is called, and how its samples are read from a thing of type T.
type family[T any] struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string
	read       func(T, emit)
	desc       *prometheus.Desc
}

func gauge[T any](name, help string, read func(T, emit), labels ...string) *family[T] {
	return &family[T]{name: name, help: help, kind: prometheus.GaugeValue, read: read, labels: labels}
}

func counter[T any](name, help string, read func(T, emit), labels ...string) *family[T] {
	return &family[T]{name: name, help: help, kind: prometheus.CounterValue, read: read, labels: labels}
}

// describe gives every family its descriptor: the labels of the thing come before the family's own.
func describe[T any](families []*family[T], thing ...string) []*family[T] {
	for _, f := range families {
		f.desc = prometheus.NewDesc(f.name, f.help, slices.Concat(thing, f.labels), nil)
	}
	return families
}

// pairs are labels as the client library wants them: sorted by name. They are shared between samples and not changed.
type pairs []*dto.LabelPair

// label pairs names with values.
func label(names, values []string) pairs {
	out := make(pairs, len(names))
	for i := range names {
		out[i] = &dto.LabelPair{Name: &names[i], Value: &values[i]}
	}
	slices.SortFunc(out, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

// with returns p and some more labels.
func (p pairs) with(names, values []string) pairs {
	if len(names) == 0 {
		return p
	}
	out := slices.Concat(p, label(names, values))
	slices.SortFunc(out, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

// collect sends every sample of one thing, whose labels are given.
func collect[T any](ch chan<- prometheus.Metric, families []*family[T], thing T, labels pairs) {
	for _, f := range families {
		f.read(thing, func(value float64, own ...string) {
			ch <- &sample{f.desc, f.kind, value, labels.with(f.labels, own)}
		})
	}
}

// sample is one constant metric. It is the library's own in a form that shares labels, since thousands are made for
// each scrape.
type sample struct {
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	value  float64
	labels pairs
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(out *dto.Metric) error {
	out.Label = s.labels
	if s.kind == prometheus.CounterValue {
		out.Counter = &dto.Counter{Value: &s.value}
	} else {
		out.Gauge = &dto.Gauge{Value: &s.value}
	}
	return nil
}

// always reads a figure that is always known.
func always[T any](value func(T) float64) func(T, emit) {
	return func(t T, send emit) { send(value(t)) }
}

// known reads a figure that may be unknown, and is absent then.
func known[T any](value func(T) (float64, bool)) func(T, emit) {
	return func(t T, send emit) {
		if v, ok := value(t); ok {
			send(v)
		}
	}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
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

// collect sends every sample of one thing.
func collect[T any](ch chan<- prometheus.Metric, families []*family[T], thing T, labels ...string) {
	for _, f := range families {
		f.read(thing, func(value float64, own ...string) {
			ch <- prometheus.MustNewConstMetric(f.desc, f.kind, value, slices.Concat(labels, own)...)
		})
	}
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

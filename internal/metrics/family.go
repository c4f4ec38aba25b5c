package metrics

import (
	"cmp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// Ends of help texts: how to aggregate over replicas.
const (
	globalHelp   = " Same value on every replica: aggregate with max."
	localHelp    = " Observed by one replica at a time: aggregate with sum."
	processHelp  = " Of this process alone: aggregate with sum."
	viewHelp     = " As this process sees it: aggregate with max."
	survivesHelp = " Survives restarts of the server and removal of jobs." + globalHelp
	readOnlyHelp = " Counted by this process alone since it started (read-only mode): aggregate with max."
)

// emit sends one sample: its value, then the values of the family's own labels.
type emit func(value float64, labels ...string)

// family is one metric: what it is called, and how its samples are read from a thing of type T.
type family[T any] struct {
	name, help string
	kind       dto.MetricType
	labels     []string
	read       func(T, emit)
}

func gauge[T any](name, help string, read func(T, emit), labels ...string) *family[T] {
	return &family[T]{name: name, help: help, kind: dto.MetricType_GAUGE, read: read, labels: labels}
}

func counter[T any](name, help string, read func(T, emit), labels ...string) *family[T] {
	return &family[T]{name: name, help: help, kind: dto.MetricType_COUNTER, read: read, labels: labels}
}

// pairs are labels as the client library wants them: sorted by name. They are shared between samples and not changed.
type pairs []*dto.LabelPair

// label pairs names with values.
func label(names, values []string) pairs {
	out := make(pairs, len(names))
	for i := range names {
		value := fit(values[i])
		out[i] = &dto.LabelPair{Name: &names[i], Value: &value}
	}
	slices.SortFunc(out, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

// fit mends what is no UTF-8: the name of a queue may be any bytes in Redis, but not in a label.
func fit(value string) string { return strings.ToValidUTF8(value, "\uFFFD") }

// with returns p and some more labels.
func (p pairs) with(names, values []string) pairs {
	if len(names) == 0 {
		return p
	}
	out := slices.Concat(p, label(names, values))
	slices.SortFunc(out, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

// labelled is a thing and the labels that name it.
type labelled[T any] struct {
	thing  T
	labels pairs
}

// gather makes the families of things; one that nothing is known of is left out.
func gather[T any](k *maker, families []*family[T], things []labelled[T]) []*dto.MetricFamily {
	out := make([]*dto.MetricFamily, 0, len(families))
	for _, f := range families {
		made := &dto.MetricFamily{Name: &f.name, Help: &f.help, Type: &f.kind, Metric: make([]*dto.Metric, 0, len(things))}
		for _, t := range things {
			f.read(t.thing, func(value float64, own ...string) {
				made.Metric = append(made.Metric, k.metric(f.kind, value, t.labels.with(f.labels, own)))
			})
		}
		if len(made.Metric) > 0 {
			out = append(out, made)
		}
	}
	return out
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

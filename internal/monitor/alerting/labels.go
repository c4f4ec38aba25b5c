package alerting

import (
	"slices"
	"strings"
)

// Label is one label of a series.
type Label struct{ Name, Value string }

// Labels are the labels of a series but for its name, sorted by name.
type Labels []Label

// NewLabels takes names and values in turn.
func NewLabels(pairs ...string) Labels {
	out := make(Labels, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" { // as in Prometheus, an empty label is none
			out = append(out, Label{pairs[i], pairs[i+1]})
		}
	}
	slices.SortFunc(out, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Get returns the value of a label, "" if it is not there.
func (l Labels) Get(name string) string {
	for _, x := range l {
		if x.Name == name {
			return x.Value
		}
	}
	return ""
}

// Map returns the labels as a map.
func (l Labels) Map() map[string]string {
	out := make(map[string]string, len(l))
	for _, x := range l {
		out[x.Name] = x.Value
	}
	return out
}

// key is the same for equal labels and only for them.
func (l Labels) key() string {
	var b strings.Builder
	for _, x := range l {
		b.WriteString(x.Name)
		b.WriteByte(0)
		b.WriteString(x.Value)
		b.WriteByte(0)
	}
	return b.String()
}

func (l Labels) without(names []string) Labels {
	return slices.DeleteFunc(slices.Clone(l), func(x Label) bool { return slices.Contains(names, x.Name) })
}

func (l Labels) by(names []string) Labels {
	return slices.DeleteFunc(slices.Clone(l), func(x Label) bool { return !slices.Contains(names, x.Name) })
}

// with adds labels, in place of those of the same name.
func (l Labels) with(more map[string]string) Labels {
	pairs := make([]string, 0, 2*(len(l)+len(more)))
	for _, x := range l {
		if _, ok := more[x.Name]; !ok {
			pairs = append(pairs, x.Name, x.Value)
		}
	}
	for name, value := range more {
		pairs = append(pairs, name, value)
	}
	return NewLabels(pairs...)
}

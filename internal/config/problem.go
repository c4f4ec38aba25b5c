package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one finding about the configuration.
type Problem struct {
	// Source is where the value came from: a file name, a flag ("-listen") or a variable ("BULLPEN_LISTEN").
	Source string
	// Line counts from 1; 0 when the source has no lines.
	Line int
	// Key is the path of the setting, such as "queues.email.policy.attempts"; empty when the file itself is at fault.
	Key string
	// Text says what is wrong and what would be right.
	Text string
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Source)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Key != "" {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(p.Key)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Error is every problem that keeps a configuration from being used.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sortProblems orders by source, line and key, so that a file is read from top to bottom.
func sortProblems(ps []Problem) {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
	})
}

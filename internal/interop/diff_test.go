package interop

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// difference is one path whose value is not the same on both sides; "" means it is not there.
type difference struct{ path, want, got string }

func (d difference) String() string {
	return fmt.Sprintf("%s\n    reference: %s\n    other:     %s", d.path, orAbsent(d.want), orAbsent(d.got))
}

func orAbsent(v string) string {
	if v == "" {
		return "(absent or empty)"
	}
	return v
}

// compare returns the differences between what a reference and another side hold, by path.
func compare(want, got dump) []difference {
	paths := slices.Sorted(maps.Keys(want))
	for p := range got {
		if _, ok := want[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	var diffs []difference
	for _, p := range paths {
		w, inWant := want[p]
		g, inGot := got[p]
		if !sameResult(p, w, g) && w != g || inWant != inGot {
			diffs = append(diffs, difference{p, w, g})
		}
	}
	return diffs
}

// sameResult accepts a refusal without a text for one with the same code.
func sameResult(path, want, got string) bool {
	return strings.HasPrefix(path, "step ") && strings.HasPrefix(got, "error ") && strings.HasPrefix(want, got+": ")
}

// outside returns the differences whose path matches none of the patterns (as path.Match, with ':' and '|' ordinary).
func outside(diffs []difference, patterns []string) []difference {
	return slices.DeleteFunc(slices.Clone(diffs), func(d difference) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, d.path)
			return err == nil && ok
		})
	})
}

// report writes differences for a failure message, the first few in full.
func report(diffs []difference) string {
	const most = 12
	var b strings.Builder
	for i, d := range diffs {
		if i == most {
			fmt.Fprintf(&b, "… and %d more\n", len(diffs)-most)
			break
		}
		fmt.Fprintln(&b, d)
	}
	return b.String()
}

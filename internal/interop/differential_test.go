package interop

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"
)

// fewestScenarios is how many the suite promises to have.
const fewestScenarios = 950

// TestScenarios compares the engine, and BullMQ 5.81.5, with BullMQ 6.7.0 after each scenario.
func TestScenarios(t *testing.T) {
	scenarios, err := loadScenarios()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(scenarios), fewestScenarios)
	lanes := make(chan *lane, runtime.GOMAXPROCS(0))
	for range cap(lanes) {
		lanes <- newLane(t, false)
	}
	var table table
	t.Run("each", func(t *testing.T) {
		names := map[string]bool{}
		for _, sc := range scenarios {
			name := sc.Group + "/" + sc.Name
			require.False(t, names[name], "two scenarios are called %q", name)
			names[name] = true
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l := <-lanes
				defer func() { lanes <- l }()
				table.add(sc, compareSides(t, l, sc))
			})
		}
	})
	t.Log("\n" + table.String())
}

// compareSides runs a scenario on every side and returns how many keys the reference had at its end.
func compareSides(t *testing.T, l *lane, sc scenario) int {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, l.clear(ctx))
	want, err := run(ctx, l.sides[reference], sc)
	require.NoError(t, err)

	got, err := run(ctx, l.sides[previous], sc)
	require.NoError(t, err)
	diffs := compare(want.dump, got.dump)
	if sc.Version5 == "" {
		requireSame(t, previous, diffs)
	} else {
		require.NotEmpty(t, diffs, "said to differ (%s), but does not", sc.Version5)
	}

	requireFleet5(t, l, sc, got)
	got, err = run(ctx, l.sides[ours], sc)
	require.NoError(t, err)
	diffs = compare(want.dump, got.dump)
	if sc.Deviates != "" {
		require.NotEmpty(t, diffs, "said to deviate (%s), but does not", sc.Deviates)
		diffs = outside(diffs, sc.At)
	}
	requireSame(t, ours, diffs)
	return want.keys
}

// requireFleet5 compares the engine's mode for fleets of BullMQ 5 with that version, where the two versions differ in
// how they keep a paused queue.
func requireFleet5(t *testing.T, l *lane, sc scenario, want outcome) {
	t.Helper()
	if !strings.HasPrefix(sc.Version5, "12.1") {
		return
	}
	mode := l.sides[fleet5].(*engineSide)
	got, err := run(t.Context(), mode, sc)
	require.NoError(t, err)
	diffs := compare(want.dump, got.dump)
	if len(diffs) > 0 {
		t.Fatalf("%s differs from %s:\n%s", fleet5, previous, report(diffs))
	}
}

func requireSame(t *testing.T, name string, diffs []difference) {
	t.Helper()
	if len(diffs) > 0 {
		t.Fatalf("%s differs from %s:\n%s", name, reference, report(diffs))
	}
}

// table counts what was compared, by group.
type table struct {
	mu   sync.Mutex
	rows []row
}

type row struct {
	scenario    scenario
	steps, keys int
}

func (t *table) add(sc scenario, keys int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, row{sc, len(sc.Steps), keys})
}

func (t *table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tsteps\tkeys compared\tdeviation")
	slices.SortFunc(t.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.scenario.Group, b.scenario.Group), cmp.Compare(a.scenario.Name, b.scenario.Name))
	})
	steps, keys := 0, 0
	for _, r := range t.rows {
		fmt.Fprintf(w, "%s/%s\t%d\t%d\t%s\n", r.scenario.Group, r.scenario.Name, r.steps, r.keys, r.scenario.Deviates)
		steps += r.steps
		keys += r.keys
	}
	fmt.Fprintf(w, "%d scenarios\t%d\t%d\t\n", len(t.rows), steps, keys)
	_ = w.Flush()
	return b.String()
}

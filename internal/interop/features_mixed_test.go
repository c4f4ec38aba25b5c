package interop

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMixedFeatures plays the scenarios of flows, schedulers, deduplication and metrics on one database, each step by
// the other one of BullMQ and the engine, and requires the same outcome as from BullMQ alone: what one of them leaves
// behind is what the other goes on with. Each scenario is played twice, so that every step is done by both.
func TestMixedFeatures(t *testing.T) {
	t.Parallel()
	scenarios, err := loadScenarios()
	require.NoError(t, err)
	l := newLane(t, true)
	count := 0
	for _, sc := range scenarios {
		// A deviation makes a difference in whichever steps the engine does.
		if !strings.HasPrefix(sc.Group, "features-") || sc.Deviates != "" || len(sc.Steps) < 2 {
			continue
		}
		count++
		t.Run(sc.Group+"/"+sc.Name, func(t *testing.T) {
			want := alternate(t, l, sc, reference, reference)
			requireSame(t, "engine, then BullMQ in turn", compare(want, alternate(t, l, sc, ours, reference)))
			requireSame(t, "BullMQ, then engine in turn", compare(want, alternate(t, l, sc, reference, ours)))
		})
	}
	require.Greater(t, count, 150)
}

// alternate plays a scenario on an empty database, its steps by two sides in turn, and returns what is there in the end.
func alternate(t *testing.T, l *lane, sc scenario, first, second string) dump {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, l.clear(ctx))
	p := newPlayer(l.sides[first])
	turn := [...]string{first, second}
	for i, st := range sc.Steps {
		p.side = l.sides[turn[i%2]]
		// What a side remembers of jobs it took may have been changed by the other.
		require.NoError(t, p.side.reset(ctx))
		require.NoError(t, p.play(ctx, st))
	}
	d, err := p.state(ctx)
	require.NoError(t, err)
	return d
}

package interop

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// soakTime is how long each of the random suites runs.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("BULLPEN_SOAK")
	if text == "" {
		return 30 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "BULLPEN_SOAK")
	return d
}

// setRapid makes rapid stop often enough to look at the clock, and leave no files in the tree.
var setRapid = sync.OnceFunc(func() {
	for name, value := range map[string]string{"rapid.checks": "20", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
})

// soak repeats a property until the time is over and says how many cases it took.
func soak(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	setRapid()
	cases := 0
	for end := time.Now().Add(soakTime(t)); time.Now().Before(end) && !t.Failed(); {
		rapid.Check(t, func(rt *rapid.T) {
			cases++
			property(rt)
		})
	}
	t.Logf("%d cases, nothing found", cases)
}

// TestRandom compares the engine with BullMQ after each of a sequence of random steps. Half of the cases keep to what
// BullMQ 5.81.5 and 6.7.0 do alike, and compare all three.
func TestRandom(t *testing.T) {
	t.Parallel()
	l := newLane(t, false)
	ctx := t.Context()
	soak(t, func(rt *rapid.T) {
		common := rapid.Bool().Draw(rt, "with version 5")
		names := []string{reference, ours}
		if common {
			names = append(names, previous)
		}
		require.NoError(rt, l.clear(ctx))
		var players []*player
		for _, name := range names {
			players = append(players, newPlayer(l.sides[name]))
		}
		d := drawer{t: rt, common: common, state: dump{}}
		var script strings.Builder
		rt.Repeat(map[string]func(*rapid.T){"step": func(rt *rapid.T) {
			d.t = rt
			s := d.next()
			fmt.Fprintf(&script, "      - %s: %s\n", s.Op, s.Args)
			state, diffs := playAll(ctx, rt, players, s)
			for i, diff := range diffs {
				if len(diff) > 0 {
					rt.Fatalf("%s differs from %s after\n%s%s", names[i+1], names[0], script.String(), report(diff))
				}
			}
			d.state = state
		}})
	})
}

// playAll plays a step on every side and compares each with the first.
func playAll(ctx context.Context, rt *rapid.T, players []*player, s step) (first dump, diffs [][]difference) {
	for i, p := range players {
		require.NoError(rt, p.play(ctx, s), "%s", s)
		state, err := p.state(ctx)
		require.NoError(rt, err)
		if i == 0 {
			first = state
		} else {
			diffs = append(diffs, compare(first, state))
		}
	}
	return first, diffs
}

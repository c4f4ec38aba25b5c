package interop

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
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

// seeding is held from setting the seed until a check has read it; two suites run at once.
var seeding sync.Mutex

// soak repeats a property until the time is over and says how many cases it took, and which. A case is a seed: of each
// round of 20 the seeds are its first one plus 0, 1, 3, 6 and so on, and -rapid.seed repeats a case, or a whole run.
func soak(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	setRapid()
	first := firstSeed(t)
	cases, rounds := 0, uint64(0)
	for end := time.Now().Add(soakTime(t)); time.Now().Before(end) && !t.Failed(); rounds++ {
		seeding.Lock()
		require.NoError(t, flag.Set("rapid.seed", fmt.Sprint(first+rounds*roundSeeds)))
		seeded := sync.OnceFunc(seeding.Unlock)
		rapid.Check(t, func(rt *rapid.T) {
			seeded()
			cases++
			property(rt)
		})
	}
	t.Logf("%d seeds, nothing found: %d rounds from seed %d in steps of %d", cases, rounds, first, roundSeeds)
}

// roundSeeds is more than the seeds of one round span.
const roundSeeds = 200

// firstSeed is the one that was asked for, else a new one.
func firstSeed(t *testing.T) uint64 {
	t.Helper()
	if asked := askedSeed(); asked != "0" {
		first, err := strconv.ParseUint(asked, 10, 64)
		require.NoError(t, err)
		return first
	}
	return uint64(time.Now().UnixMilli())
}

// askedSeed is the flag as it was before any suite set it.
var askedSeed = sync.OnceValue(func() string { return flag.Lookup("rapid.seed").Value.String() })

// caseTime is when a case takes no more steps: some keys live for half a minute of real time, and on a machine that
// stands still they would end on one side first.
const caseTime = 10 * time.Second

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
		d := drawer{t: rt, common: common, metrics: rapid.Bool().Draw(rt, "metrics"), state: dump{}}
		var script strings.Builder
		began := time.Now()
		rt.Repeat(map[string]func(*rapid.T){"step": func(rt *rapid.T) {
			if time.Since(began) > caseTime {
				return
			}
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

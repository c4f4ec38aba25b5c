package interop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestMixed lets BullMQ and the engine work on one queue, each step by a random one of them, their clocks up to ten
// minutes apart: version 6, both versions, or version 5 with the engine's mode for such a fleet.
func TestMixed(t *testing.T) {
	t.Parallel()
	l := newLane(t, true)
	ctx := t.Context()
	soak(t, func(rt *rapid.T) {
		require.NoError(rt, l.clear(ctx))
		names := rapid.SampledFrom([][]string{{reference, ours}, {reference, previous, ours}, {previous, fleet5}}).Draw(rt, "sides")
		d := drawer{t: rt, unpaused: len(names) == 3, metrics: rapid.Bool().Draw(rt, "metrics"), state: dump{}}
		players, skews, now := map[string]*player{}, map[string]time.Duration{}, epoch
		for _, name := range names {
			players[name] = newPlayer(l.sides[name])
			skews[name] = time.Duration(rapid.SampledFrom([]int{0, 0, -10, 10}).Draw(rt, "clock of "+name)) * time.Minute
			d.skewed = d.skewed || skews[name] != 0
		}
		var script strings.Builder
		rt.Repeat(map[string]func(*rapid.T){"step": func(rt *rapid.T) {
			d.t = rt
			s, name := d.next(), oneOf(&d, "side", names...)
			fmt.Fprintf(&script, "%-13s  %s\n", name, s)
			p := players[name]
			p.now = now.Add(skews[name])
			require.NoError(rt, p.play(ctx, s), "%s", &script)
			now = p.now.Add(-skews[name])
			after, err := takeDump(ctx, p.side.redis())
			require.NoError(rt, err)
			problems := lost(d.state, after, s)
			for _, q := range randomQueues {
				problems = append(problems, broken(after, baseOf(q))...)
			}
			problems = append(problems, twice(d.state, s, p.last)...)
			if len(problems) > 0 {
				rt.Fatalf("%s\nafter\n%s", strings.Join(problems, "\n"), &script)
			}
			d.state = after
		}})
	})
}

// removing are the steps that may make jobs disappear: by order, by retention, or to put others in their place.
var removing = []string{
	"remove", "removeMany", "clean", "drain", "complete", "completeMany", "fail", "process", "removeUnprocessedChildren",
	"upsertScheduler", "removeScheduler",
}

// lost lists the jobs that a step made disappear although it must not.
func lost(before, after dump, s step) (problems []string) {
	if slices.Contains(removing, s.Op) || s.Op == "add" && strings.Contains(string(s.Args), `"replace":true`) {
		return nil
	}
	for _, q := range randomQueues {
		have := hashes(after, baseOf(q))
		for id := range hashes(before, baseOf(q)) {
			if !have[id] {
				problems = append(problems, fmt.Sprintf("job %s of %s is lost", id, q))
			}
		}
	}
	return problems
}

// twice reports a job that was given out although another worker's lock on it was alive.
func twice(before dump, s step, result json.RawMessage) []string {
	var got struct{ ID string }
	giving := []string{"take", "takeRaw", "process", "complete", "fail"}
	if !slices.Contains(giving, s.Op) || json.Unmarshal(result, &got) != nil || got.ID == "" {
		return nil
	}
	a := args{Queue: mainQueue}
	_ = json.Unmarshal(s.Args, &a)
	if _, locked := before[baseOf(a.Queue)+got.ID+":lock"]; locked && got.ID != a.Job {
		return []string{fmt.Sprintf("job %s of %s runs twice", got.ID, a.Queue)}
	}
	return nil
}

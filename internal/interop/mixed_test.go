package interop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const mixedBase = "bull:q:"

// TestMixed lets BullMQ and the engine work on one queue, each step by a random one of them, their clocks up to ten
// minutes apart: version 6, both versions, or version 5 with the engine's mode for such a fleet.
func TestMixed(t *testing.T) {
	t.Parallel()
	l := newLane(t, true)
	ctx := t.Context()
	soak(t, func(rt *rapid.T) {
		require.NoError(rt, l.clear(ctx))
		names := rapid.SampledFrom([][]string{{reference, ours}, {reference, previous, ours}, {previous, fleet5}}).Draw(rt, "sides")
		// What 5 and 6 cannot do on one queue without losing jobs, pausing it, is left out when both are there.
		d := drawer{t: rt, common: len(names) == 3, state: dump{}}
		players := map[string]*player{}
		for _, name := range names {
			players[name] = newPlayer(l.sides[name])
			skew := rapid.SampledFrom([]int{0, 0, -10, 10}).Draw(rt, "clock of "+name)
			players[name].now = epoch.Add(time.Duration(skew) * time.Minute)
		}
		var script strings.Builder
		rt.Repeat(map[string]func(*rapid.T){"step": func(rt *rapid.T) {
			d.t = rt
			s, name := d.next(), rapid.SampledFrom(names).Draw(rt, "side")
			fmt.Fprintf(&script, "%-13s  %s\n", name, s)
			p := players[name]
			require.NoError(rt, p.play(ctx, s), "%s", &script)
			after, err := takeDump(ctx, p.side.redis())
			require.NoError(rt, err)
			problems := broken(after, mixedBase)
			problems = append(problems, lost(d.state, after, s)...)
			problems = append(problems, twice(d.state, s, p.last)...)
			if len(problems) > 0 {
				rt.Fatalf("%s\nafter\n%s", strings.Join(problems, "\n"), &script)
			}
			d.state = after
		}})
	})
}

// lost lists the jobs that a step made disappear although it must not.
func lost(before, after dump, s step) (problems []string) {
	switch s.Op {
	case "remove", "removeMany", "clean", "drain", "complete", "completeMany", "fail": // by order, or by retention
		return nil
	case "add":
		if strings.Contains(string(s.Args), `"replace":true`) {
			return nil
		}
	}
	have := hashes(after, mixedBase)
	for id := range hashes(before, mixedBase) {
		if !have[id] {
			problems = append(problems, fmt.Sprintf("job %s is lost", id))
		}
	}
	return problems
}

// twice reports a job that was given out although another worker's lock on it was alive.
func twice(before dump, s step, result json.RawMessage) []string {
	var got struct{ ID string }
	if s.Op != "take" && s.Op != "complete" && s.Op != "fail" || json.Unmarshal(result, &got) != nil || got.ID == "" {
		return nil
	}
	var a args
	_ = json.Unmarshal(s.Args, &a)
	if _, locked := before[mixedBase+got.ID+":lock"]; locked && got.ID != a.Job {
		return []string{fmt.Sprintf("job %s runs twice", got.ID)}
	}
	return nil
}

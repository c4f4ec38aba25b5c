package monitor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOpenMinute(t *testing.T) {
	t.Parallel()
	var o openMinute
	start := noon.Truncate(time.Minute)
	read := func(second int, completed, backlog int64, busy float64, limited bool) (Minute, bool) {
		return o.observe(sample{at: start.Add(time.Duration(second) * time.Second), completed: completed, backlog: backlog}, busy, limited)
	}
	for _, step := range []struct {
		second             int
		completed, backlog int64
		busy               float64
		limited            bool
	}{{30, 100, 7, 0.5, true}, {40, 105, 3, 1, false}, {50, 110, 9, -1, false}} {
		_, closed := read(step.second, step.completed, step.backlog, step.busy, step.limited)
		require.False(t, closed)
	}
	m, closed := read(60, 112, 50, 1, true)
	require.True(t, closed)
	require.Equal(t, start, m.Start)
	require.EqualValues(t, 12, m.Completed, "what the first read of the next minute shows happened before it")
	require.EqualValues(t, 3, m.BacklogMin)
	require.EqualValues(t, 9, m.BacklogMax)
	require.InDelta(t, 0.75, m.Busy, 1e-9, "reads with an unknown ceiling do not count")
	require.InDelta(t, 1.0/3, m.Limited, 1e-9)
	require.EqualValues(t, 3, m.Reads)

	m, closed = read(120, 112, 0, -1, false)
	require.True(t, closed)
	require.InDelta(t, 1, m.Busy, 1e-9)
	m, closed = read(300, 120, 0, -1, false)
	require.True(t, closed)
	require.InDelta(t, -1, m.Busy, 1e-9, "never known")
	require.Equal(t, start.Add(2*time.Minute), m.Start)
	require.EqualValues(t, 8, m.Completed)
}

func TestAppendMinuteFillsGapsAndKeepsAnHour(t *testing.T) {
	t.Parallel()
	start := noon.Truncate(time.Minute)
	one := appendMinute(nil, Minute{Start: start, Completed: 1})
	two := appendMinute(one, Minute{Start: start.Add(3 * time.Minute), Completed: 4})
	require.Len(t, one, 1, "the old one is shared and stays")
	require.Len(t, two, 4)
	for i, m := range two {
		require.Equal(t, start.Add(time.Duration(i)*time.Minute), m.Start)
	}
	require.Zero(t, two[1].Reads)

	many := two
	for i := 4; i < 100; i++ {
		many = appendMinute(many, Minute{Start: start.Add(time.Duration(i) * time.Minute), Added: 1})
	}
	require.Len(t, many, historyLength)
	require.Equal(t, start.Add(40*time.Minute), many[0].Start)

	require.Len(t, appendMinute(many, Minute{Start: start.Add(5 * time.Hour), Added: 1}), 1, "nothing left of the hour before")
	for i := 100; i < 160; i++ {
		many = appendMinute(many, Minute{Start: start.Add(time.Duration(i) * time.Minute)})
		require.Len(t, many, historyLength)
	}
	require.Empty(t, appendMinute(many, Minute{Start: start.Add(160 * time.Minute)}), "idle for an hour")
	require.Empty(t, appendMinute(nil, Minute{Start: start}), "idle from the start")
}

func TestWithTimes(t *testing.T) {
	t.Parallel()
	start := noon.Truncate(time.Minute)
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Minute) }
	history := []Minute{{Start: at(0), Completed: 5}, {Start: at(1), Completed: 6}, {Start: at(2), Completed: 7}}
	seen := []Minute{{Start: at(-1), Seen: 9}, {Start: at(1), Seen: 3, RunP95: 12, RunMean: 8, WaitP50: 2}, {Start: at(2)}, {Start: at(9), Seen: 1}}
	got := withTimes(history, seen)
	require.Equal(t, Minute{Start: at(1), Completed: 6, Seen: 3, RunP95: 12, RunMean: 8, WaitP50: 2}, got[1])
	require.Zero(t, history[1].Seen, "the shared one is not touched")
	again := withTimes(got, seen)
	require.Same(t, &got[0], &again[0], "nothing new, nothing copied")
}

func TestGrowing(t *testing.T) {
	t.Parallel()
	hour := func(f func(int) int64) []Minute { return busyHour(1, 0, f) }
	require.True(t, growing(hour(climbing)))
	require.False(t, growing(hour(flat)))
	require.False(t, growing(hour(func(i int) int64 { return int64(1000 - i) })))
	require.False(t, growing(hour(climbing)[51:]), "too short to tell")
	require.False(t, growing(hour(func(i int) int64 { return int64(i%2) * 50 })), "noise")
	gap := hour(climbing)
	gap[53].Reads = 0
	require.False(t, growing(gap), "a gap tells nothing")
}

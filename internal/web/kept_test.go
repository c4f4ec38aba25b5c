package web

import (
	"errors"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	"github.com/stretchr/testify/require"
)

func TestKeptListIsReadAgainWhenSomethingMayHaveChanged(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	s := &Server{o: Options{Tick: time.Second, Clock: func() time.Time { return now }}, scans: newScans()}
	q := &monitor.Queue{Counts: map[keys.State]int64{keys.Failed: 1}}
	failed := tab{"failed", keys.Failed}
	reads := 0
	var fails error
	read := func(k *keptList, at tab) {
		_, _, err := k.read(s, q, at, func() ([]engine.Row, int64, error) { reads++; return nil, 1, fails })
		require.Equal(t, fails, err)
	}
	k := &keptList{}
	step := func(want int, why string) {
		t.Helper()
		now = now.Add(500 * time.Millisecond)
		reads = 0
		read(k, failed)
		require.Equal(t, want, reads, why)
	}
	step(1, "at first")
	step(0, "nothing has happened")
	q = &monitor.Queue{Counts: map[keys.State]int64{keys.Failed: 2}}
	step(1, "a count has moved")
	q = &monitor.Queue{Counts: map[keys.State]int64{keys.Failed: 2}, Totals: monitor.EventTotals{Started: 1}}
	step(1, "a job was started")
	step(0, "nothing has happened")
	s.scans.touch(now)
	step(1, "somebody acted")
	step(0, "nothing has happened since")
	now = now.Add(keepTicks * time.Second)
	step(1, "it is old")
	fails, q = errors.New("down"), &monitor.Queue{Counts: map[keys.State]int64{keys.Failed: 3}}
	step(1, "a count has moved")
	step(1, "an error is not kept")
	fails = nil
	step(1, "an error is not kept")
	read(k, tab{"waiting", keys.Waiting})
	require.Equal(t, 2, reads, "another list")
	q = &monitor.Queue{Unreadable: "refused"}
	step(1, "nothing is known of the counts")
	step(1, "nothing is known of the counts")
	reads = 0
	read(nil, failed)
	read(nil, failed)
	require.Equal(t, 2, reads, "a page always reads")
}

package monitor

import (
	"fmt"
	"testing"

	"bullpen/internal/engine/keys"
)

// TestFollowCluster follows queues whose prefixes live on different masters.
func TestFollowCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	var queues []keys.Queue
	for _, prefix := range []string{"{a}", "{b}"} {
		for i := range 3 {
			queues = append(queues, keys.Queue{Prefix: prefix, Name: fmt.Sprint("q", i)})
		}
	}
	f := follow(t, c, queues...)
	for _, q := range queues {
		f.waitUntilReading(t, q)
	}
	for i, q := range queues {
		for j := range i + 1 {
			for _, e := range run(fmt.Sprint(j)) {
				emit(t, c, q, e)
			}
		}
	}
	for i, q := range queues {
		if got := f.waitForTotals(t, q, completed(uint64(i+1))); got.Completed != uint64(i+1) || got.Started != got.Completed {
			t.Errorf("totals of %s are %+v, want %d completed", q.Qualified(), got, i+1)
		}
	}
	if err := f.Part().Err; err != nil {
		t.Errorf("following says %v", err)
	}
}

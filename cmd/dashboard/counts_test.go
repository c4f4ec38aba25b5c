package main

import (
	"testing"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	"github.com/stretchr/testify/require"
)

func TestJobCounts(t *testing.T) {
	t.Parallel()
	queue := func(prefix, name string, waiting, failed int64) *monitor.Queue {
		return &monitor.Queue{
			Queue: keys.Queue{Prefix: prefix, Name: name}, Counts: map[keys.State]int64{keys.Waiting: waiting, keys.Failed: failed},
		}
	}
	unread := &monitor.Queue{Queue: keys.Queue{Prefix: "bull", Name: "unread"}}
	require.Equal(t, map[counted]int64{
		{"mail", keys.Waiting}: 7, {"mail", keys.Failed}: 1, {"hooks", keys.Waiting}: 5, {"hooks", keys.Failed}: 0,
	}, jobCounts([]*monitor.Queue{queue("bull", "mail", 3, 1), queue("other", "mail", 4, 0), queue("other", "hooks", 5, 0), unread}))
}

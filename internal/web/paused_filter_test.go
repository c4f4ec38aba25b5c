package web

import (
	"encoding/json"
	"net/url"
	"testing"

	"bullpen/internal/engine"

	"github.com/stretchr/testify/require"
)

// TestFilterOfThePausedTab looks through that list alone, as does the waiting tab; acts, which know the state alone, say so.
func TestFilterOfThePausedTab(t *testing.T) {
	b := newBench(t)
	waiting := b.add(2, engine.JobOptions{})
	held := b.add(3, engine.JobOptions{})
	for _, id := range held {
		require.NoError(t, b.client.LRem(t.Context(), b.queue.Wait(), 1, id).Err())
		require.NoError(t, b.client.LPush(t.Context(), b.queue.Queue.Paused(), id).Err())
	}
	b.recount()
	matching := func(state, order string) (ids []string) {
		var list struct{ Jobs []struct{ ID string } }
		require.NoError(t, json.Unmarshal([]byte(b.get("/api/v1/queues/email/jobs?q=name:send&state="+state+order).body), &list))
		for _, j := range list.Jobs {
			ids = append(ids, j.ID)
		}
		return ids
	}
	b.monitor.snap.Queues[0].PausedList = 3
	for _, order := range []string{"", "&order=desc"} {
		for state, ids := range map[string][]string{"paused": held, "waiting": waiting} {
			require.ElementsMatch(t, ids, matching(state, order), "%s%s", state, order)
		}
	}
	for state, ids := range map[string][]string{"paused": held, "waiting": waiting} {
		jobs, end := exportLines(t, b.get("/queues/email/export?q=name:send&state="+state).body)
		require.True(t, end.End.Complete)
		require.Len(t, jobs, len(ids), state)
		page := b.get("/queues/email?q=name:send&state=" + state).body
		for _, id := range ids {
			has(t, page, "/queues/email/jobs/"+id, state)
		}
		has(t, page, "Remove all that match, waiting and paused…")
	}
	has(t, b.get("/queues/email/remove?"+url.Values{"all": {"1"}, "state": {"waiting"}, "q": {"name:send"}}.Encode()).body, "is waiting or paused now and matches")
	b.monitor.snap.Queues[0].PausedList = 5
	require.Empty(t, matching("waiting", ""), "all are held")
	b.monitor.snap.Queues[0].PausedList = 0
	require.Len(t, matching("waiting", ""), 5)
	hasNot(t, b.get("/queues/email?q=name:send&state=waiting").body, "waiting and paused")
}

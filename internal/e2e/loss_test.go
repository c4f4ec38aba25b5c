package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// TestDrainLosesNothing replaces both servers one after the other under load, as a rolling update does: every job runs,
// and runs once.
func TestDrainLosesNothing(t *testing.T) {
	t.Parallel() // after those that measure rates
	d := newDownstream(t, takes(40*time.Millisecond))
	f := newFleet(t, d.URL, "concurrency: 5", "shutdown_grace: 30s")
	servers := f.starts(2)
	var ids []string
	for round := range 4 {
		ids = append(ids, f.add(60, engine.JobOptions{})...)
		eventually(t, "the servers are busy", func() bool { return d.running() > 4 })
		next := f.start()
		require.Zero(t, servers[0].Terminate(), "round %d: the server left jobs behind", round)
		servers = append(servers[1:], next)
	}
	f.await(keys.Completed, len(ids))
	for _, j := range f.jobs(ids) {
		require.Equal(t, 1, j.AttemptsMade, "job %s", j.ID)
		require.Equal(t, 1, j.AttemptsStarted, "job %s", j.ID)
	}
	require.Len(t, d.calls, len(ids))
	for key, n := range d.calls {
		require.Equal(t, 1, n, "requests of job %s", key)
	}
	for _, s := range servers {
		require.Zero(t, s.Terminate())
	}
}

// TestDeadLetterAndFailureAreOne kills a server again and again while its jobs fail for good. Whenever it dies, each
// failed job has its letter and each letter its failed job.
func TestDeadLetterAndFailureAreOne(t *testing.T) {
	t.Parallel() // after those that measure rates
	kills := 20
	if soaking() {
		kills = 200
	}
	d := newDownstream(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnprocessableEntity) })
	f := newFleet(t, d.URL, "concurrency: 8, lock_duration: 2s, stalled_interval: 500ms, max_stalled: 1000, dead_letter: hooks-dead")
	dead, err := engine.NewQueue(engine.QueueOptions{Client: f.client, Prefix: f.queue.Prefix, Name: "hooks-dead"})
	require.NoError(t, err)
	added := 0
	for i := range kills {
		s := f.start()
		if f.count(keys.Waiting) < 120 { // a busy machine kills faster than it works
			added += len(f.add(120, engine.JobOptions{}))
		}
		before := f.count(keys.Failed)
		eventually(t, "jobs fail", func() bool { return f.count(keys.Failed) > before })
		time.Sleep(rand.N(25 * time.Millisecond)) // the point of its path at which it dies
		s.Kill()
		f.requireLetters(dead, fmt.Sprintf("kill %d", i+1))
	}
	s := f.start()
	f.await(keys.Failed, added)
	require.Equal(t, added, f.requireLetters(dead, "the end"))
	require.Zero(t, s.Terminate())
}

// requireLetters checks that failed jobs and dead letters belong together one by one, and returns how many there are.
func (f *fleet) requireLetters(dead *engine.Queue, when string) int {
	f.t.Helper()
	failed, err := f.client.ZRangeWithScores(f.t.Context(), f.queue.Failed(), 0, -1).Result()
	require.NoError(f.t, err)
	letters, err := f.client.LRange(f.t.Context(), dead.Wait(), 0, -1).Result()
	require.NoError(f.t, err)
	there := map[string]bool{}
	for _, id := range letters {
		require.False(f.t, there[id], "%s: letter %s is listed twice", when, id)
		there[id] = true
	}
	for _, z := range failed {
		letter := "hooks." + z.Member.(string) + "." + strconv.FormatInt(int64(z.Score), 10)
		require.True(f.t, there[letter], "%s: job %s failed and has no letter", when, z.Member)
		delete(there, letter)
	}
	require.Empty(f.t, there, "%s: letters of jobs that are not failed", when)
	told, err := dead.DeadLetters(f.t.Context(), letters)
	require.NoError(f.t, err)
	for i, l := range told {
		require.NotNil(f.t, l, "%s: letter %s tells nothing", when, letters[i])
		require.Equal(f.t, "hooks", l.Queue)
	}
	return len(failed)
}

package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

// TestSameOnTheInProcessStore runs one story through all that a worker and a person do, on redis-server and on the
// in-process store, and compares what is left.
func TestSameOnTheInProcessStore(t *testing.T) {
	t.Parallel()
	server, memory := newSpace(t), spaceOn(t, testredis.Memory(t), "m")
	story(server)
	story(memory)
	want := server.dump()
	require.NotEmpty(t, want)
	memory.want(want)
}

func story(s *space) {
	s.t.Helper()
	ctx := s.t.Context()
	require.NoError(s.t, s.run.Load(ctx))
	prio, later, lifo, parent := plainJob("prio"), plainJob("later"), plainJob("lifo"), plainJob("parent")
	prio.Priority, later.Delay, lifo.LIFO, parent.WaitChildren = 2_097_151, time.Second, true, true
	s.add(plainJob(""), plainJob(""), prio, later, later, lifo, parent, child("kid", "parent", `,"fpof":true`), child("kid2", "parent", ""))
	s.add(dedup(scripts.Dedup{TTL: time.Hour, Replace: true}, time.Second), dedup(scripts.Dedup{TTL: time.Hour, Replace: true}, time.Second))

	o := taker(9)
	o.Limiter = &scripts.Limiter{Max: 100, Duration: time.Minute}
	ids := idsOf(s.fetch(t0.Add(500*time.Millisecond), o))
	require.Equal(s.t, []string{"lifo", "1", "2", "kid", "kid2", "prio"}, ids)
	lost, err := s.run.ExtendLocks(ctx, s.q, locks(ids...), time.Minute)
	require.NoError(s.t, err)
	require.Empty(s.t, lost)

	one := taker(1)
	codes, next := s.finish(scripts.FinishOptions{DeadLetter: "dead", MetricsPoints: 5, Next: &one}, done("lifo"), failed("kid"), done("nobody"))
	require.Equal(s.t, []scripts.Code{0, 0, scripts.JobMissing}, codes)
	require.Equal(s.t, []string{"parent"}, idsOf(next), "a child's failure makes its parent ready")
	_, _, err = s.run.MoveToDelayed(ctx, s.q, t0, []scripts.DelayedJob{{Lock: locks("1")[0], Delay: 3 * time.Second}}, nil)
	require.NoError(s.t, err)
	_, err = s.run.RetryJobs(ctx, s.q, t0, retries("2"))
	require.NoError(s.t, err)
	_, _, err = s.run.MoveToWait(ctx, s.q, locks("prio"))
	require.NoError(s.t, err)

	require.NoError(s.t, s.run.Pause(ctx, s.q))
	require.NoError(s.t, s.run.Resume(ctx, s.q))
	s.check(t0)
	s.check(t0)
	promoted, err := s.run.Promote(ctx, s.q, []string{"later", "nobody"}, false)
	require.NoError(s.t, err)
	require.Equal(s.t, []scripts.Code{0, scripts.WrongState}, promoted)
	_, err = s.run.ChangeDelay(ctx, s.q, t0, "1", 5*time.Second)
	require.NoError(s.t, err)
	_, err = s.run.ChangePriority(ctx, s.q, "2", 9, false)
	require.NoError(s.t, err)
	_, err = s.run.Reprocess(ctx, s.q, keys.Failed, []string{"kid"}, true)
	require.NoError(s.t, err)
	_, err = s.run.UpdateProgress(ctx, s.q, "kid", "50")
	require.NoError(s.t, err)
	_, _, err = s.run.AddLog(ctx, s.q, "kid", "row", 3)
	require.NoError(s.t, err)
	rows, total, err := s.run.Rows(ctx, s.q, keys.Waiting, 0, -1, true)
	require.NoError(s.t, err)
	require.EqualValues(s.t, len(rows), total)
	counts, err := s.run.Counts(ctx, s.q)
	require.NoError(s.t, err)
	require.EqualValues(s.t, total, counts[keys.Waiting])
	require.Equal(s.t, []string{"lifo"}, s.clean(keys.Completed, t0, 0))
	require.Equal(s.t, []scripts.Code{scripts.Locked, scripts.OK}, s.remove(true, "kid2", "2"))
}

func TestObliterateOnTheInProcessStore(t *testing.T) {
	t.Parallel()
	s := spaceOn(t, testredis.Memory(t), "m")
	story(s)
	require.NoError(t, s.run.Drain(t.Context(), s.q, true))
	require.NoError(t, s.run.Pause(t.Context(), s.q))
	c, err := s.run.Obliterate(t.Context(), s.q, true)
	require.NoError(t, err)
	require.Equal(t, scripts.OK, c)
	for key := range s.dump() {
		require.NotContains(t, key, "q:", "all that is left is the dead-letter queue")
	}
}

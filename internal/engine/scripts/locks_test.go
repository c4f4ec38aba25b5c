package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

func TestExtendLocks(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a", "b", "c")
	s.seed("SADD q:stalled a b", "SET q:b:lock other", "DEL q:c:lock")
	lost, err := s.run.ExtendLocks(t.Context(), s.q, locks("a", "b", "c"), time.Hour)
	require.NoError(t, err)
	require.Equal(t, []string{"b", "c"}, lost)
	got := s.dump()
	require.Equal(t, "b", got["q:stalled"])
	require.Equal(t, "other", got["q:b:lock"])
	require.NotContains(t, got, "q:c:lock")
	require.Greater(t, s.client.PTTL(t.Context(), s.q.Lock("a")).Val(), 50*time.Minute)
}

func TestReleaseLock(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a")
	for _, step := range []struct {
		token string
		want  bool
	}{{"other", false}, {"tok", true}, {"tok", false}} {
		got, err := s.run.ReleaseLock(t.Context(), s.q, scripts.Lock{ID: "a", Token: step.token})
		require.NoError(t, err)
		require.Equal(t, step.want, got)
	}
	s.want(keyspace{"q:a": plain(), "q:active": "a"})
}

func (s *space) check(now time.Time) []string {
	s.t.Helper()
	ids, err := s.run.StalledCheck(s.t.Context(), s.q, now, 1, time.Minute)
	require.NoError(s.t, err)
	s.seed("DEL q:stalled-check")
	return ids
}

func TestStalledCheck(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("held", "lost", "prio")
	s.job("w")
	s.seed("LPUSH q:wait w", "DEL q:lost:lock", "DEL q:prio:lock", "HSET q:prio priority 5 stc 1")
	require.Empty(t, s.check(t0), "the first check only marks")
	require.Equal(t, "held lost prio", s.dump()["q:stalled"])
	require.ElementsMatch(t, []string{"lost", "prio"}, s.check(t0))
	got := s.dump()
	require.Contains(t, []string{"w lost prio", "w prio lost"}, got["q:wait"], "prioritized jobs too, next to be taken")
	delete(got, "q:wait")
	require.Contains(t, got["q:events"], events("waiting jobId=lost prev=active", "stalled jobId=lost"))
	delete(got, "q:events")
	require.Equal(t, keyspace{
		"q:active": "held", "q:stalled": "held", "q:marker": "0=0", "q:meta": meta, "q:held": plain(), "q:held:lock": "tok~",
		"q:w": plain(), "q:lost": plain("stc=1"), "q:prio": plain("priority=5", "stc=2", "defa=job stalled more than allowable limit"),
	}, got)
	require.Empty(t, s.check(t0))
}

func TestStalledCheckOncePerInterval(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.seed("LPUSH q:active a")
	_, err := s.run.StalledCheck(t.Context(), s.q, t0, 1, time.Minute)
	require.NoError(t, err)
	s.seed("LPUSH q:active b")
	_, err = s.run.StalledCheck(t.Context(), s.q, t0, 1, time.Minute)
	require.NoError(t, err)
	got := s.dump()
	require.Equal(t, "a", got["q:stalled"])
	require.Equal(t, after(0)+"~", got["q:stalled-check"])
}

func TestStalledCheckSparesSchedulers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "b", "c")
	s.seed("LPUSH q:active a b c", "SADD q:stalled a b c", "HSET q:a rjk one stc 7", "HSET q:b rjk two stc 7", "HSET q:c rjk gone stc 7",
		"ZADD q:repeat 5 one", "HSET q:repeat:two name n")
	s.check(t0)
	got := s.dump()
	require.NotContains(t, got["q:a"], "defa")
	require.NotContains(t, got["q:b"], "defa")
	require.Contains(t, got["q:c"], "defa")
}

func TestStalledCheckDropsIDsWithoutHash(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.seed("LPUSH q:active ghost 0:1", "SADD q:stalled ghost 0:1")
	require.Empty(t, s.check(t0))
	s.want(keyspace{"q:meta": meta})
}

func TestStalledCheckMarksThousands(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	ids := make([]any, 20_000)
	for i := range ids {
		ids[i] = i
	}
	require.NoError(t, s.client.LPush(t.Context(), s.q.Active(), ids...).Err())
	s.check(t0)
	require.EqualValues(t, 20_000, s.client.SCard(t.Context(), s.q.Stalled()).Val())
}

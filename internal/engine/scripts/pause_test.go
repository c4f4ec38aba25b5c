package scripts_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPause(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.seed("LPUSH q:wait a b", "ZADD q:marker 0 0")
	require.NoError(t, s.run.Pause(t.Context(), s.q))
	s.want(keyspace{"q:wait": "b a", "q:meta": "paused=1", "q:events": "paused"})
}

func TestPauseForBullMQ5(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		seed []string
		want keyspace
	}{
		"nothing waits":             {want: keyspace{}},
		"jobs wait":                 {seed: []string{"RPUSH q:wait b a"}, want: keyspace{"q:paused": "b a"}},
		"both lists hold jobs":      {seed: []string{"RPUSH q:wait d c", "RPUSH q:paused b a"}, want: keyspace{"q:paused": "d c b a"}},
		"only paused ones are left": {seed: []string{"RPUSH q:paused b a"}, want: keyspace{"q:paused": "b a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.q.LegacyPause = true
			s.seed(test.seed...)
			require.NoError(t, s.run.Pause(t.Context(), s.q))
			s.want(test.want.with(keyspace{"q:meta": "paused=1", "q:events": "paused"}))
		})
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		seed []string
		want keyspace
	}{
		"empty":            {want: keyspace{}},
		"jobs wait":        {seed: []string{"RPUSH q:wait b a"}, want: keyspace{"q:wait": "b a", "q:marker": "0=0"}},
		"prioritized wait": {seed: []string{"ZADD q:prioritized 1 a"}, want: keyspace{"q:prioritized": "a=1", "q:marker": "0=0"}},
		"delayed only": {
			seed: []string{"ZADD q:delayed " + due(9, 0) + " a"},
			want: keyspace{"q:delayed": "a=" + due(9, 0), "q:marker": "1=" + after(9)},
		},
		"left by BullMQ 5": {seed: []string{"RPUSH q:paused b a"}, want: keyspace{"q:wait": "b a", "q:marker": "0=0"}},
		"left by BullMQ 5, more added since": {
			seed: []string{"RPUSH q:wait d c", "RPUSH q:paused b a"}, want: keyspace{"q:wait": "d c b a", "q:marker": "0=0"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.seed("HSET q:meta paused 1 version v")
			s.seed(test.seed...)
			require.NoError(t, s.run.Resume(t.Context(), s.q))
			s.want(test.want.with(keyspace{"q:meta": "version=v", "q:events": "resumed"}))
		})
	}
}

func TestResumeDrainsManyInSeveralSteps(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.seed("RPUSH q:wait new", "HSET q:meta paused 1")
	ids := make([]any, 15_000)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	require.NoError(t, s.client.RPush(t.Context(), s.q.Paused(), ids...).Err())
	require.NoError(t, s.run.Resume(t.Context(), s.q))
	got := s.client.LRange(t.Context(), s.q.Wait(), 0, -1).Val()
	require.Len(t, got, 15_001)
	require.Equal(t, "new", got[0])
	require.Equal(t, "14999", got[15_000])
	require.Equal(t, "resumed", s.dump()["q:events"], "one event for all steps")
}

// While a queue is paused for a fleet of BullMQ 5, nothing may enter wait: its resume overwrites that list.
func TestNothingEntersWaitWhilePausedForBullMQ5(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.q.LegacyPause = true
	s.active("retried", "returned", "lost")
	s.job("due", "promoted", "again", "reprio")
	s.seed("HSET q:meta paused 1", "DEL q:lost:lock", "SADD q:stalled lost", "ZADD q:delayed "+due(-1, 0)+" due "+due(9e6, 0)+" promoted",
		"ZADD q:failed 1 again", "ZADD q:prioritized 1 reprio")
	s.add(plainJob("added"))
	s.fetch(t0, taker(1))
	_, err := s.run.RetryJobs(t.Context(), s.q, t0, retries("retried"))
	require.NoError(t, err)
	_, _, err = s.run.MoveToWait(t.Context(), s.q, locks("returned"))
	require.NoError(t, err)
	s.check(t0)
	_, err = s.run.Promote(t.Context(), s.q, []string{"promoted"}, false)
	require.NoError(t, err)
	_, err = s.run.Reprocess(t.Context(), s.q, "failed", []string{"again"}, false)
	require.NoError(t, err)
	_, err = s.run.ChangePriority(t.Context(), s.q, "reprio", 0, false)
	require.NoError(t, err)
	got := s.dump()
	require.NotContains(t, got, "q:wait")
	require.NotContains(t, got, "q:marker", "and nobody is woken but by the delayed job")
	require.Equal(t, "reprio again promoted retried due added returned lost", got["q:paused"])
}

package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

func TestMoveToDelayed(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a", "b")
	codes, next, err := s.run.MoveToDelayed(t.Context(), s.q, t0, []scripts.DelayedJob{
		{Lock: locks("a")[0], Delay: time.Second, Updates: []string{"failedReason", "boom"}},
		{Lock: locks("b")[0], Delay: time.Second, SkipAttempt: true},
		{Lock: locks("ghost")[0]},
	}, nil)
	require.NoError(t, err)
	require.Nil(t, next)
	require.Equal(t, []scripts.Code{0, 0, scripts.JobMissing}, codes)
	s.want(keyspace{
		"q:delayed": "a=" + due(1000, 0) + " b=" + due(1000, 1), "q:marker": "1=" + after(1000), "q:meta": meta,
		"q:a": plain("delay=1000", "failedReason=boom", "atm=1"), "q:b": plain("delay=1000"),
		"q:events": events("delayed jobId=a delay="+after(1000), "delayed jobId=b delay="+after(1000)),
	})
}

func TestMoveToDelayedThenTake(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a")
	s.job("b")
	s.seed("LPUSH q:wait b")
	o := taker(2)
	_, next, err := s.run.MoveToDelayed(t.Context(), s.q, t0, []scripts.DelayedJob{{Lock: locks("a")[0], Delay: time.Second}}, &o)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, idsOf(next))
	require.Equal(t, t0.Add(time.Second), next.NextDue)
	s.want(keyspace{
		"q:delayed": "a=" + due(1000, 0), "q:marker": "0=0", "q:meta": meta, "q:active": "b", "q:b:lock": "tok~",
		"q:a": plain("delay=1000", "atm=1"), "q:b": started(),
		"q:events": events("delayed jobId=a delay="+after(1000), "active jobId=b prev=waiting"),
	})
}

func TestMoveToDelayedAtOnceComesBack(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a")
	o := taker(1)
	_, next, err := s.run.MoveToDelayed(t.Context(), s.q, t0, []scripts.DelayedJob{{Lock: locks("a")[0]}}, &o)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, idsOf(next))
	require.Equal(t, events("delayed jobId=a delay="+after(0), "waiting jobId=a prev=delayed", "active jobId=a prev=waiting"),
		s.dump()["q:events"])
}

func TestRetryJobs(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a", "b", "c")
	s.job("w", "d")
	s.seed("LPUSH q:wait w", "HSET q:c priority 2", "HSET q:d delay 5", "ZADD q:delayed "+due(-1, 0)+" d")
	codes, err := s.run.RetryJobs(t.Context(), s.q, t0, []scripts.RetriedJob{
		{Lock: locks("a")[0], Updates: []string{"failedReason", "boom"}},
		{Lock: locks("b")[0], LIFO: true},
		{Lock: locks("c")[0]},
		{Lock: locks("w")[0]},
	})
	require.NoError(t, err)
	require.Equal(t, []scripts.Code{0, 0, 0, scripts.LockMissing}, codes)
	s.want(keyspace{
		"q:wait": "a d w b", "q:prioritized": "c=8589934593", "q:pc": "1", "q:marker": "0=0", "q:meta": meta,
		"q:a": plain("atm=1", "failedReason=boom"), "q:b": plain("atm=1"), "q:c": plain("atm=1", "priority=2"),
		"q:d": plain(), "q:w": plain(),
		"q:events": events("waiting jobId=d prev=delayed", "waiting jobId=a prev=active", "waiting jobId=b prev=active",
			"waiting jobId=c prev=active"),
	})
}

func TestRetryFreesAGlobalSlot(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a")
	s.seed("HSET q:meta concurrency 1")
	_, err := s.run.RetryJobs(t.Context(), s.q, t0, []scripts.RetriedJob{{Lock: locks("a")[0]}})
	require.NoError(t, err)
	require.Equal(t, "0=0", s.dump()["q:marker"], "after the job left active another may be taken")
}

func TestMoveToWait(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a", "p", "x")
	s.job("w", "q")
	s.seed("LPUSH q:wait w", "HSET q:p priority 2", "ZADD q:prioritized 8589934595 q", "LREM q:active 0 x",
		"SET q:limiter 9007199254740991 PX 5000")
	codes, limited, err := s.run.MoveToWait(t.Context(), s.q, append(locks("a", "p", "x", "ghost"), scripts.Lock{ID: "w", Token: "tok"}))
	require.NoError(t, err)
	require.Equal(t, []scripts.Code{0, 0, 0, scripts.JobMissing, scripts.LockMissing}, codes)
	require.InDelta(t, 5*time.Second, limited, float64(2*time.Second))
	s.want(keyspace{
		"q:wait": "w a", "q:prioritized": "p=8589934592 q=8589934595", "q:marker": "0=0", "q:meta": meta,
		"q:limiter": "9007199254740991~",
		"q:a":       plain(), "q:p": plain("priority=2"), "q:x": plain(), "q:w": plain(), "q:q": plain(),
		"q:events": events("waiting jobId=a prev=active", "waiting jobId=p prev=active"),
	})
}

func TestMoveToWaitWithoutLimiter(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a")
	_, limited, err := s.run.MoveToWait(t.Context(), s.q, locks("a"))
	require.NoError(t, err)
	require.Zero(t, limited)
}

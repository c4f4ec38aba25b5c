package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

// TestDamagedParentID ends, drains and obliterates jobs whose field parent holds an id that is none.
func TestDamagedParentID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"null", "true", "{}", "[1]"} {
		for _, parentKey := range []string{"", " parentKey P:q:p"} {
			t.Run(id+parentKey, func(t *testing.T) {
				t.Parallel()
				s := newSpace(t)
				hostile := parentKey + ` parent {"queueKey":"P:q","id":` + id + `}`
				s.job("p")
				s.active("bad", "good")
				s.seed("HSET q:bad"+hostile, "SADD q:p:dependencies P:q:bad", "ZADD q:waiting-children 1 p", "HSET q:meta version v")
				codes, _ := s.finish(scripts.FinishOptions{}, done("bad"), done("good"))
				require.Equal(t, ok(2), codes)
				require.Equal(t, "bad="+after(0)+" good="+after(0), s.dump()["q:completed"])
				require.Equal(t, parentKey != "", s.dump()["q:wait"] == "p", "the parent is known by parentKey alone")

				s.job("x", "y")
				s.seed("HSET q:x"+hostile, "DEL q:wait", "LPUSH q:wait x y")
				require.NoError(t, s.run.Drain(t.Context(), s.q, false))
				require.NotContains(t, s.dump(), "q:y")
				s.job("x", "y")
				s.seed("HSET q:x"+hostile, "LPUSH q:wait x y", "HSET q:meta paused 1")
				code, err := s.run.Obliterate(t.Context(), s.q, true)
				require.NoError(t, err)
				require.Equal(t, scripts.OK, code)
			})
		}
	}
}

// TestParentIDIsANumber takes an id that somebody wrote as a number for what it says.
func TestParentIDIsANumber(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("7")
	s.active("c")
	s.seed(`HSET q:c parent {"queueKey":"P:q","id":7}`, "SADD q:7:dependencies P:q:c", "ZADD q:waiting-children 1 7")
	codes, _ := s.finish(scripts.FinishOptions{}, done("c"))
	require.Equal(t, ok(1), codes)
	require.Equal(t, "7", s.dump()["q:wait"])
}

// TestDamagedFollower ends the owner of a deduplication id although what is to follow it lacks fields, or has options
// that no command takes.
func TestDamagedFollower(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{
		"name alone": "name n",
		"tiny ttl":   `name n data {} opts {"de":{"id":"d","ttl":0.3}}`,
		"long ttl":   `name n data {} opts {"de":{"id":"d","ttl":1e300}}`,
		"no numbers": `name n data {} opts {"delay":{},"priority":"nan","de":{"ttl":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active("a")
			s.seed("HSET q:a deid d", "SET q:de:d a", "HSET q:dn:d "+next)
			codes, _ := s.finish(scripts.FinishOptions{}, done("a"))
			require.Equal(t, ok(1), codes)
			require.Equal(t, "a="+after(0), s.render(s.q.Completed()))
			require.Equal(t, "1", s.render(s.q.Wait()), "the follower")
			require.Contains(t, s.render(s.q.Job("1")), "name=n")
		})
	}
}

// TestDamagedJobDoesNotStopRetention evicts a job that is a text together with the others.
func TestDamagedJobDoesNotStopRetention(t *testing.T) {
	t.Parallel()
	for name, keep := range map[string]scripts.Keep{
		"count": {Count: ptr(int64(1))}, "age": {Age: ptr(500 * time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active("n")
			s.job("a", "b")
			s.seed("SET q:bad x", "ZADD q:completed "+after(-3000)+" a "+after(-2000)+" bad "+after(-1000)+" b")
			j := done("n")
			j.Keep = keep
			codes, _ := s.finish(scripts.FinishOptions{}, j)
			require.Equal(t, ok(1), codes)
			got := s.dump()
			require.Equal(t, "n="+after(0), got["q:completed"])
			for _, id := range []string{"a", "bad", "b"} {
				require.NotContains(t, got, "q:"+id)
			}
		})
	}
}

// TestDamagedDeadLetterQueue ends a job for good although the queue of dead letters takes nothing.
func TestDamagedDeadLetterQueue(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{"SET dead:id x", "SET dead:wait x", "SET dead:meta x", "SET dead:events x"} {
		t.Run(damage, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active("a")
			s.seed(damage)
			codes, _ := s.finish(scripts.FinishOptions{DeadLetter: "dead", MetricsPoints: 5}, failed("a"))
			require.Equal(t, ok(1), codes)
			got := s.dump()
			require.Equal(t, failedHash(), got["q:a"])
			require.Contains(t, got["q:events"], "drained")
			require.Contains(t, got, "q:metrics:failed")
		})
	}
}

func TestExtendLocksWithADamagedOne(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a", "b", "c")
	s.seed("DEL q:b:lock", "RPUSH q:b:lock tok")
	lost, err := s.run.ExtendLocks(t.Context(), s.q, locks("a", "b", "c"), time.Hour)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, lost)
	require.Greater(t, s.client.PTTL(t.Context(), s.q.Lock("c")).Val(), 50*time.Minute)
}

// TestDamagedSchedulerGoesOn makes the next job of schedulers whose records hold no numbers.
func TestDamagedSchedulerGoesOn(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"counter": "ic many", "fraction": "ic 1.5", "offset": "offset nan", "endless interval": "every inf", "no interval": "every 0",
		"negative interval": "every -5", "start": "startDate nan",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			id, _ := s.upsert(t0, every(interval))
			s.seed("HSET q:repeat:s "+damage, "LREM q:wait 1 "+id)
			next, err := s.run.NextIteration(t.Context(), s.q, t0.Add(time.Second), scripts.Firing{
				SchedulerID: "s", JobID: id, Every: interval, Job: every(interval).Job,
			})
			require.NoError(t, err)
			require.Equal(t, "repeat:s:"+slot(10), next)
			require.Equal(t, "s="+slot(10), s.dump()["q:repeat"])
		})
	}
}

func TestUpsertMendsTheCounter(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.upsert(t0, every(interval))
	s.seed("HSET q:repeat:s ic many offset nan")
	s.upsert(t0, every(interval))
	require.Equal(t, "every=10000 ic=1 name=tick", s.dump()["q:repeat:s"], "Node counts with it too")
}

// TestOldAttempts counts what very old versions counted in a field of its own, until attempts start anew.
func TestOldAttempts(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a")
	s.seed("HSET q:a attemptsMade 2")
	j := failed("a")
	j.Attempts = 3
	codes, _ := s.finish(scripts.FinishOptions{DeadLetter: "dead"}, j)
	require.Equal(t, ok(1), codes)
	require.Contains(t, s.dump()["q:events"], "retries-exhausted jobId=a attemptsMade=3")
	require.Contains(t, s.dump()["dead:q.a."+after(0)], `"attemptsMade":3`)
	codes, err := s.run.Reprocess(t.Context(), s.q, keys.Failed, []string{"a"}, false)
	require.NoError(t, err)
	require.Equal(t, ok(1), codes)
	require.Contains(t, s.dump()["q:a"], "attemptsMade=2 ")
	s.seed("DEL q:wait", "ZADD q:failed 1 a")
	_, err = s.run.Reprocess(t.Context(), s.q, keys.Failed, []string{"a"}, true)
	require.NoError(t, err)
	require.Equal(t, plain(`stacktrace=["x"]`), s.dump()["q:a"])
}

// TestReprocessWithADamagedParent runs a job again although its parent's keys are not what they should be.
func TestReprocessWithADamagedParent(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "p")
	s.seed("HSET q:a parentKey P:q:p", "SET q:p:unsuccessful x", "ZADD q:failed 1 a")
	codes, err := s.run.Reprocess(t.Context(), s.q, keys.Failed, []string{"a"}, false)
	require.NoError(t, err)
	require.Equal(t, ok(1), codes)
	require.Contains(t, s.dump()["q:events"], "waiting jobId=a prev=failed")
}

// TestDamagedSettings works on queues whose settings are numbers that no command takes.
func TestDamagedSettings(t *testing.T) {
	t.Parallel()
	for _, settings := range []string{"opts.maxLenEvents -5", "opts.maxLenEvents 1.5", "opts.maxLenEvents 1e300"} {
		t.Run(settings, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active("a")
			s.seed("HSET q:meta " + settings)
			codes, _ := s.finish(scripts.FinishOptions{}, done("a"))
			require.Equal(t, ok(1), codes)
			require.Equal(t, meta, s.dump()["q:meta"])
		})
	}
}

// TestDamagedPriorityCounter keeps a prioritized job although the counter of its peers is no number.
func TestDamagedPriorityCounter(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a")
	s.seed("SET q:pc x", "HSET q:a priority 2 delay 5", "ZADD q:delayed 1 a")
	codes, err := s.run.Promote(t.Context(), s.q, []string{"a"}, false)
	require.NoError(t, err)
	require.Equal(t, ok(1), codes)
	require.Equal(t, "a=8589934593", s.dump()["q:prioritized"])
}

// TestDamagedParentOfAParent drains a job and the parent that goes with it although the parent's own one is damaged.
func TestDamagedParentOfAParent(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("c", "p", "g")
	s.seed("HSET q:c parentKey P:q:p", "SADD q:p:dependencies P:q:c", "HSET q:p parentKey P:q:g", "SET q:g:dependencies x",
		"ZADD q:waiting-children 1 p", "LPUSH q:wait c", "HSET q:meta version v")
	require.NoError(t, s.run.Drain(t.Context(), s.q, false))
	s.want(keyspace{"q:g": plain(), "q:g:dependencies": "x", "q:meta": "version=v"})
}

// TestReplayOfADamagedOriginal adds an original again that has a priority that is none and a parent that is damaged.
func TestReplayOfADamagedOriginal(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("p")
	s.active("a")
	s.seed(`HSET q:a opts {"priority":"nan","parent":{"queue":"P:q","id":"p"}}`, "SET q:p:unsuccessful x")
	s.bury(scripts.Keep{Count: ptr(int64(0))}, "a")
	require.Equal(t, scripts.AddedAgain, s.replay(letterOf("a"))[0].Code)
	require.Equal(t, "a", s.dump()["q:wait"])
	require.NotContains(t, s.dump(), "dead:wait")
}

// TestTakeWhatIsNoJob drops waiting ids whose keys are no hashes, and takes the next.
func TestTakeWhatIsNoJob(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("done")
	s.job("a", "b")
	s.seed("SET q:text x", "RPUSH q:list x", "LPUSH q:wait text a list b", "ZADD q:prioritized 1 text")
	codes, f := s.finish(scripts.FinishOptions{Next: ptr(taker(9))}, done("done"))
	require.Equal(t, ok(1), codes)
	require.Equal(t, []string{"a", "b"}, idsOf(f))
	got := s.dump()
	require.Equal(t, "b a", got["q:active"])
	require.Equal(t, "x", got["q:text"])
	require.NotContains(t, got, "q:text:lock")
	require.NotContains(t, got, "q:prioritized")
}

// TestDamagedLimiter takes a job of a limited queue although the window's count or length is nothing that Redis takes.
func TestDamagedLimiter(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"count": "SET q:limiter x", "list": "RPUSH q:limiter x", "long window": "HSET q:meta duration 1e300",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.job("a")
			s.seed("LPUSH q:wait a", "HSET q:meta max 5 duration 60000", damage)
			require.Equal(t, []string{"a"}, idsOf(s.fetch(t0, taker(1))))
			require.Equal(t, "1~", s.dump()["q:limiter"])
		})
	}
}

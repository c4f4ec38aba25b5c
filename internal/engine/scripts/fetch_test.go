package scripts_test

import (
	"strconv"
	"testing"
	"time"

	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

// taker is who takes jobs in these tests.
func taker(count int) scripts.FetchOptions {
	return scripts.FetchOptions{Token: "tok", LockDuration: time.Minute, Count: count, Worker: "w"}
}

func (s *space) fetch(now time.Time, o scripts.FetchOptions) *scripts.Fetched {
	s.t.Helper()
	f, err := s.run.Fetch(s.t.Context(), s.q, now, o)
	require.NoError(s.t, err)
	return f
}

func idsOf(f *scripts.Fetched) []string {
	var ids []string
	for _, j := range f.Jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// started is the hash of a job after its first start at t0 by the worker "w".
func started(fields ...string) string {
	return plain(append([]string{"ats=1", "pb=w", "processedOn=" + after(0)}, fields...)...)
}

func TestFetchOne(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "b")
	s.seed("LPUSH q:wait a b")
	f := s.fetch(t0, taker(1))
	require.Equal(t, []string{"a"}, idsOf(f))
	require.Equal(t, map[string]string{
		"name": "n", "data": "{}", "opts": "{}", "timestamp": after(0), "delay": "0", "priority": "0",
		"ats": "1", "pb": "w", "processedOn": after(0),
	}, f.Jobs[0].Fields)
	s.want(keyspace{
		"q:wait": "b", "q:active": "a", "q:a": started(), "q:b": plain(), "q:a:lock": "tok~", "q:marker": "0=0",
		"q:events": "active jobId=a prev=waiting",
	})
}

func TestFetchWithoutLockAndName(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a")
	s.seed("LPUSH q:wait a", "HSET q:a pb before ats 4")
	o := taker(1)
	o.Token, o.Worker = "0", ""
	s.fetch(t0, o)
	s.want(keyspace{
		"q:active": "a", "q:a": started("ats=5", "pb=before"), "q:marker": "0=0", "q:events": "active jobId=a prev=waiting",
	})
}

func TestFetchOrder(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "b", "c", "d", "e")
	s.seed("LPUSH q:wait a b", "ZADD q:prioritized 3 c 1 d", "ZADD q:delayed "+due(-5, 0)+" e", "SET q:pc 2")
	f := s.fetch(t0, taker(9))
	require.Equal(t, []string{"a", "b", "e", "d", "c"}, idsOf(f), "wait, then by score; due ones wait first")
	require.Zero(t, f.NextDue)
	s.want(keyspace{
		"q:active": "c d e b a", "q:marker": "0=0",
		"q:a": started(), "q:b": started(), "q:c": started(), "q:d": started(), "q:e": started(),
		"q:a:lock": "tok~", "q:b:lock": "tok~", "q:c:lock": "tok~", "q:d:lock": "tok~", "q:e:lock": "tok~",
		"q:events": events("waiting jobId=e prev=delayed", "active jobId=a prev=waiting", "active jobId=b prev=waiting",
			"active jobId=e prev=waiting", "active jobId=d prev=waiting", "active jobId=c prev=waiting"),
	})
}

func TestFetchPromotesWhatIsDue(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("due", "prio", "later")
	s.seed("ZADD q:delayed "+due(0, 7)+" due "+due(-1, 0)+" prio "+due(1, 0)+" later",
		"HSET q:due delay 100", "HSET q:prio delay 100 priority 2", "HSET q:meta paused 1")
	f := s.fetch(t0, taker(5))
	require.Empty(t, f.Jobs)
	s.want(keyspace{
		"q:meta": "paused=1", "q:wait": "due", "q:prioritized": "prio=8589934593", "q:pc": "1",
		"q:delayed": "later=" + due(1, 0),
		"q:due":     plain(), "q:prio": plain("priority=2"), "q:later": plain(),
		"q:events": events("waiting jobId=prio prev=delayed", "waiting jobId=due prev=delayed"),
	})
}

func TestFetchPromotesAThousand(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	for i := range 2500 {
		id := strconv.Itoa(i)
		s.seed("HSET q:"+id+" name n", "ZADD q:delayed "+due(-10, int64(i))+" "+id)
	}
	first := 0
	for _, n := range []int{1000, 1000, 500} {
		f := s.fetch(t0, taker(2500))
		require.Len(t, f.Jobs, n)
		require.Equal(t, strconv.Itoa(first), f.Jobs[0].ID, "in order of their due times")
		first += n
		require.Equal(t, first < 2500, !f.NextDue.IsZero() && !f.NextDue.After(t0), "the rest is due at once")
	}
}

// TestFetchPassesOverAThousand bounds what one script drops, be it in the list or in the set.
func TestFetchPassesOverAThousand(t *testing.T) {
	t.Parallel()
	for name, seed := range map[string]string{
		"wait": `redis.call("RPUSH", KEYS[1] .. "wait", i)`, "markers": `redis.call("RPUSH", KEYS[1] .. "wait", "0:" .. i)`,
		"prioritized": `redis.call("ZADD", KEYS[1] .. "prioritized", -i, i)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.job("a", "b")
			s.seed("RPUSH q:wait a", "ZADD q:prioritized 1 b")
			require.NoError(t, s.client.Eval(t.Context(), "for i = 1, 1500 do "+seed+" end return 1", []string{s.q.Base()}).Err())
			f := s.fetch(t0, taker(2))
			require.Equal(t, t0, f.NextDue, "again at once")
			left := s.client.LLen(t.Context(), s.q.Wait()).Val() + s.client.ZCard(t.Context(), s.q.Prioritized()).Val()
			require.Equal(t, int64(502), left+int64(len(f.Jobs)))
			again := s.fetch(t0, taker(2))
			require.Equal(t, []string{"a", "b"}, append(idsOf(f), idsOf(again)...))
			again = s.fetch(t0, taker(1))
			require.Zero(t, again.NextDue)
		})
	}
}

func TestFetchNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		seed []string
		due  time.Time
	}{
		"empty":        {},
		"delayed only": {seed: []string{"HSET q:d name n", "ZADD q:delayed " + due(1500, 3) + " d"}, due: t0.Add(1500 * time.Millisecond)},
		"paused":       {seed: []string{"HSET q:w name n", "LPUSH q:wait w", "HSET q:meta paused 1"}},
		"maxed":        {seed: []string{"HSET q:w name n", "LPUSH q:wait w", "LPUSH q:active x", "HSET q:meta concurrency 1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.seed(test.seed...)
			before := s.dump()
			f := s.fetch(t0, taker(3))
			require.Empty(t, f.Jobs)
			require.True(t, test.due.Equal(f.NextDue), f.NextDue)
			s.want(before)
		})
	}
}

func TestFetchEmptyDropsThePriorityCounter(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.seed("SET q:pc 9")
	s.fetch(t0, taker(1))
	s.want(keyspace{})
}

func TestFetchGlobalConcurrencyBoundsABatch(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "b", "c")
	s.seed("LPUSH q:wait a b c", "LPUSH q:active x", "HSET q:meta concurrency 3")
	require.Equal(t, []string{"a", "b"}, idsOf(s.fetch(t0, taker(5))))
}

func TestFetchLimiter(t *testing.T) {
	t.Parallel()
	limiter := func(max int, d time.Duration) *scripts.Limiter { return &scripts.Limiter{Max: max, Duration: d} }
	tests := map[string]struct {
		seed    []string
		limiter *scripts.Limiter
		taken   int
		limited time.Duration // at most; 0 = not limited
		counter string
	}{
		"none":                             {taken: 3},
		"worker's, used up by the batch":   {limiter: limiter(2, time.Minute), taken: 2, limited: time.Minute, counter: "2~"},
		"worker's, wide enough":            {limiter: limiter(9, time.Minute), taken: 3, counter: "3~"},
		"worker's, used up before":         {seed: []string{"SET q:limiter 2 PX 9000"}, limiter: limiter(2, time.Minute), limited: 9 * time.Second, counter: "2~"},
		"counter without a time to live":   {seed: []string{"SET q:limiter 7"}, limiter: limiter(2, time.Minute), taken: 3, counter: "10"},
		"queue's":                          {seed: []string{"HSET q:meta max 1 duration 60000"}, taken: 1, limited: time.Minute, counter: "1~"},
		"max of the queue, window of both": {seed: []string{"HSET q:meta max 1 duration 60000"}, limiter: limiter(100, 5*time.Second), taken: 1, limited: 5 * time.Second, counter: "1~"},
		"queue's without a duration":       {seed: []string{"HSET q:meta max 1"}, taken: 3},
		"by hand":                          {seed: []string{"SET q:limiter 9007199254740991 PX 9000"}, limiter: limiter(5, time.Minute), limited: 9 * time.Second, counter: "9007199254740991~"},
		"by hand, worker without limiter":  {seed: []string{"SET q:limiter 9007199254740991 PX 9000"}, limited: 9 * time.Second, counter: "9007199254740991~"},
		"failures to come do not count":    {seed: []string{"HSET q:b defa reason"}, limiter: limiter(2, time.Minute), taken: 3, limited: time.Minute, counter: "2~"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.job("a", "b", "c")
			s.seed("LPUSH q:wait a b c")
			s.seed(test.seed...)
			o := taker(4)
			o.Limiter = test.limiter
			f := s.fetch(t0, o)
			require.Len(t, f.Jobs, test.taken)
			require.LessOrEqual(t, f.LimitedFor, test.limited)
			require.Equal(t, test.limited > 0, f.LimitedFor > 0)
			require.Equal(t, test.counter, s.dump()["q:limiter"])
		})
	}
}

func TestFetchSkipsWhatIsNoJob(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "b")
	s.seed("LPUSH q:wait 0:123 ghost a 0:0 b")
	require.Equal(t, []string{"a", "b"}, idsOf(s.fetch(t0, taker(5))), "markers of BullMQ 4 and ids without hash")
	require.Equal(t, "b a", s.dump()["q:active"])
	s.job("p")
	s.seed("ZADD q:prioritized 1 ghost 2 p", "ZADD q:delayed "+due(-1, 0)+" phantom")
	require.Equal(t, []string{"p"}, idsOf(s.fetch(t0, taker(5))))
	got := s.dump()
	require.NotContains(t, got, "q:ghost")
	require.NotContains(t, got, "q:phantom")
}

func TestFetchBatchEqualsOneByOne(t *testing.T) {
	t.Parallel()
	fill := func(s *space) {
		s.job("a", "b", "c", "d", "e")
		s.seed("LPUSH q:wait a b", "ZADD q:prioritized 3 c 1 d", "ZADD q:delayed "+due(-5, 0)+" e", "SET q:pc 2",
			"HSET q:meta max 4 duration 60000")
	}
	together, single := newSpace(t), newSpace(t)
	fill(together)
	fill(single)
	batch := together.fetch(t0, taker(5))
	var one []string
	for range 5 {
		one = append(one, idsOf(single.fetch(t0, taker(1)))...)
	}
	require.Equal(t, idsOf(batch), one)
	single.want(together.dump())
}

// TestDamagedDueJobs promotes what is due although one of the jobs is a text and others have no priority that is one.
func TestDamagedDueJobs(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("nan", "inf", "good")
	s.seed("SET q:text x", "HSET q:nan priority nan", "HSET q:inf priority inf", "ZADD q:delayed 1 text 2 nan 3 inf 4 good")
	require.Equal(t, []string{"nan", "inf", "good"}, idsOf(s.fetch(t0, taker(9))))
	require.NotContains(t, s.dump(), "q:delayed")
}

// TestDamagedKeysOfOthers ends jobs although what else there is to note is damaged.
func TestDamagedKeysOfOthers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a", "b", "c")
	s.seed("HSET q:a deid d", "RPUSH q:de:d x", "HSET q:b parentKey P:q:p", "SET q:p x", "SET q:p:dependencies x", "HSET q:meta concurrency nan",
		"SET q:metrics:completed x")
	codes, _ := s.finish(scripts.FinishOptions{MetricsPoints: 5}, done("a"), done("b"), failed("c"))
	require.Equal(t, ok(3), codes)
	require.Contains(t, s.dump()["q:completed"], "a")
	require.Contains(t, s.dump()["q:completed"], "b")
	require.NotContains(t, s.dump(), "q:active")
}

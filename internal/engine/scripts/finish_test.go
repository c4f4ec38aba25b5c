package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

func done(id string) scripts.FinishedJob {
	return scripts.FinishedJob{Lock: scripts.Lock{ID: id, Token: "tok"}, Result: `{"r":1}`, Attempts: 1}
}

func failed(id string) scripts.FinishedJob {
	j := done(id)
	j.Failed, j.Result = true, "boom"
	j.Updates = []string{"failedReason", "boom", "stacktrace", `["x"]`}
	return j
}

func (s *space) finish(o scripts.FinishOptions, jobs ...scripts.FinishedJob) ([]scripts.Code, *scripts.Fetched) {
	s.t.Helper()
	codes, f, err := s.run.Finish(s.t.Context(), s.q, t0, jobs, o)
	require.NoError(s.t, err)
	return codes, f
}

func ok(n int) []scripts.Code { return make([]scripts.Code, n) }

// completed and failedHash are the hashes of jobs that ended at t0.
func completed(fields ...string) string {
	return plain(append([]string{"atm=1", `returnvalue={"r":1}`, "finishedOn=" + after(0)}, fields...)...)
}

func failedHash(fields ...string) string {
	return plain(append([]string{"atm=1", "failedReason=boom", `stacktrace=["x"]`, "finishedOn=" + after(0)}, fields...)...)
}

func TestFinishMixedBatch(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a", "b", "c")
	s.seed("SADD q:stalled a b c other", "HSET q:b defa reason", "HSET q:c atm 1")
	retried := failed("c")
	retried.Attempts = 5
	codes, next := s.finish(scripts.FinishOptions{}, done("a"), failed("b"), retried)
	require.Equal(t, ok(3), codes)
	require.Nil(t, next)
	s.want(keyspace{
		"q:completed": "a=" + after(0), "q:failed": "b=" + after(0) + " c=" + after(0), "q:stalled": "other", "q:meta": meta,
		"q:a": completed(), "q:b": failedHash(), "q:c": failedHash("atm=2"),
		"q:events": events(`completed jobId=a returnvalue={"r":1} prev=active`,
			"failed jobId=b failedReason=boom prev=active", "retries-exhausted jobId=b attemptsMade=1",
			"failed jobId=c failedReason=boom prev=active", "drained"),
	})
}

func TestFinishRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		seed    []string
		job     scripts.FinishedJob
		code    scripts.Code
		changes keyspace // besides nothing at all
	}{
		"no hash":             {seed: []string{"DEL q:a"}, job: done("a"), code: scripts.JobMissing},
		"no lock":             {seed: []string{"DEL q:a:lock"}, job: failed("a"), code: scripts.LockMissing},
		"lock of another":     {seed: []string{"SET q:a:lock other"}, job: failed("a"), code: scripts.LockMismatch},
		"children pending":    {seed: []string{"SADD q:a:dependencies P:q:c"}, job: done("a"), code: scripts.PendingChildren},
		"failed children":     {seed: []string{"ZADD q:a:unsuccessful 1 P:q:c"}, job: done("a"), code: scripts.FailedChildren},
		"key of a wrong kind": {seed: []string{"DEL q:a", "SET q:a x"}, job: done("a"), code: scripts.Broken},
		"not active": {
			seed: []string{"DEL q:active"}, job: failed("a"), code: scripts.WrongState,
			changes: keyspace{"q:a:lock": "", "q:a": plain("failedReason=boom", `stacktrace=["x"]`)},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active("a")
			s.seed(test.seed...)
			before := s.dump()
			codes, _ := s.finish(scripts.FinishOptions{}, test.job)
			require.Equal(t, []scripts.Code{test.code}, codes)
			s.want(before.with(test.changes))
		})
	}
}

func TestFinishOneRefusedDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a", "b", "c", "d")
	s.seed("DEL q:b:lock", "DEL q:c", "SET q:c x", "HSET q:d atm garbage")
	codes, _ := s.finish(scripts.FinishOptions{}, done("b"), done("c"), done("a"), done("d"))
	require.Equal(t, []scripts.Code{scripts.LockMissing, scripts.Broken, scripts.OK, scripts.OK}, codes)
	got := s.dump()
	require.Equal(t, "a="+after(0)+" d="+after(0), got["q:completed"])
	require.Equal(t, completed(), got["q:d"], "a counter that is no number starts anew")
}

func TestFinishRetention(t *testing.T) {
	t.Parallel()
	count := func(n int64) scripts.Keep { return scripts.Keep{Count: &n} }
	age := func(d time.Duration) scripts.Keep { return scripts.Keep{Age: &d} }
	tests := map[string]struct {
		keep scripts.Keep
		left []string // of three older jobs (1 s, 2 s, 3 s ago: c, b, a) and the new one, n
	}{
		"all":                       {left: []string{"a", "b", "c", "n"}},
		"negative count":            {keep: count(-1), left: []string{"a", "b", "c", "n"}},
		"none":                      {keep: count(0), left: []string{"a", "b", "c"}},
		"two":                       {keep: count(2), left: []string{"c", "n"}},
		"two seconds":               {keep: age(2 * time.Second), left: []string{"c", "n"}},
		"age zero":                  {keep: age(0), left: nil},
		"age, one eviction allowed": {keep: scripts.Keep{Age: ptr(time.Duration(0)), Limit: ptr(int64(1))}, left: []string{"a", "b", "c"}},
		"age and count":             {keep: scripts.Keep{Age: ptr(time.Hour), Count: ptr(int64(1))}, left: []string{"n"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active("n")
			s.job("a", "b", "c")
			s.seed("ZADD q:completed "+after(-3000)+" a "+after(-2000)+" b "+after(-1000)+" c", "RPUSH q:a:logs row", "RPUSH q:n:logs row",
				"SET q:de:x a", "HSET q:a deid x")
			j := done("n")
			j.Keep = test.keep
			codes, _ := s.finish(scripts.FinishOptions{}, j)
			require.Equal(t, ok(1), codes)
			ids, err := s.client.ZRange(t.Context(), s.q.Completed(), 0, -1).Result()
			require.NoError(t, err)
			require.ElementsMatch(t, test.left, ids)
			got := s.dump()
			for _, id := range []string{"a", "b", "c", "n"} {
				require.Equal(t, contains(test.left, id), got["q:"+id] != "", id)
			}
			require.Equal(t, contains(test.left, "a"), got["q:a:logs"] != "")
			require.Equal(t, "a", got["q:de:x"], "eviction leaves deduplication ids")
			require.Equal(t, events(`completed jobId=n returnvalue={"r":1} prev=active`, "drained"), got["q:events"])
		})
	}
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

func TestFinishRetentionByCountIsBoundedPerJob(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("n", "m")
	for i := range 1500 {
		s.seed("ZADD q:completed " + after(int64(i-5000)) + " old" + after(int64(i)))
	}
	j := done("n")
	j.Keep.Count = ptr(int64(1))
	s.finish(scripts.FinishOptions{}, j)
	require.EqualValues(t, 501, s.client.ZCard(t.Context(), s.q.Completed()).Val())
	j.ID = "m"
	s.finish(scripts.FinishOptions{}, j)
	require.EqualValues(t, 1, s.client.ZCard(t.Context(), s.q.Completed()).Val())
}

func TestFinishThenTake(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a")
	s.job("b", "c")
	s.seed("LPUSH q:wait b c")
	o := taker(1)
	o.Token = "tok2"
	codes, next := s.finish(scripts.FinishOptions{Next: &o}, done("a"))
	require.Equal(t, ok(1), codes)
	require.Equal(t, []string{"b"}, idsOf(next))
	s.want(keyspace{
		"q:completed": "a=" + after(0), "q:a": completed(), "q:b": started(), "q:c": plain(), "q:b:lock": "tok2~",
		"q:active": "b", "q:wait": "c", "q:marker": "0=0", "q:meta": meta,
		"q:events": events(`completed jobId=a returnvalue={"r":1} prev=active`, "active jobId=b prev=waiting"),
	})
}

func TestFinishDrained(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		seed    []string
		next    bool
		drained bool
	}{
		"nothing left":                     {drained: true},
		"nothing left, asked for more":     {next: true, drained: true},
		"delayed left":                     {seed: []string{"HSET q:d name n", "ZADD q:delayed " + due(99, 0) + " d"}, drained: true},
		"delayed left, asked for more":     {seed: []string{"HSET q:d name n", "ZADD q:delayed " + due(99, 0) + " d"}, next: true},
		"paused":                           {seed: []string{"HSET q:meta paused 1"}, drained: true},
		"paused, asked for more":           {seed: []string{"HSET q:meta paused 1"}, next: true},
		"another one active":               {seed: []string{"LPUSH q:active x"}},
		"prioritized left":                 {seed: []string{"ZADD q:prioritized 1 x"}},
		"waiting left":                     {seed: []string{"LPUSH q:wait x"}},
		"rate limited, asked for more":     {seed: []string{"SET q:limiter 9007199254740991 PX 9000"}, next: true},
		"more taken":                       {seed: []string{"HSET q:x name n", "LPUSH q:wait x"}, next: true},
		"only an id without hash was left": {seed: []string{"LPUSH q:wait x"}, next: true, drained: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active("a")
			s.seed(test.seed...)
			o := scripts.FinishOptions{}
			if test.next {
				next := taker(1)
				o.Next = &next
			}
			s.finish(o, done("a"))
			stream := s.eventsOf(s.q.Events())
			require.Equal(t, test.drained, stream[len(stream)-1] == "drained", stream)
		})
	}
}

func TestFinishMetrics(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	finish := func(at time.Duration, f scripts.FinishedJob) {
		s.active(f.ID)
		_, _, err := s.run.Finish(t.Context(), s.q, t0.Add(at), []scripts.FinishedJob{f}, scripts.FinishOptions{MetricsPoints: 5})
		require.NoError(t, err)
	}
	finish(0, done("a"))
	finish(time.Second, done("b"))
	finish(2*time.Second, done("c"))
	require.Equal(t, "count=3 prevCount=0 prevTS="+after(0), s.dump()["q:metrics:completed"])
	finish(time.Minute, done("d"))
	require.Equal(t, "3", s.dump()["q:metrics:completed:data"])
	finish(time.Minute+time.Second, done("e"))
	finish(time.Minute+2*time.Second, done("f"))
	finish(4*time.Minute, failed("x"))
	finish(4*time.Minute, done("g"))
	got := s.dump()
	require.Equal(t, "0 0 3 3", got["q:metrics:completed:data"])
	require.Equal(t, "count=7 prevCount=6 prevTS="+after(240_000), got["q:metrics:completed"])
	require.Equal(t, "count=1 prevCount=0 prevTS="+after(240_000), got["q:metrics:failed"])
	finish(104*time.Minute, done("h"))
	require.Equal(t, "0 0 0 0 1", s.dump()["q:metrics:completed:data"])
}

func TestFinishDeadLetter(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a", "b")
	s.seed(`HSET q:a data {"x":1} opts {"attempts":2,"big":12345678901234567890} name n/1 atm 1`)
	f := failed("a")
	f.Result, f.Attempts, f.Keep.Count = `a "quoted" reason`, 2, ptr(int64(0))
	codes, _ := s.finish(scripts.FinishOptions{DeadLetter: "dead"}, f, done("b"))
	require.Equal(t, ok(2), codes)
	id := "q.a." + after(0)
	want := keyspace{
		"q:completed": "b=" + after(0), "q:b": completed(), "q:meta": meta,
		"q:events": events(`failed jobId=a failedReason=a "quoted" reason prev=active`, "retries-exhausted jobId=a attemptsMade=2",
			`completed jobId=b returnvalue={"r":1} prev=active`, "drained"),
		"dead:" + id: render(map[string]string{
			"name": "n/1", "data": `{"x":1}`, "timestamp": after(0), "delay": "0", "priority": "0", "stacktrace": `["x"]`,
			"failedReason": `a "quoted" reason`,
			"opts": `{"attempts":0,"jobId":"` + id + `","deadLetter":{"queue":"q","id":"a","reason":"a \"quoted\" reason",` +
				`"attemptsMade":2,"failedAt":` + after(0) + `,"opts":{"attempts":2,"big":12345678901234567890}}}`,
		}),
		"dead:id": "1", "dead:wait": id, "dead:marker": "0=0", "dead:meta": meta,
		"dead:events": events("added jobId="+id+" name=n/1", "waiting jobId="+id),
	}
	s.want(want)
}

func TestFinishDeadLetterTwiceIsOnce(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	for range 2 {
		s.active("a")
		s.finish(scripts.FinishOptions{DeadLetter: "dead"}, failed("a"))
	}
	got := s.dump()
	require.Equal(t, "q.a."+after(0), got["dead:wait"])
	require.Contains(t, got["dead:events"], "duplicated jobId=q.a."+after(0))
}

func TestFinishTrimsEvents(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.seed("HSET q:meta opts.maxLenEvents 1")
	for range 300 {
		s.seed("XADD q:events * event old")
	}
	s.active("a")
	s.finish(scripts.FinishOptions{}, done("a"))
	require.LessOrEqual(t, s.client.XLen(t.Context(), s.q.Events()).Val(), int64(102))
}

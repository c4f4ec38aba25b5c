package scripts_test

import (
	"strconv"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

func retries(ids ...string) []scripts.RetriedJob {
	var out []scripts.RetriedJob
	for _, l := range locks(ids...) {
		out = append(out, scripts.RetriedJob{Lock: l})
	}
	return out
}

func TestPromote(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "p", "w")
	s.seed("ZADD q:delayed 9 a 8 p 7 ghost", "HSET q:a delay 100", "HSET q:p delay 100 priority 1", "LPUSH q:wait w")
	codes, err := s.run.Promote(t.Context(), s.q, []string{"a", "p", "w", "nobody", "ghost"}, false)
	require.NoError(t, err)
	require.Equal(t, []scripts.Code{0, 0, scripts.WrongState, scripts.WrongState, scripts.JobMissing}, codes)
	s.want(keyspace{
		"q:wait": "a w", "q:prioritized": "p=4294967297", "q:pc": "1", "q:marker": "0=0",
		"q:a": plain(), "q:p": plain("priority=1"), "q:w": plain(),
		"q:events": events("waiting jobId=a prev=delayed", "waiting jobId=p prev=delayed"),
	})
}

// TestPromoteTrims cuts the events when many are promoted, and not for a single job (lifecycle 6).
func TestPromoteTrims(t *testing.T) {
	t.Parallel()
	for many, most := range map[bool]int64{true: 200, false: 600} {
		s := newSpace(t)
		s.seed("HSET q:meta opts.maxLenEvents 10")
		ids := make([]string, 600)
		for i := range ids {
			ids[i] = strconv.Itoa(i)
			s.job(ids[i])
			s.seed("ZADD q:delayed 1 " + ids[i])
		}
		_, err := s.run.Promote(t.Context(), s.q, ids, many)
		require.NoError(t, err)
		got := s.client.XLen(t.Context(), s.q.Events()).Val()
		require.LessOrEqual(t, got, most)
		require.Equal(t, many, got < 600)
	}
}

func TestChangeDelay(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "b", "w")
	s.seed("ZADD q:delayed "+due(900, 0)+" a "+due(2000, 0)+" b", "HSET q:a delay 900")
	change := func(id string) scripts.Code {
		c, err := s.run.ChangeDelay(t.Context(), s.q, t0.Add(time.Second), id, time.Second)
		require.NoError(t, err)
		return c
	}
	require.Equal(t, scripts.JobMissing, change("nobody"))
	require.Equal(t, scripts.WrongState, change("w"))
	require.Equal(t, scripts.OK, change("a"))
	s.want(keyspace{
		"q:delayed": "b=" + due(2000, 0) + " a=" + due(2000, 1), "q:marker": "1=" + after(2000), "q:meta": meta,
		"q:a": plain("delay=1000"), "q:b": plain(), "q:w": plain(), "q:events": "delayed jobId=a delay=" + after(2000),
	})
}

func TestMarkerKeepsTheTieBreak(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a")
	s.seed("ZADD q:delayed " + due(50, 1) + " a")
	require.NoError(t, s.run.Resume(t.Context(), s.q))
	require.Equal(t, "1="+after(50)+".0002", s.dump()["q:marker"], "1/4096 of a millisecond, as far as a double goes")
}

func TestChangePriority(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		seed     []string
		priority int64
		lifo     bool
		want     keyspace
	}{
		"waiting to prioritized": {
			seed: []string{"RPUSH q:wait c a b"}, priority: 2,
			want: keyspace{"q:wait": "c b", "q:prioritized": "a=8589934593", "q:pc": "1", "q:marker": "0=0", "q:a": plain("priority=2")},
		},
		"prioritized to waiting": {
			seed: []string{"ZADD q:prioritized 5 a", "RPUSH q:wait b"}, priority: 0,
			want: keyspace{"q:wait": "a b", "q:marker": "0=0"},
		},
		"prioritized to the taking end": {
			seed: []string{"ZADD q:prioritized 5 a", "RPUSH q:wait b"}, priority: 0, lifo: true,
			want: keyspace{"q:wait": "b a", "q:marker": "0=0"},
		},
		"in front of its band wakes nobody": {
			seed: []string{"ZADD q:prioritized 5 a"}, priority: 2, lifo: true,
			want: keyspace{"q:prioritized": "a=8589934592", "q:a": plain("priority=2")},
		},
		"found in the paused list": {
			seed: []string{"RPUSH q:paused a b"}, priority: 1,
			want: keyspace{"q:paused": "b", "q:prioritized": "a=4294967297", "q:pc": "1", "q:marker": "0=0", "q:a": plain("priority=1")},
		},
		"delayed only changes the field": {
			seed: []string{"ZADD q:delayed 5 a"}, priority: 2, want: keyspace{"q:delayed": "a=5", "q:a": plain("priority=2")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.job("a")
			s.seed(test.seed...)
			c, err := s.run.ChangePriority(t.Context(), s.q, "a", test.priority, test.lifo)
			require.NoError(t, err)
			require.Equal(t, scripts.OK, c)
			s.want(keyspace{"q:a": plain()}.with(test.want))
		})
	}
	s := newSpace(t)
	c, err := s.run.ChangePriority(t.Context(), s.q, "nobody", 1, false)
	require.NoError(t, err)
	require.Equal(t, scripts.JobMissing, c)
	s.want(keyspace{})
}

func TestPriorityCounterWraps(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.seed("SET q:pc 4294967293")
	for _, id := range []string{"w0", "w1", "w2", "w3", "w4"} {
		j := plainJob(id)
		j.Priority = 7
		s.add(j)
	}
	require.Equal(t, "w2=30064771072 w3=30064771073 w4=30064771074 w0=34359738366 w1=34359738367", s.dump()["q:prioritized"])
}

func TestReprocess(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "l", "p", "w")
	ended := " finishedOn 5 processedOn 4 failedReason boom atm 3 ats 3 stc 1 stacktrace []"
	s.seed("HSET q:a"+ended, "HSET q:l"+ended+` opts {"x":"lifo","lifo":true}`, "HSET q:p"+ended+` priority 2 opts {"data":{"lifo":true}}`,
		"ZADD q:failed 1 a 2 l 3 p 4 ghost", "LPUSH q:wait w")
	codes, err := s.run.Reprocess(t.Context(), s.q, keys.Failed, []string{"a", "l", "p", "w", "ghost"}, false)
	require.NoError(t, err)
	require.Equal(t, []scripts.Code{0, 0, 0, scripts.WrongState, scripts.JobMissing}, codes)
	left := []string{"atm=3", "ats=3", "stc=1", "stacktrace=[]"}
	s.want(keyspace{
		"q:wait": "a w l", "q:prioritized": "p=8589934593", "q:pc": "1", "q:marker": "0=0", "q:meta": meta, "q:w": plain(),
		"q:a": plain(left...), "q:l": plain(append(left, `opts={"x":"lifo","lifo":true}`)...),
		"q:p":      plain(append(left, "priority=2", `opts={"data":{"lifo":true}}`)...),
		"q:events": events("waiting jobId=a prev=failed", "waiting jobId=l prev=failed", "waiting jobId=p prev=failed"),
	})
}

func TestReprocessCompletedAndReset(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a")
	s.seed("HSET q:a finishedOn 5 processedOn 4 returnvalue 1 failedReason old atm 3 ats 3", "ZADD q:completed 1 a")
	codes, err := s.run.Reprocess(t.Context(), s.q, keys.Completed, []string{"a"}, true)
	require.NoError(t, err)
	require.Equal(t, ok(1), codes)
	s.want(keyspace{
		"q:wait": "a", "q:marker": "0=0", "q:meta": meta, "q:a": plain("failedReason=old"), "q:events": "waiting jobId=a prev=completed",
	})
}

func TestReprocessAttachesToTheParent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from keys.State
		seed string
		want keyspace
	}{
		"failed the parent": {from: keys.Failed, seed: "ZADD q:p:unsuccessful 5 P:q:c", want: keyspace{"q:p:dependencies": "P:q:c"}},
		"was ignored":       {from: keys.Failed, seed: "HSET q:p:failed P:q:c reason", want: keyspace{"q:p:dependencies": "P:q:c"}},
		"was processed":     {from: keys.Completed, seed: "HSET q:p:processed P:q:c 1", want: keyspace{"q:p:dependencies": "P:q:c"}},
		"was pending":       {from: keys.Failed, seed: "SADD q:p:dependencies P:q:c", want: keyspace{"q:p:dependencies": "P:q:c"}},
		"was forgotten":     {from: keys.Failed, seed: "SADD q:p:dependencies P:q:other", want: keyspace{"q:p:dependencies": "P:q:other"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.job("p", "c")
			s.seed(test.seed, "HSET q:c parentKey P:q:p", "ZADD q:"+string(test.from)+" 5 c")
			_, err := s.run.Reprocess(t.Context(), s.q, test.from, []string{"c"}, false)
			require.NoError(t, err)
			s.want(keyspace{
				"q:wait": "c", "q:marker": "0=0", "q:meta": meta, "q:p": plain(), "q:c": plain("parentKey=P:q:p"),
				"q:events": "waiting jobId=c prev=" + string(test.from),
			}.with(test.want))
		})
	}
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a")
	ctx := t.Context()
	c, err := s.run.UpdateProgress(ctx, s.q, "a", `{"p":1}`)
	require.NoError(t, err)
	require.Equal(t, scripts.OK, c)
	c, err = s.run.UpdateData(ctx, s.q, "a", `[1.10]`)
	require.NoError(t, err)
	require.Equal(t, scripts.OK, c)
	for i, row := range []string{"one", "two", "three"} {
		kept, c, err := s.run.AddLog(ctx, s.q, "a", row, 2)
		require.NoError(t, err)
		require.Equal(t, scripts.OK, c)
		require.EqualValues(t, min(i+1, 2), kept)
	}
	s.want(keyspace{
		"q:a": plain("data=[1.10]", `progress={"p":1}`), "q:a:logs": "two three", "q:meta": meta,
		"q:events": `progress jobId=a data={"p":1}`,
	})
	require.NoError(t, s.run.ClearLogs(ctx, s.q, "a", 1))
	require.Equal(t, "three", s.dump()["q:a:logs"])
	require.NoError(t, s.run.ClearLogs(ctx, s.q, "a", 0))
	require.NotContains(t, s.dump(), "q:a:logs")
}

func TestUpdatesOfNobody(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	c, err := s.run.UpdateProgress(t.Context(), s.q, "a", "1")
	require.NoError(t, err)
	require.Equal(t, scripts.JobMissing, c)
	c, err = s.run.UpdateData(t.Context(), s.q, "a", "1")
	require.NoError(t, err)
	require.Equal(t, scripts.JobMissing, c)
	_, c, err = s.run.AddLog(t.Context(), s.q, "a", "row", 0)
	require.NoError(t, err)
	require.Equal(t, scripts.JobMissing, c)
	s.want(keyspace{})
}

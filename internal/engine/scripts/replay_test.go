package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// letterOf is the id of the dead letter of a job of the queue "q" that failed at t0.
func letterOf(id string) string { return "q." + id + "." + after(0) }

// bury fails active jobs for good, with a copy of each in the queue "dead".
func (s *space) bury(keep scripts.Keep, ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		f := failed(id)
		f.Keep = keep
		codes, _ := s.finish(scripts.FinishOptions{DeadLetter: "dead"}, f)
		require.Equal(s.t, ok(1), codes)
	}
}

// replay replays letters a second after they were written.
func (s *space) replay(letters ...string) []scripts.ReplayedLetter {
	s.t.Helper()
	out, err := s.run.Replay(s.t.Context(), s.queue("dead"), t0.Add(time.Second), letters)
	require.NoError(s.t, err)
	return out
}

// trace is the field by which a replayed job names its letter.
func trace(id string) string {
	return `replayedFrom={"queue":"dead","id":"` + letterOf(id) + `","at":` + after(1000) + "}"
}

// emptied is the dead-letter queue after its only letter was replayed.
func emptied(id string) keyspace {
	return keyspace{
		"dead:id": "1", "dead:marker": "0=0", "dead:meta": meta,
		"dead:events": events("added jobId="+letterOf(id)+" name=n", "waiting jobId="+letterOf(id), "removed jobId="+letterOf(id)+" prev=wait"),
	}
}

func TestReplayInPlace(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a")
	s.seed("HSET q:a atm 2 ats 3")
	s.bury(scripts.Keep{}, "a")
	require.Equal(t, []scripts.ReplayedLetter{{Code: scripts.OK, Queue: "q", ID: "a"}}, s.replay(letterOf("a")))
	s.want(emptied("a").with(keyspace{
		"q:wait": "a", "q:marker": "0=0", "q:meta": meta, "q:a": plain(`stacktrace=["x"]`, trace("a")),
		"q:events": events("failed jobId=a failedReason=boom prev=active", "retries-exhausted jobId=a attemptsMade=3", "drained", "waiting jobId=a prev=failed"),
	}))
	remembered := s.client.ZRangeWithScores(t.Context(), s.queue("dead").Replays(), 0, -1).Val()
	require.Len(t, remembered, 1)
	require.Equal(t, letterOf("a"), remembered[0].Member)
	require.InDelta(t, t0.UnixMilli()+1000, remembered[0].Score, 0)
}

func TestReplayAddsAgainWhatIsGone(t *testing.T) {
	t.Parallel()
	const opts = `{"attempts":3,"big":12345678901234567890,"tags":[],"backoff":{"type":"fixed","delay":5}}`
	tests := map[string]struct {
		id, opts string
		want     keyspace
	}{
		"own id":      {id: "a", opts: opts, want: keyspace{"q:wait": "a"}},
		"integer":     {id: "17", opts: opts, want: keyspace{"q:wait": "17"}},
		"colons":      {id: "repeat:s:17", opts: opts, want: keyspace{"q:wait": "repeat:s:17"}},
		"prioritized": {id: "a", opts: `{"priority":2}`, want: keyspace{"q:prioritized": "a=8589934593", "q:pc": "1"}},
		// The wait is over, and a job that is somebody else's duplicate now must not be lost.
		"delayed":      {id: "a", opts: `{"delay":3600000}`, want: keyspace{"q:wait": "a"}},
		"deduplicated": {id: "a", opts: `{"de":{"id":"d"}}`, want: keyspace{"q:wait": "a"}},
		"broken":       {id: "a", opts: `{"x":`, want: keyspace{"q:wait": "a"}},
		"empty list":   {id: "a", opts: `[]`, want: keyspace{"q:wait": "a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active(test.id)
			s.seed("HSET q:" + test.id + " opts " + test.opts)
			none := int64(0)
			s.bury(scripts.Keep{Count: &none}, test.id)
			require.Equal(t, []scripts.ReplayedLetter{{Code: scripts.AddedAgain, Queue: "q", ID: test.id}}, s.replay(letterOf(test.id)))
			stored, priority := test.opts, "priority=0"
			if name == "broken" {
				stored = "{}"
			}
			if name == "prioritized" {
				priority = "priority=2"
			}
			s.want(emptied(test.id).with(keyspace{
				"q:id": "1", "q:marker": "0=0", "q:meta": meta,
				"q:" + test.id: plain("opts="+stored, "timestamp="+after(1000), priority, `stacktrace=["x"]`, trace(test.id)),
				"q:events": events("failed jobId="+test.id+" failedReason=boom prev=active", "retries-exhausted jobId="+test.id+" attemptsMade=1", "drained",
					"added jobId="+test.id+" name=n", "waiting jobId="+test.id),
			}).with(test.want))
		})
	}
}

func TestReplayIsOnce(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a")
	s.bury(scripts.Keep{}, "a")
	s.replay(letterOf("a"))
	before := s.dump()
	require.Equal(t, []scripts.ReplayedLetter{{Code: scripts.Replayed}, {Code: scripts.JobMissing}}, s.replay(letterOf("a"), letterOf("b")))
	s.want(before)
}

func TestReplayLeavesAlone(t *testing.T) {
	t.Parallel()
	letter := letterOf("a")
	tests := map[string]struct {
		seed []string
		want scripts.ReplayedLetter
	}{
		"waiting": {
			seed: []string{"ZREM q:failed a", "LPUSH q:wait a"},
			want: scripts.ReplayedLetter{Code: scripts.WrongState, State: keys.Waiting, Queue: "q", ID: "a"},
		},
		"active": {
			seed: []string{"ZREM q:failed a", "LPUSH q:active a"},
			want: scripts.ReplayedLetter{Code: scripts.WrongState, State: keys.Active, Queue: "q", ID: "a"},
		},
		"completed": {
			seed: []string{"ZREM q:failed a", "ZADD q:completed 1 a"},
			want: scripts.ReplayedLetter{Code: scripts.WrongState, State: keys.Completed, Queue: "q", ID: "a"},
		},
		"delayed": {
			seed: []string{"ZREM q:failed a", "ZADD q:delayed 1 a"},
			want: scripts.ReplayedLetter{Code: scripts.WrongState, State: keys.Delayed, Queue: "q", ID: "a"},
		},
		"in no state": {
			seed: []string{"ZREM q:failed a"},
			want: scripts.ReplayedLetter{Code: scripts.WrongState, State: keys.Unknown, Queue: "q", ID: "a"},
		},
		"letter held": {
			seed: []string{"LREM dead:wait 1 " + letter, "LPUSH dead:active " + letter, "SET dead:" + letter + ":lock tok"},
			want: scripts.ReplayedLetter{Code: scripts.Locked, Queue: "q", ID: "a"},
		},
		"no letter": {
			seed: []string{"HSET dead:" + letter + " opts {}"},
			want: scripts.ReplayedLetter{Code: scripts.NotDeadLetter},
		},
		"letter of a reserved id": {
			seed: []string{`HSET dead:` + letter + ` opts {"deadLetter":{"queue":"q","id":"pc"}}`},
			want: scripts.ReplayedLetter{Code: scripts.NotDeadLetter},
		},
		"letter of a queue that cannot be": {
			seed: []string{`HSET dead:` + letter + ` opts {"deadLetter":{"queue":"q:x","id":"a"}}`},
			want: scripts.ReplayedLetter{Code: scripts.NotDeadLetter},
		},
		"damaged": {
			seed: []string{"DEL q:failed", "SET q:failed x"},
			want: scripts.ReplayedLetter{Code: scripts.Broken},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active("a", "b")
			s.bury(scripts.Keep{}, "a")
			s.seed(test.seed...)
			before := s.dump()
			require.Equal(t, []scripts.ReplayedLetter{test.want}, s.replay(letter))
			s.want(before)
		})
	}
}

func TestReplayFindsLettersWhereverTheyAre(t *testing.T) {
	t.Parallel()
	for from, key := range map[string]string{"ZADD dead:failed 1 ": "failed", "ZADD dead:completed 1 ": "completed", "ZADD dead:delayed 1 ": "delayed", "LPUSH dead:paused ": "paused"} {
		s := newSpace(t)
		s.active("a")
		s.bury(scripts.Keep{}, "a")
		s.seed("DEL dead:wait", from+letterOf("a"))
		require.Equal(t, scripts.OK, s.replay(letterOf("a"))[0].Code)
		got := s.dump()
		require.NotContains(t, got, "dead:"+key)
		require.NotContains(t, got, "dead:"+letterOf("a"))
		require.Contains(t, got["dead:events"], "prev="+key)
	}
}

func TestReplayedChildIsPendingAgain(t *testing.T) {
	t.Parallel()
	none := int64(0)
	for name, keep := range map[string]scripts.Keep{"in place": {}, "gone": {Count: &none}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active("a")
			s.job("p")
			s.seed("ZADD q:waiting-children 1 p", "SADD q:p:dependencies P:q:a",
				`HSET q:a parentKey P:q:p parent {"id":"p","queueKey":"P:q","fpof":true}`,
				`HSET q:a opts {"parent":{"id":"p","queue":"P:q"},"fpof":true}`)
			s.bury(keep, "a")
			require.NotContains(t, s.dump(), "q:p:dependencies")
			s.replay(letterOf("a"))
			got := s.dump()
			require.Equal(t, "P:q:a", got["q:p:dependencies"])
			require.NotContains(t, got, "q:p:unsuccessful")
			child := s.client.HGetAll(t.Context(), s.q.Job("a")).Val()
			require.Equal(t, s.q.Job("p"), child["parentKey"])
			require.JSONEq(t, s.full(`{"id":"p","queueKey":"P:q","fpof":true}`), child["parent"])
		})
	}
}

func TestReplayRemembersALimitedNumber(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	traces := s.queue("dead").Replays()
	require.NoError(t, s.client.Eval(t.Context(), `for i = 1, 10005 do redis.call("ZADD", KEYS[1], i, i) end return 1`, []string{traces}).Err())
	s.replay("nobody")
	require.Equal(t, int64(10000), s.client.ZCard(t.Context(), traces).Val())
	require.Equal(t, "6", s.client.ZRange(t.Context(), traces, 0, 0).Val()[0], "the oldest go")
}

// TestReplayWithoutPermissionChangesNothing lacks the one for the key that remembers replays, which is not the queue's.
func TestReplayWithoutPermissionChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a")
	s.bury(scripts.Keep{}, "a")
	before := s.dump()
	require.NoError(t, s.client.ACLSetUser(t.Context(), s.q.Prefix, "on", "nopass", "~"+s.q.Prefix+":*", "+@all").Err())
	o := server.Options()
	o.Username, o.Password = s.q.Prefix, "x"
	limited := redis.NewClient(o)
	t.Cleanup(func() { _ = limited.Close() })
	_, err := scripts.New(limited).Replay(t.Context(), s.queue("dead"), t0, []string{letterOf("a")})
	require.Error(t, err)
	s.want(before)
}

func TestReplayManyInChunks(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	var ids, letters []string
	for i := range 450 {
		ids = append(ids, "j"+after(int64(i)))
		letters = append(letters, letterOf(ids[i]))
	}
	s.active(ids...)
	s.bury(scripts.Keep{}, ids...)
	for i, r := range s.replay(letters...) {
		require.Equal(t, scripts.ReplayedLetter{Code: scripts.OK, Queue: "q", ID: ids[i]}, r)
	}
	require.Zero(t, s.client.LLen(t.Context(), s.queue("dead").Wait()).Val())
	require.Equal(t, int64(450), s.client.LLen(t.Context(), s.q.Wait()).Val())
}

package scripts_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func (s *space) remove(children bool, ids ...string) []scripts.Code {
	s.t.Helper()
	codes, err := s.run.Remove(s.t.Context(), s.q, ids, children)
	require.NoError(s.t, err)
	return codes
}

func TestRemoveFromEveryState(t *testing.T) {
	t.Parallel()
	for where, prev := range map[string]string{
		"LPUSH q:wait a": "wait", "LPUSH q:paused a": "paused", "LPUSH q:active a": "active", "ZADD q:delayed 1 a": "delayed",
		"ZADD q:prioritized 1 a": "prioritized", "ZADD q:completed 1 a": "completed", "ZADD q:failed 1 a": "failed",
		"ZADD q:waiting-children 1 a": "waiting-children", "SADD q:stalled x": "unknown",
	} {
		t.Run(prev, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.job("a")
			s.seed(where, "RPUSH q:a:logs row", "HSET q:a deid d", "SET q:de:d a", "HSET q:dn:d name n",
				"HSET q:a:processed P:q:gone 1", "SADD q:a:dependencies P:q:gone", "HSET q:a:failed P:q:gone x", "ZADD q:a:unsuccessful 1 P:q:gone")
			require.Equal(t, ok(1), s.remove(false, "a"))
			want := keyspace{"q:meta": meta, "q:events": "removed jobId=a prev=" + prev}
			if prev == "unknown" {
				want["q:stalled"] = "x"
			}
			s.want(want)
		})
	}
}

// TestRemoveFromOneState: what has moved on stays.
func TestRemoveFromOneState(t *testing.T) {
	t.Parallel()
	homes := map[keys.State]string{
		keys.Waiting: "LPUSH q:wait a", keys.Active: "LPUSH q:active a", keys.Delayed: "ZADD q:delayed 1 a",
		keys.Prioritized: "ZADD q:prioritized 1 a", keys.Completed: "ZADD q:completed 1 a", keys.Failed: "ZADD q:failed 1 a",
		keys.WaitingChildren: "ZADD q:waiting-children 1 a",
	}
	for is, home := range homes {
		s := newSpace(t)
		s.job("a")
		s.seed(home)
		before := s.dump()
		for asked := range homes {
			if asked == is {
				continue
			}
			codes, err := s.run.RemoveFrom(t.Context(), s.q, asked, []string{"a", "nobody"}, true)
			require.NoError(t, err)
			require.Equal(t, []scripts.Code{scripts.WrongState, scripts.WrongState}, codes, "%s asked as %s", is, asked)
		}
		s.want(before)
		codes, err := s.run.RemoveFrom(t.Context(), s.q, is, []string{"a"}, true)
		require.NoError(t, err)
		require.Equal(t, ok(1), codes, is)
	}
	s := newSpace(t)
	s.job("held")
	s.seed("LPUSH q:paused held")
	codes, err := s.run.RemoveFrom(t.Context(), s.q, keys.Waiting, []string{"held"}, false)
	require.NoError(t, err)
	require.Equal(t, ok(1), codes, "the list of BullMQ 5 for paused queues is waiting too")
}

func TestRemoveRefusals(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("held")
	s.job("repeat:s:5", "old", "free")
	s.seed("HSET q:repeat:s:5 rjk s", "ZADD q:repeat 5 s", "ZADD q:delayed 1 repeat:s:5", "HSET q:old rjk s", "LPUSH q:wait free old",
		"HSET q:free deid d", "SET q:de:d other")
	require.Equal(t, []scripts.Code{scripts.Locked, scripts.SchedulerOwned, scripts.OK, scripts.OK, scripts.OK},
		s.remove(true, "held", "repeat:s:5", "old", "nobody", "free"))
	s.want(keyspace{
		"q:held": plain(), "q:held:lock": "tok~", "q:active": "held", "q:repeat:s:5": plain("rjk=s"), "q:repeat": "s=5",
		"q:delayed": "repeat:s:5=1", "q:de:d": "other", "q:meta": meta,
		"q:events": events("removed jobId=old prev=wait", "removed jobId=free prev=wait"),
	})
}

func TestRemoveLastChildReleasesTheParent(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("p", "c")
	s.seed(`HSET q:c parentKey P:q:p parent {"id":"p","queueKey":"P:q"}`, "SADD q:p:dependencies P:q:c",
		"ZADD q:waiting-children 1 p", "LPUSH q:wait c")
	require.Equal(t, ok(1), s.remove(true, "c"))
	s.want(keyspace{
		"q:p": plain(), "q:wait": "p", "q:marker": "0=0", "q:meta": meta,
		"q:events": events("waiting jobId=p prev=waiting-children", "removed jobId=c prev=wait"),
	})
}

func TestRemoveLastChildOfAParentWithColons(t *testing.T) {
	t.Parallel()
	for _, parent := range []string{`{"id":"a:b:c","queueKey":"P:q"}`, "not-json"} {
		t.Run(parent, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.job("a:b:c", "x")
			s.seed("HSET q:x parentKey P:q:a:b:c parent "+parent, "SADD q:a:b:c:dependencies P:q:x",
				"ZADD q:waiting-children 1 a:b:c", "LPUSH q:wait x", "HSET q:meta version v")
			s.remove(true, "x")
			require.Equal(t, "a:b:c", s.dump()["q:wait"])
		})
	}
}

// family writes a parent p with children of every outcome, one of them, done, with a child of its own, and one in
// another queue.
func family(s *space) {
	s.job("p", "done", "ignored", "bad", "todo", "deep")
	s.seed("HSET o:far name n", "HSET o:meta version v", "HSET q:meta version v",
		"HSET q:p:processed P:q:done 1", "HSET q:p:failed P:q:ignored why", "ZADD q:p:unsuccessful 1 P:q:bad",
		"SADD q:p:dependencies P:q:todo P:o:far", "SADD q:done:dependencies P:q:deep",
		"ZADD q:waiting-children 1 p", "ZADD q:completed 1 done", "ZADD q:failed 1 ignored 2 bad", "LPUSH q:wait todo", "LPUSH o:wait far",
		"ZADD q:delayed 1 deep")
}

func TestRemoveWithChildren(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	family(s)
	require.Equal(t, ok(1), s.remove(true, "p"))
	got := s.dump()
	require.ElementsMatch(t, []string{"q:meta", "q:events", "o:meta", "o:events", "q:marker"}, keysOf(got), "%v", got)
}

func keysOf(k keyspace) []string {
	var out []string
	for key := range k {
		out = append(out, key)
	}
	return out
}

// TestRemoveWithChildrenInSmallScripts takes few roots at a time: nobody knows how many jobs are below them.
func TestRemoveWithChildrenInSmallScripts(t *testing.T) {
	t.Parallel()
	for children, want := range map[bool]int{true: 3, false: 1} {
		s := newSpace(t)
		ids := make([]string, 60)
		for i := range ids {
			ids[i] = strconv.Itoa(i)
		}
		s.job(ids...)
		sent := 0
		s.client.AddHook(commandHook(func(cmd redis.Cmder) {
			if cmd.Name() == "evalsha" {
				sent++
			}
		}))
		require.Equal(t, ok(60), s.remove(children, ids...))
		require.Equal(t, want, sent)
		require.Equal(t, []string{"q:events", "q:meta"}, slices.Sorted(maps.Keys(s.dump())))
	}
}

func TestRemoveRefusedByALockBelow(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	family(s)
	s.seed("SET o:far:lock x")
	before := s.dump()
	require.Equal(t, []scripts.Code{scripts.Locked}, s.remove(true, "p"))
	s.want(before)
	require.Equal(t, ok(1), s.remove(false, "p"), "without its children it may go")
}

func TestRemoveRing(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "b")
	s.seed("SADD q:a:dependencies P:q:b", "SADD q:b:dependencies P:q:a", "LPUSH q:wait a b", "HSET q:meta version v")
	require.Equal(t, ok(1), s.remove(true, "a"))
	require.NotContains(t, s.dump(), "q:b")
}

func TestRemoveUnprocessedChildren(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	family(s)
	s.job("held", "failed-once")
	s.seed("SADD q:p:dependencies P:q:held P:q:failed-once", "SET q:held:lock x", "ZADD q:failed 3 failed-once")
	before := s.dump()
	require.NoError(t, s.run.RemoveUnprocessedChildren(t.Context(), s.q, "p"))
	s.want(before.with(keyspace{
		"q:todo": "", "o:far": "", "q:wait": "", "o:wait": "", "q:p:dependencies": "P:q:failed-once P:q:held",
		"q:meta": meta + " version=v", "o:meta": meta + " version=v",
		"q:events": "removed jobId=todo prev=wait", "o:events": "removed jobId=far prev=wait",
	}))
}

func TestRemoveChildDependency(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("p", "c", "free")
	s.seed(`HSET q:c parentKey P:q:p parent {"id":"p","queueKey":"P:q"}`, "SADD q:p:dependencies P:q:c", "ZADD q:waiting-children 1 p")
	take := func(id, parent string) scripts.Code {
		c, err := s.run.RemoveChildDependency(t.Context(), s.q, id, s.full("P:q:"+parent))
		require.NoError(t, err)
		return c
	}
	require.Equal(t, scripts.JobMissing, take("nobody", "p"))
	require.Equal(t, scripts.ParentMissing, take("c", "nobody"))
	require.Equal(t, scripts.NotMoved, take("free", "p"))
	require.Equal(t, scripts.OK, take("c", "p"))
	s.want(keyspace{
		"q:p": plain(), "q:c": plain(), "q:free": plain(), "q:wait": "p", "q:marker": "0=0",
		"q:events": "waiting jobId=p prev=waiting-children",
	})
}

func TestDrain(t *testing.T) {
	t.Parallel()
	fill := func(s *space) {
		s.job("a", "b", "l", "p", "d", "repeat:s:5", "repeat:t:6", "act", "end")
		s.seed("RPUSH q:wait a repeat:s:5 b", "RPUSH q:paused l", "ZADD q:prioritized 1 p 2 repeat:t:6", "ZADD q:delayed 1 d",
			"HSET q:repeat:s:5 rjk s", "HSET q:repeat:t:6 rjk t", "ZADD q:repeat 5 s 6 t", "LPUSH q:active act", "ZADD q:completed 1 end",
			"RPUSH q:a:logs row", "HSET q:p deid x", "SET q:de:x p")
	}
	kept := keyspace{
		"q:wait": "repeat:s:5", "q:prioritized": "repeat:t:6=2", "q:repeat": "s=5 t=6", "q:repeat:s:5": plain("rjk=s"),
		"q:repeat:t:6": plain("rjk=t"), "q:active": "act", "q:act": plain(), "q:completed": "end=1", "q:end": plain(),
	}
	for _, delayed := range []bool{false, true} {
		s := newSpace(t)
		fill(s)
		require.NoError(t, s.run.Drain(t.Context(), s.q, delayed))
		want := kept
		if !delayed {
			want = want.with(keyspace{"q:delayed": "d=1", "q:d": plain()})
		}
		s.want(want)
	}
}

func TestDrainThousands(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	jobs := make([]scripts.NewJob, 2500)
	for i := range jobs {
		jobs[i] = plainJob("")
	}
	s.add(jobs...)
	require.NoError(t, s.run.Drain(t.Context(), s.q, false))
	require.ElementsMatch(t, []string{"q:id", "q:meta", "q:events", "q:marker"}, keysOf(s.dump()))
}

func TestDrainTakesWaitingParentsOfTheSameQueueAlong(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("p", "c", "d")
	s.seed(`HSET q:c parentKey P:q:p parent {"id":"p","queueKey":"P:q"}`, "SADD q:p:dependencies P:q:c", "ZADD q:waiting-children 1 p",
		"HSET o:far name n", `HSET q:d parentKey P:o:far parent {"id":"far","queueKey":"P:o"}`, "SADD o:far:dependencies P:q:d",
		"ZADD o:waiting-children 1 far", "RPUSH q:wait c d")
	require.NoError(t, s.run.Drain(t.Context(), s.q, false))
	s.want(keyspace{"o:far": "name=n", "o:wait": "far", "o:marker": "0=0"})
}

func TestDrainJobs(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "b", "new", "l", "d", "repeat:s:5", "p", "c", "far")
	s.seed("RPUSH q:wait new a repeat:s:5 b c", "RPUSH q:paused l", "ZADD q:delayed 1 d", "HSET q:repeat:s:5 rjk s", "ZADD q:repeat 5 s",
		"RPUSH q:a:logs row", "HSET q:a deid x", "SET q:de:x a",
		`HSET q:c parentKey P:q:p parent {"id":"p","queueKey":"P:q"}`, "SADD q:p:dependencies P:q:c", "ZADD q:waiting-children 1 p",
		`HSET q:d parentKey P:q:far parent {"id":"far","queueKey":"P:q"}`, "SADD q:far:dependencies P:q:d P:q:more", "ZADD q:waiting-children 2 far")
	codes, err := s.run.DrainJobs(t.Context(), s.q, keys.Waiting, []string{"a", "repeat:s:5", "b", "l", "d", "none", "c"})
	require.NoError(t, err)
	require.Equal(t, []scripts.Code{scripts.OK, scripts.SchedulerOwned, scripts.OK, scripts.OK, scripts.WrongState, scripts.WrongState, scripts.OK}, codes)
	codes, err = s.run.DrainJobs(t.Context(), s.q, keys.Delayed, []string{"d"})
	require.NoError(t, err)
	require.Equal(t, ok(1), codes)
	s.want(keyspace{
		"q:wait": "new repeat:s:5", "q:new": plain(), "q:repeat:s:5": plain("rjk=s"), "q:repeat": "s=5",
		"q:far": plain(), "q:far:dependencies": "P:q:more", "q:waiting-children": "far=2",
	})
}

func (s *space) clean(state keys.State, before time.Time, limit int) []string {
	s.t.Helper()
	ids, err := s.run.Clean(s.t.Context(), s.q, state, before, limit)
	require.NoError(s.t, err)
	return ids
}

func TestClean(t *testing.T) {
	t.Parallel()
	old := t0.Add(time.Hour)
	tests := map[string]struct {
		seed   []string
		state  keys.State
		before time.Time
		limit  int
		gone   []string
	}{
		"waiting, oldest first":           {seed: []string{"RPUSH q:wait e d c b a"}, state: keys.Waiting, limit: 2, gone: []string{"b", "a"}},
		"waiting, no limit":               {seed: []string{"RPUSH q:wait e d c b a"}, state: keys.Waiting, gone: []string{"e", "d", "c", "b", "a"}},
		"waiting, also the paused list":   {seed: []string{"RPUSH q:wait b a", "RPUSH q:paused c"}, state: keys.Waiting, limit: 2, gone: []string{"c", "a"}},
		"waiting, too young":              {seed: []string{"RPUSH q:wait b a"}, state: keys.Waiting, before: t0.Add(-time.Second)},
		"waiting, the young ones skipped": {seed: []string{"RPUSH q:wait c b a", "HSET q:a timestamp " + after(9e6)}, state: keys.Waiting, limit: 1, gone: []string{"b"}},
		"waiting, processed counts":       {seed: []string{"RPUSH q:wait b a", "HSET q:a processedOn " + after(9e6)}, state: keys.Waiting, gone: []string{"b"}},
		"delayed, the nearest":            {seed: []string{"ZADD q:delayed 1 a 2 b 3 c"}, state: keys.Delayed, limit: 2, gone: []string{"a", "b"}},
		"delayed, by creation time":       {seed: []string{"ZADD q:delayed 1 a 2 b", "HSET q:a timestamp " + after(9e6)}, state: keys.Delayed, gone: []string{"b"}},
		"prioritized, the best":           {seed: []string{"ZADD q:prioritized 1 a 2 b 3 c"}, state: keys.Prioritized, limit: 2, gone: []string{"a", "b"}},
		"completed, by the end":           {seed: []string{"ZADD q:completed " + after(-1) + " a " + after(0) + " b " + after(9e6) + " c"}, state: keys.Completed, gone: []string{"a", "b"}},
		"failed, limit":                   {seed: []string{"ZADD q:failed 1 a 2 b 3 c"}, state: keys.Failed, limit: 1, gone: []string{"a"}},
		"waiting for children":            {seed: []string{"ZADD q:waiting-children 1 a"}, state: keys.WaitingChildren, gone: []string{"a"}},
		"active, only without a lock":     {seed: []string{"RPUSH q:active b a", "SET q:a:lock tok"}, state: keys.Active, gone: []string{"b"}},
		"current iteration of a scheduler": {
			seed:  []string{"HSET q:repeat:s:5 rjk s name n", "ZADD q:repeat 5 s", "ZADD q:delayed 1 repeat:s:5 2 a"},
			state: keys.Delayed, gone: []string{"a"},
		},
		"no such state": {seed: []string{"RPUSH q:wait a"}, state: "nonsense"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.job("a", "b", "c", "d", "e")
			s.seed(test.seed...)
			if test.before.IsZero() {
				test.before = old
			}
			require.Equal(t, test.gone, s.clean(test.state, test.before, test.limit))
			got := s.dump()
			for _, id := range []string{"a", "b", "c", "d", "e"} {
				require.Equal(t, contains(test.gone, id), got["q:"+id] == "", id)
			}
			require.Equal(t, test.state != "nonsense", got["q:events"] != "", "one event, also for nothing")
		})
	}
}

func TestCleanLeavesTheOrderOfTheRest(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "b", "c", "d", "e")
	s.seed("RPUSH q:wait e d c b a", "HSET q:a timestamp "+after(9e6), "HSET q:c timestamp "+after(9e6))
	require.Equal(t, []string{"d", "b"}, s.clean(keys.Waiting, t0, 2))
	got := s.dump()
	require.Equal(t, "e c a", got["q:wait"])
	require.Equal(t, "cleaned count=2", got["q:events"])
}

func TestCleanFindsOldJobsBehindManyYoungOnes(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	jobs := make([]scripts.NewJob, 2500)
	for i := range jobs {
		jobs[i] = plainJob(fmt.Sprintf("j%d", i))
		if i < 2000 {
			jobs[i].Timestamp = t0.Add(time.Hour)
		}
	}
	s.add(jobs...)
	require.Len(t, s.clean(keys.Waiting, t0, 0), 500)
	require.EqualValues(t, 2000, s.client.LLen(t.Context(), s.q.Wait()).Val())
}

func TestObliterate(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	fill := func() {
		s.job("w", "l", "act", "d", "p", "c", "f", "wc", "repeat:s:5")
		s.seed("HSET q:repeat:s name n ic 1", "ZADD q:repeat 5 s", "ZADD q:delayed 1 d 2 repeat:s:5", "LPUSH q:wait w", "LPUSH q:paused l",
			"LPUSH q:active act", "SET q:act:lock tok", "ZADD q:prioritized 1 p", "ZADD q:completed 1 c", "ZADD q:failed 1 f",
			"ZADD q:waiting-children 1 wc", "SADD q:wc:dependencies P:q:gone", "RPUSH q:w:logs row", "HSET q:w deid x", "SET q:de:x w",
			"SET q:limiter 1", "SET q:id 9", "SET q:pc 9", "SADD q:stalled act", "SET q:stalled-check 1", "ZADD q:marker 0 0",
			"XADD q:events * event x", "HSET q:metrics:completed count 1", "LPUSH q:metrics:completed:data 1")
	}
	fill()
	before := s.dump()
	obliterate := func(force bool) scripts.Code {
		c, err := s.run.Obliterate(t.Context(), s.q, force)
		require.NoError(t, err)
		return c
	}
	require.Equal(t, scripts.NotPaused, obliterate(true))
	s.want(before)
	s.seed("HSET q:meta paused 1")
	require.Equal(t, scripts.HasActive, obliterate(false))
	s.want(before.with(keyspace{"q:meta": "paused=1"}))
	require.Equal(t, scripts.OK, obliterate(true))
	s.want(keyspace{})
}

func TestObliterateSome(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	jobs := make([]scripts.NewJob, 25)
	for i := range jobs {
		jobs[i] = plainJob("")
	}
	s.add(jobs...)
	s.seed("HSET q:meta paused 1")
	for _, want := range []int64{10, 10, 5} {
		deleted, more, c, err := s.run.ObliterateSome(t.Context(), s.q, false, 10)
		require.NoError(t, err)
		require.Equal(t, scripts.OK, c)
		require.Equal(t, want, deleted)
		require.Equal(t, want == 10, more)
	}
	s.want(keyspace{})
}

func TestObliterateThousandsAndDamagedJobs(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	jobs := make([]scripts.NewJob, 2500)
	for i := range jobs {
		jobs[i] = plainJob("")
	}
	s.add(jobs...)
	s.seed("HSET q:meta paused 1", "LPUSH q:wait bad", "SET q:bad x")
	c, err := s.run.Obliterate(t.Context(), s.q, false)
	require.NoError(t, err)
	require.Equal(t, scripts.OK, c)
	s.want(keyspace{})
}

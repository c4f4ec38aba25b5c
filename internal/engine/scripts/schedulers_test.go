package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

const interval = 10 * time.Second

// slot is a time of t0's day in seconds from t0, which is a multiple of ten seconds.
func slot(seconds int64) string { return after(seconds * 1000) }

func every(d time.Duration) scripts.Schedule {
	return scripts.Schedule{
		ID: "s", Every: d, Record: []string{"name", "tick", "every", after(d.Milliseconds() - t0.UnixMilli())},
		Job: scripts.Iteration{Name: "tick", Data: `{"x":1}`, Opts: `{"repeat":{"count":1}}`},
	}
}

func pattern(next time.Time) scripts.Schedule {
	s := every(0)
	s.Next, s.Record = next, []string{"name", "tick", "pattern", "*"}
	return s
}

func (s *space) upsert(now time.Time, sched scripts.Schedule) (string, scripts.Code) {
	s.t.Helper()
	id, _, code, err := s.run.UpsertScheduler(s.t.Context(), s.q, now, sched)
	require.NoError(s.t, err)
	return id, code
}

func TestUpsertIntervalScheduler(t *testing.T) {
	t.Parallel()
	now := t0.Add(3 * time.Second)
	offset := 4 * time.Second
	tests := map[string]struct {
		change func(*scripts.Schedule)
		first  string // of seconds after t0
		offset string
		due    bool
	}{
		"at once":                        {change: func(*scripts.Schedule) {}, first: slot(3), offset: "3000", due: true},
		"with an offset still to come":   {change: func(s *scripts.Schedule) { s.Offset = &offset }, first: slot(4), offset: "4000"},
		"with an offset that has passed": {change: func(s *scripts.Schedule) { s.Offset = ptr(2 * time.Second) }, first: slot(12), offset: "2000"},
		"with a start date":              {change: func(s *scripts.Schedule) { s.Start = t0.Add(25 * time.Second) }, first: slot(25), offset: "5000"},
		"with a start date gone by":      {change: func(s *scripts.Schedule) { s.Start = t0 }, first: slot(3), offset: "3000", due: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			sched := every(interval)
			test.change(&sched)
			id, code := s.upsert(now, sched)
			require.Equal(t, scripts.OK, code)
			require.Equal(t, "repeat:s:"+test.first, id)
			got := s.dump()
			require.Equal(t, "s="+test.first, got["q:repeat"])
			require.Equal(t, "every=10000 ic=1 name=tick offset="+test.offset, got["q:repeat:s"])
			require.Equal(t, test.due, got["q:wait"] == id)
			require.Equal(t, !test.due, got["q:delayed"] != "")
		})
	}
}

func TestUpsertStoresTheJob(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	sched := pattern(t0.Add(interval))
	sched.Job.Priority, sched.Job.DedupID = 2, "d"
	id, _ := s.upsert(t0, sched)
	s.want(keyspace{
		"q:id": "1", "q:meta": meta, "q:repeat": "s=" + slot(10), "q:repeat:s": "ic=1 name=tick offset=0 pattern=*",
		"q:delayed": id + "=" + due(10_000, 0), "q:marker": "1=" + slot(10),
		"q:" + id: plain("name=tick", `data={"x":1}`, "delay=10000", "priority=2", "rjk=s", "deid=d",
			`opts={"jobId":"`+id+`","delay":10000,"repeat":{"count":1}}`),
		"q:events": events("added jobId="+id+" name=tick", "delayed jobId="+id+" delay="+slot(10)),
	})
}

func TestUpsertAgain(t *testing.T) {
	t.Parallel()
	now := t0.Add(13 * time.Second)
	waiting := []string{"ZREM q:delayed repeat:s:" + slot(10), "LPUSH q:wait repeat:s:" + slot(10)}
	taken := []string{"ZREM q:delayed repeat:s:" + slot(10), "LPUSH q:active repeat:s:" + slot(10)}
	tests := map[string]struct {
		before scripts.Schedule
		seed   []string
		again  scripts.Schedule
		code   scripts.Code
		next   string
		gone   bool // the pending job of before
	}{
		"delayed, same interval": {before: every(interval), again: every(interval), next: slot(10)},
		"waiting, same interval": {before: every(interval), seed: waiting, again: every(interval), next: slot(10)},
		"waiting in a paused queue": {
			before: every(interval), seed: append(waiting, "HSET q:meta paused 1"), again: every(interval), next: slot(10),
		},
		"active, same interval":        {before: every(interval), seed: taken, again: every(interval), next: slot(20)},
		"other interval, from now":     {before: every(interval), again: every(7 * time.Second), next: slot(13), gone: true},
		"interval instead of pattern":  {before: pattern(t0.Add(interval)), again: every(interval), next: slot(13), gone: true},
		"pattern, other time":          {before: pattern(t0.Add(interval)), again: pattern(t0.Add(50 * time.Second)), next: slot(50), gone: true},
		"pattern, same time":           {before: pattern(t0.Add(interval)), again: pattern(t0.Add(interval)), next: slot(10)},
		"pattern, active at that time": {before: pattern(t0.Add(interval)), seed: taken, again: pattern(t0.Add(interval)), code: scripts.SchedulerConflict},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			if test.before.Every > 0 {
				test.before.Start = t0.Add(interval)
			}
			first, _ := s.upsert(t0, test.before)
			s.seed(test.seed...)
			s.seed("HSET q:repeat:s ic 5")
			before := s.dump()
			test.again.Job.Data = `{"new":1}`
			id, code := s.upsert(now, test.again)
			require.Equal(t, test.code, code)
			if code != scripts.OK {
				s.want(before)
				return
			}
			require.Equal(t, "repeat:s:"+test.next, id)
			got := s.dump()
			require.Equal(t, "s="+test.next, got["q:repeat"])
			require.Contains(t, got["q:repeat:s"], "ic=5", "the iteration counter stays")
			require.Contains(t, got["q:"+id], `data={"new":1}`)
			require.Equal(t, test.gone, got["q:"+first] == "")
			where, err := s.run.States(t.Context(), s.q, []string{id})
			require.NoError(t, err)
			require.NotEqual(t, "unknown", string(where[0]))
		})
	}
}

func TestUpsertSkipsTakenSlots(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("repeat:s:"+slot(0), "repeat:s:"+slot(10))
	id, _ := s.upsert(t0, every(interval))
	require.Equal(t, "repeat:s:"+slot(20), id)

	s = newSpace(t)
	for i := range int64(33) {
		s.job("repeat:s:" + slot(i*10))
	}
	before := s.dump()
	_, code := s.upsert(t0, every(interval))
	require.Equal(t, scripts.SchedulerBusy, code)
	s.want(before)
}

func TestUpsertOverAFinishedJob(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.upsert(t0, pattern(t0.Add(interval)))
	id := "repeat:s:" + slot(50)
	s.job(id)
	s.seed("ZADD q:completed 1 "+id, "RPUSH q:"+id+":logs row")
	_, code := s.upsert(t0, pattern(t0.Add(50*time.Second)))
	require.Equal(t, scripts.OK, code)
	got := s.dump()
	require.NotContains(t, got, "q:completed", "an id is in one state only")
	require.NotContains(t, got, "q:"+id+":logs")
	require.Equal(t, id+"="+due(50_000, 0), got["q:delayed"])
}

// TestUpsertLeavesAJobThatHasNotEnded keeps the job that runs, or waits, under the id of the next one: it was made ready
// by hand, and its successor is pending.
func TestUpsertLeavesAJobThatHasNotEnded(t *testing.T) {
	t.Parallel()
	id := "repeat:s:" + slot(10)
	for name, place := range map[string]string{"active": "LPUSH q:active ", "waiting": "LPUSH q:wait ", "in no state": "DEL q:other "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.upsert(t0, pattern(t0.Add(interval)))
			s.seed("ZREM q:delayed "+id, place+id)
			require.NotEmpty(t, s.next(t0, scripts.Firing{JobID: id, Next: t0.Add(2 * interval)}))
			before := s.dump()
			_, code := s.upsert(t0, pattern(t0.Add(interval)))
			require.Equal(t, scripts.SchedulerConflict, code)
			s.want(before)
		})
	}
}

func (s *space) next(now time.Time, f scripts.Firing) string {
	s.t.Helper()
	f.SchedulerID, f.Job.Opts = "s", `{"repeat":{"count":2}}`
	if f.Job.Name == "" {
		f.Job.Name, f.Job.Data = "taken", `{"taken":1}`
	}
	id, err := s.run.NextIteration(s.t.Context(), s.q, now, f)
	require.NoError(s.t, err)
	return id
}

func TestNextIteration(t *testing.T) {
	t.Parallel()
	current := "repeat:s:" + slot(0)
	record := "HSET q:repeat:s name tick ic 1 every 10000 offset 3000"
	tests := map[string]struct {
		seed   []string
		now    int64 // seconds after t0
		firing scripts.Firing
		next   string
		job    string // what is stored of it, besides its times
	}{
		"interval":                  {seed: []string{record}, now: 2, next: slot(10), job: "tick {}"},
		"interval, just in time":    {seed: []string{record}, now: 10, next: slot(10), job: "tick {}"},
		"interval, missed some":     {seed: []string{record}, now: 256, next: slot(263), job: "tick {}"},
		"interval of the job":       {seed: []string{"HSET q:repeat:s name tick ic 1"}, firing: scripts.Firing{Every: interval}, next: slot(10), job: "tick {}"},
		"pattern":                   {seed: []string{"HSET q:repeat:s name tick ic 1 data [1]"}, firing: scripts.Firing{Next: t0.Add(time.Minute)}, next: slot(60), job: "tick [1]"},
		"record of BullMQ 5":        {seed: []string{"HSET q:repeat:s name tick every 10000"}, next: slot(10), job: `tick {"taken":1}`},
		"no record at all":          {firing: scripts.Firing{Next: t0.Add(time.Minute)}, next: slot(60), job: `taken {"taken":1}`},
		"no such scheduler":         {seed: []string{"DEL q:repeat"}, firing: scripts.Firing{Next: t0.Add(time.Minute)}},
		"not the current iteration": {seed: []string{record, "ZADD q:repeat 5 s"}},
		"no next time":              {seed: []string{"HSET q:repeat:s name tick ic 1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.seed("ZADD q:repeat " + slot(0) + " s")
			s.seed(test.seed...)
			before := s.dump()
			now := t0.Add(time.Duration(test.now) * time.Second)
			test.firing.JobID = current
			id := s.next(now, test.firing)
			if test.next == "" {
				require.Empty(t, id)
				s.want(before)
				return
			}
			require.Equal(t, "repeat:s:"+test.next, id)
			got := s.dump()
			require.Equal(t, "s="+test.next, got["q:repeat"])
			fields := s.client.HGetAll(t.Context(), s.q.Queue.Job(id)).Val()
			require.Equal(t, test.job, fields["name"]+" "+fields["data"])
			require.Equal(t, "s", fields["rjk"])
			require.Contains(t, fields["opts"], `"repeat":{"count":2}`)
			require.NotEqual(t, before["q:repeat:s"], got["q:repeat:s"], "ic grows")
		})
	}
}

func TestNextIterationThatExists(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("repeat:s:" + slot(10))
	s.seed("ZADD q:repeat "+slot(0)+" s", "HSET q:repeat:s name tick ic 1 every 10000")
	before := s.dump()
	require.Empty(t, s.next(t0, scripts.Firing{JobID: "repeat:s:" + slot(0)}))
	s.want(before.with(keyspace{"q:meta": meta, "q:events": "duplicated jobId=repeat:s:" + slot(10)}))
}

func TestRemoveScheduler(t *testing.T) {
	t.Parallel()
	remove := func(s *space) bool {
		done, err := s.run.RemoveScheduler(t.Context(), s.q, "s")
		require.NoError(t, err)
		return done
	}
	s := newSpace(t)
	require.False(t, remove(s))
	id, _ := s.upsert(t0, pattern(t0.Add(interval)))
	s.seed("DEL q:events", "DEL q:marker", "DEL q:id")
	require.True(t, remove(s))
	s.want(keyspace{"q:meta": meta, "q:events": "removed jobId=" + id + " prev=delayed"})

	s = newSpace(t)
	id, _ = s.upsert(t0, every(interval))
	require.True(t, remove(s))
	require.Equal(t, id, s.dump()["q:wait"], "a job that waits becomes an ordinary one")
}

func TestSchedulersAreListedWithoutSideEffects(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.seed("ZADD q:repeat 5 one 6 bare 7 name:::60000 8 odd", "HSET q:repeat:one name n ic 3", "SET q:repeat:odd x")
	before := s.dump()
	all, total, err := s.run.Schedulers(t.Context(), s.q, 0, -1, true)
	require.NoError(t, err)
	require.EqualValues(t, 4, total)
	require.Equal(t, []scripts.Scheduler{
		{ID: "one", Next: time.UnixMilli(5), Record: map[string]string{"name": "n", "ic": "3"}},
		{ID: "bare", Next: time.UnixMilli(6), Record: map[string]string{}},
		{ID: "name:::60000", Next: time.UnixMilli(7), Record: map[string]string{}},
		{ID: "odd", Next: time.UnixMilli(8), Record: map[string]string{}},
	}, all)
	page, _, err := s.run.Schedulers(t.Context(), s.q, 0, 0, false)
	require.NoError(t, err)
	require.Equal(t, "odd", page[0].ID)
	one, err := s.run.Scheduler(t.Context(), s.q, "one")
	require.NoError(t, err)
	require.Equal(t, all[0], *one)
	none, err := s.run.Scheduler(t.Context(), s.q, "nobody")
	require.NoError(t, err)
	require.Nil(t, none)
	s.want(before)
}

func TestNothingFiresBehindTheEnd(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	late := every(interval)
	late.Start, late.End = t0.Add(30*time.Second), t0.Add(29*time.Second)
	id, code := s.upsert(t0, late)
	require.Equal(t, scripts.OK, code)
	require.Empty(t, id)
	s.want(keyspace{})

	s.upsert(t0, every(interval))
	before := s.dump()
	sooner := every(interval)
	sooner.End = t0.Add(-time.Second)
	id, _ = s.upsert(t0, sooner)
	require.Empty(t, id)
	s.want(before)

	current := "repeat:s:" + slot(0)
	require.Empty(t, s.next(t0, scripts.Firing{JobID: current, End: t0.Add(interval - 1)}))
	s.want(before)
	require.NotEmpty(t, s.next(t0, scripts.Firing{JobID: current, End: t0.Add(interval)}))
}

func TestSchedulersTellOfTheirPendingJob(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	id, _ := s.upsert(t0, every(interval))
	one, err := s.run.Scheduler(t.Context(), s.q, "s")
	require.NoError(t, err)
	require.Contains(t, one.JobOpts, `"repeat":{"count":1}`)
	s.seed("HSET q:" + id + " finishedOn 1")
	one, err = s.run.Scheduler(t.Context(), s.q, "s")
	require.NoError(t, err)
	require.Empty(t, one.JobOpts)
}

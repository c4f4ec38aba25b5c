package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

// plainJob is a new job like those of space.job.
func plainJob(id string) scripts.NewJob {
	return scripts.NewJob{ID: id, Name: "n", Data: "{}", Opts: "{}", Timestamp: t0}
}

func child(id, parent, flags string) scripts.NewJob {
	j := plainJob(id)
	j.Parent = &scripts.Parent{Key: "P:q:" + parent, JSON: `{"id":"` + parent + `","queueKey":"P:q"` + flags + `}`}
	return j
}

// add adds jobs; parents are written with P: for the prefix.
func (s *space) add(jobs ...scripts.NewJob) []scripts.Added {
	s.t.Helper()
	for i, j := range jobs {
		if j.Parent != nil {
			jobs[i].Parent = &scripts.Parent{Key: s.full(j.Parent.Key), JSON: s.full(j.Parent.JSON)}
		}
	}
	out, err := s.run.AddJobs(s.t.Context(), s.q, t0, jobs)
	require.NoError(s.t, err)
	return out
}

func stored(ids ...string) []scripts.Added {
	var out []scripts.Added
	for _, id := range ids {
		out = append(out, scripts.Added{ID: id, Stored: true})
	}
	return out
}

func existing(id string) []scripts.Added { return []scripts.Added{{ID: id}} }

func TestAddTargets(t *testing.T) {
	t.Parallel()
	with := func(change func(*scripts.NewJob)) scripts.NewJob {
		j := plainJob("")
		change(&j)
		return j
	}
	lifo := with(func(j *scripts.NewJob) { j.LIFO = true })
	delayed := with(func(j *scripts.NewJob) { j.Delay, j.Priority = time.Second, 2 })
	prio := with(func(j *scripts.NewJob) { j.Priority = 3 })
	top := with(func(j *scripts.NewJob) { j.Priority = 2_097_151 })
	parent := with(func(j *scripts.NewJob) { j.WaitChildren = true })
	scheduled := with(func(j *scripts.NewJob) { j.ID, j.SchedulerID = "repeat:s:5", "s" })

	tests := map[string]struct {
		jobs []scripts.NewJob
		ids  []string
		want keyspace
	}{
		"wait, first in first out": {
			jobs: []scripts.NewJob{plainJob(""), plainJob("x")}, ids: []string{"1", "x"},
			want: keyspace{
				"q:id": "2", "q:wait": "x 1", "q:marker": "0=0", "q:1": plain(), "q:x": plain(),
				"q:events": events("added jobId=1 name=n", "waiting jobId=1", "added jobId=x name=n", "waiting jobId=x"),
			},
		},
		"lifo goes to the taking end": {
			jobs: []scripts.NewJob{plainJob(""), lifo}, ids: []string{"1", "2"},
			want: keyspace{
				"q:id": "2", "q:wait": "1 2", "q:marker": "0=0", "q:1": plain(), "q:2": plain(),
				"q:events": events("added jobId=1 name=n", "waiting jobId=1", "added jobId=2 name=n", "waiting jobId=2"),
			},
		},
		"delayed, two in one millisecond": {
			jobs: []scripts.NewJob{delayed, delayed}, ids: []string{"1", "2"},
			want: keyspace{
				"q:id": "2", "q:delayed": "1=" + due(1000, 0) + " 2=" + due(1000, 1), "q:marker": "1=" + after(1000),
				"q:1": plain("delay=1000", "priority=2"), "q:2": plain("delay=1000", "priority=2"),
				"q:events": events("added jobId=1 name=n", "delayed jobId=1 delay="+after(1000),
					"added jobId=2 name=n", "delayed jobId=2 delay="+after(1000)),
			},
		},
		"prioritized, order of insertion within a priority": {
			jobs: []scripts.NewJob{prio, top, prio}, ids: []string{"1", "2", "3"},
			want: keyspace{
				"q:id": "3", "q:pc": "3", "q:prioritized": "1=12884901889 3=12884901891 2=9007194959773698", "q:marker": "0=0",
				"q:1": plain("priority=3"), "q:2": plain("priority=2097151"), "q:3": plain("priority=3"),
				"q:events": events("added jobId=1 name=n", "waiting jobId=1", "added jobId=2 name=n", "waiting jobId=2",
					"added jobId=3 name=n", "waiting jobId=3"),
			},
		},
		"parent": {
			jobs: []scripts.NewJob{parent}, ids: []string{"1"},
			want: keyspace{
				"q:id": "1", "q:waiting-children": "1=" + after(0), "q:1": plain(),
				"q:events": events("added jobId=1 name=n", "waiting-children jobId=1"),
			},
		},
		"job of a scheduler": {
			jobs: []scripts.NewJob{scheduled}, ids: []string{"repeat:s:5"},
			want: keyspace{
				"q:id": "1", "q:wait": "repeat:s:5", "q:marker": "0=0", "q:repeat:s:5": plain("rjk=s"),
				"q:events": events("added jobId=repeat:s:5 name=n", "waiting jobId=repeat:s:5"),
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			require.Equal(t, stored(test.ids...), s.add(test.jobs...))
			s.want(test.want.with(keyspace{"q:meta": meta}))
		})
	}
}

func TestAddMarkers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		seed   []string
		legacy bool
		marker string
		list   string
	}{
		"free":                       {marker: "0=0", list: "wait"},
		"paused":                     {seed: []string{"HSET q:meta paused 1"}, list: "wait"},
		"paused as by BullMQ 5":      {seed: []string{"HSET q:meta paused 1"}, legacy: true, list: "paused"},
		"maxed":                      {seed: []string{"HSET q:meta concurrency 1", "LPUSH q:active z"}, list: "wait"},
		"maxed with BullMQ 5":        {seed: []string{"HSET q:meta concurrency 1", "LPUSH q:active z"}, legacy: true, list: "wait"},
		"below the concurrency":      {seed: []string{"HSET q:meta concurrency 2", "LPUSH q:active z"}, marker: "0=0", list: "wait"},
		"a concurrency of no number": {seed: []string{"HSET q:meta concurrency many", "LPUSH q:active z"}, marker: "0=0", list: "wait"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.seed(test.seed...)
			s.q.LegacyPause = test.legacy
			s.add(plainJob("a"))
			got := s.dump()
			require.Equal(t, "a", got["q:"+test.list])
			require.Equal(t, test.marker, got["q:marker"])
		})
	}
}

func TestAddExistingID(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"LPUSH q:wait a", "LPUSH q:active a", "ZADD q:delayed 5 a", "ZADD q:failed 5 a", "ZADD q:completed 5 a"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.job("a")
			s.seed(where)
			before := s.dump()
			other := plainJob("a")
			other.Name, other.Data, other.Delay, other.Priority = "other", `{"x":1}`, time.Second, 4
			require.Equal(t, existing("a"), s.add(other))
			s.want(before.with(keyspace{"q:id": "1", "q:meta": meta, "q:events": "duplicated jobId=a"}))
		})
	}
}

func TestAddGeneratedIDSkipsTaken(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("1", "2", "3", "4", "5")
	require.Equal(t, stored("8"), s.add(plainJob("")), "1, then steps of 1, 2, 4")
	require.Equal(t, stored("9"), s.add(plainJob("")))
}

func TestAddManyInChunks(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	jobs := make([]scripts.NewJob, 1201)
	for i := range jobs {
		jobs[i] = plainJob("")
	}
	out := s.add(jobs...)
	require.Len(t, out, len(jobs))
	require.Equal(t, "1201", out[1200].ID)
	n, err := s.client.LLen(t.Context(), s.q.Wait()).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1201, n)
}

func TestAddChildren(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		seed []string
		job  scripts.NewJob
		want []scripts.Added
		keys keyspace
	}{
		"new child": {
			job: child("c", "p", `,"fpof":true`), want: stored("c"),
			keys: keyspace{
				"q:p:dependencies": "P:q:c", "q:wait": "c", "q:marker": "0=0",
				"q:c":      plain("parentKey=P:q:p", `parent={"id":"p","queueKey":"P:q","fpof":true}`),
				"q:events": events("added jobId=c name=n", "waiting jobId=c"),
			},
		},
		"no such parent": {
			job: child("c", "nobody", ""), want: []scripts.Added{{Code: scripts.ParentMissing}},
			keys: keyspace{"q:id": "", "q:meta": ""},
		},
		"existing job gets the parent": {
			seed: []string{"HSET q:c name old"}, job: child("c", "p", ""), want: existing("c"),
			keys: keyspace{
				"q:p:dependencies": "P:q:c",
				"q:c":              `name=old parent={"id":"p","queueKey":"P:q"} parentKey=P:q:p`,
				"q:events":         "duplicated jobId=c",
			},
		},
		"completed job gives its value and releases the parent": {
			seed: []string{"HSET q:c name old returnvalue 7", "ZADD q:completed 5 c", "ZADD q:waiting-children 5 p"},
			job:  child("c", "p", ""), want: existing("c"),
			keys: keyspace{
				"q:p:processed": "P:q:c=7", "q:wait": "p", "q:marker": "0=0", "q:completed": "c=5",
				"q:c":      `name=old parent={"id":"p","queueKey":"P:q"} parentKey=P:q:p returnvalue=7`,
				"q:events": events("waiting jobId=p prev=waiting-children", "duplicated jobId=c"),
			},
		},
		"job of another living parent": {
			seed: []string{"HSET q:c name old parentKey P:q:o", "HSET q:o name o"},
			job:  child("c", "p", ""), want: []scripts.Added{{Code: scripts.ParentReplaced}},
			keys: keyspace{"q:c": "name=old parentKey=P:q:o", "q:o": "name=o"},
		},
		"job of a parent that is gone": {
			seed: []string{"HSET q:c name old parentKey P:q:o"}, job: child("c", "p", ""), want: existing("c"),
			keys: keyspace{
				"q:p:dependencies": "P:q:c", "q:c": `name=old parent={"id":"p","queueKey":"P:q"} parentKey=P:q:p`,
				"q:events": "duplicated jobId=c",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.job("p")
			s.seed(test.seed...)
			require.Equal(t, test.want, s.add(test.job))
			s.want(keyspace{"q:p": plain(), "q:id": "1", "q:meta": meta}.with(test.keys))
		})
	}
}

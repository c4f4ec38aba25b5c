package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

// dedup is a new job "new" with a deduplication id and this option.
func dedup(d scripts.Dedup, delay time.Duration) scripts.NewJob {
	j := plainJob("new")
	d.ID, j.Delay = "d", delay
	j.Dedup = &d
	return j
}

// TestDeduplication is the table of features 3.2: what stands for a new job, given what owns its deduplication id.
func TestDeduplication(t *testing.T) {
	t.Parallel()
	const suppressed = "deduplicated jobId=old deduplicationId=d deduplicatedJobId=new"
	waiting := []string{"SET q:de:d old", "LPUSH q:wait old"}
	delayed := []string{"SET q:de:d old PX 60000", "ZADD q:delayed " + due(500, 0) + " old", "HSET q:old delay 500", "HSET q:dn:d name x"}
	active := []string{"SET q:de:d old PX 60000", "LPUSH q:active old"}
	added := keyspace{
		"q:new": plain("deid=d"), "q:wait": "new", "q:marker": "0=0", "q:de:d": "new",
		"q:events": events("added jobId=new name=n", "waiting jobId=new"),
	}
	replaced := keyspace{
		"q:old": "", "q:dn:d": "", "q:de:d": "new~", "q:delayed": "new=" + due(900, 0), "q:new": plain("deid=d", "delay=900"), "q:marker": "1=" + after(900),
		"q:events": events("removed jobId=old prev=delayed", "deduplicated jobId=new deduplicationId=d deduplicatedJobId=old",
			"added jobId=new name=n", "delayed jobId=new delay="+after(900)),
	}
	next := "data={} jid=new name=n opts={}"
	tests := map[string]struct {
		seed  []string
		de    scripts.Dedup
		delay time.Duration
		id    string
		want  keyspace
	}{
		"simple, free":           {id: "new", want: added},
		"simple, owned":          {seed: waiting, id: "old", want: keyspace{"q:events": suppressed}},
		"simple, stale":          {seed: []string{"SET q:de:d gone", "HSET q:dn:d name x"}, id: "new", want: added.and(keyspace{"q:dn:d": ""})},
		"throttle, free":         {de: scripts.Dedup{TTL: time.Minute}, id: "new", want: added.with(keyspace{"q:de:d": "new~"})},
		"throttle, owned":        {seed: []string{"SET q:de:d old PX 60000"}, de: scripts.Dedup{TTL: time.Hour}, id: "old", want: keyspace{"q:de:d": "old~", "q:events": suppressed}},
		"throttle, owner gone":   {seed: []string{"SET q:de:d gone PX 60000"}, de: scripts.Dedup{TTL: time.Hour}, id: "gone", want: keyspace{"q:events": "deduplicated jobId=gone deduplicationId=d deduplicatedJobId=new"}},
		"extend, owned":          {seed: []string{"SET q:de:d old PX 100"}, de: scripts.Dedup{TTL: time.Hour, Extend: true}, id: "old", want: keyspace{"q:de:d": "old~", "q:events": suppressed}},
		"extend, keep last":      {seed: []string{"SET q:de:d old PX 60000"}, de: scripts.Dedup{TTL: time.Hour, Extend: true, KeepLastIfActive: true}, id: "old", want: keyspace{"q:de:d": "old", "q:events": suppressed}},
		"keep last, free":        {de: scripts.Dedup{TTL: time.Hour, KeepLastIfActive: true}, id: "new", want: added},
		"keep last, owner waits": {seed: waiting, de: scripts.Dedup{KeepLastIfActive: true}, id: "old", want: keyspace{"q:events": suppressed}},
		"keep last, owner runs": {
			seed: append(active, "HSET q:dn:d name earlier pk x"), de: scripts.Dedup{KeepLastIfActive: true}, id: "old",
			want: keyspace{"q:de:d": "old", "q:dn:d": next, "q:events": suppressed},
		},
		"owner runs":          {seed: active, id: "old", want: keyspace{"q:de:d": "old~", "q:events": suppressed}},
		"replace, free":       {de: scripts.Dedup{Replace: true}, id: "new", want: added},
		"replace, delayed":    {seed: delayed, de: scripts.Dedup{Replace: true}, delay: 900 * time.Millisecond, id: "new", want: replaced.and(keyspace{"q:de:d": "new"})},
		"debounce, delayed":   {seed: delayed, de: scripts.Dedup{Replace: true, Extend: true, TTL: time.Hour}, delay: 900 * time.Millisecond, id: "new", want: replaced},
		"replace keeps time":  {seed: delayed, de: scripts.Dedup{Replace: true, TTL: time.Hour}, delay: 900 * time.Millisecond, id: "new", want: replaced},
		"replace, keep last":  {seed: delayed, de: scripts.Dedup{Replace: true, TTL: time.Hour, KeepLastIfActive: true}, delay: 900 * time.Millisecond, id: "new", want: replaced.and(keyspace{"q:de:d": "new"})},
		"replace, waiting":    {seed: waiting, de: scripts.Dedup{Replace: true}, id: "old", want: keyspace{}},
		"replace, stale":      {seed: []string{"SET q:de:d gone"}, de: scripts.Dedup{Replace: true}, id: "new", want: added},
		"replace, owner runs": {seed: active, de: scripts.Dedup{Replace: true, KeepLastIfActive: true}, id: "old", want: keyspace{"q:de:d": "old", "q:dn:d": next, "q:events": suppressed}},
		"reschedule": {
			seed: delayed, de: scripts.Dedup{Reschedule: true}, delay: 900 * time.Millisecond, id: "old",
			want: keyspace{
				"q:old": plain("delay=900"), "q:delayed": "old=" + due(900, 0), "q:marker": "1=" + after(900),
				"q:events": events(suppressed, "delayed jobId=old delay="+after(900)),
			},
		},
		"reschedule, not delayed": {seed: waiting, de: scripts.Dedup{Reschedule: true}, id: "old", want: keyspace{"q:events": suppressed}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.job("old")
			s.seed(test.seed...)
			before := s.dump()
			require.Equal(t, []scripts.Added{{ID: test.id, Stored: test.id == "new"}}, s.add(dedup(test.de, test.delay)))
			s.want(before.with(keyspace{"q:id": "1", "q:meta": meta}).with(test.want))
		})
	}
}

func TestDedupTimes(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	left := func() time.Duration { return s.client.PTTL(t.Context(), s.q.Dedup("d")).Val() }
	s.job("old")
	s.seed("SET q:de:d old PX 60000", "ZADD q:delayed 9 old")
	s.add(dedup(scripts.Dedup{TTL: time.Hour, Replace: true}, time.Second))
	require.Less(t, left(), 2*time.Minute, "what was left is kept")
	j := dedup(scripts.Dedup{TTL: time.Hour, Replace: true, Extend: true}, time.Second)
	j.ID = "newer"
	s.add(j)
	require.Greater(t, left(), 50*time.Minute, "the time starts anew")
}

func TestDedupRelease(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		seed []string
		want string
	}{
		"own, until the end": {seed: []string{"SET q:de:d a"}},
		"own, for a time":    {seed: []string{"SET q:de:d a PX 60000"}, want: "a~"},
		"owned by another":   {seed: []string{"SET q:de:d b"}, want: "b"},
	}
	for name, test := range tests {
		for _, job := range []scripts.FinishedJob{done("a"), failed("a")} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newSpace(t)
				s.active("a")
				s.seed("HSET q:a deid d")
				s.seed(test.seed...)
				s.finish(scripts.FinishOptions{}, job)
				require.Equal(t, test.want, s.dump()["q:de:d"])
			})
		}
	}
}

func TestDedupReleaseNotOnRetry(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.active("a")
	s.seed("HSET q:a deid d", "SET q:de:d a", "HSET q:dn:d name next")
	_, err := s.run.RetryJobs(t.Context(), s.q, t0, retries("a"))
	require.NoError(t, err)
	got := s.dump()
	require.Equal(t, "a", got["q:de:d"])
	require.Equal(t, "name=next", got["q:dn:d"])
}

func TestDedupNextIsQueuedWhenTheOwnerEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		next []string
		want keyspace
	}{
		"plain": {
			next: []string{`HSET q:dn:d name next data {"x":1} opts {"de":{"id":"d","keepLastIfActive":true,"ttl":5}}`},
			want: keyspace{
				"q:6": plain("name=next", `data={"x":1}`, `opts={"de":{"id":"d","keepLastIfActive":true,"ttl":5}}`, "deid=d"), "q:de:d": "6", "q:wait": "6", "q:marker": "0=0",
				"q:events": events("added jobId=6 name=next", "waiting jobId=6", `completed jobId=a returnvalue={"r":1} prev=active`),
			},
		},
		"delayed, with id, parent and time": {
			next: []string{
				`HSET q:dn:d name next data {} opts {"delay":1000,"priority":2,"de":{"id":"d","ttl":60000}} jid mine pk P:q:p pd {"id":"p","queueKey":"P:q"} pdk P:q:p:dependencies rjk s`,
				"HSET q:p name p",
			},
			want: keyspace{
				"q:p": "name=p", "q:p:dependencies": "P:q:mine", "q:delayed": "mine=" + due(1000, 0), "q:marker": "1=" + after(1000), "q:de:d": "mine~",
				"q:mine": plain("name=next", `opts={"delay":1000,"priority":2,"de":{"id":"d","ttl":60000}}`, "delay=1000", "priority=2", "deid=d", "rjk=s",
					"parentKey=P:q:p", `parent={"id":"p","queueKey":"P:q"}`),
				"q:events": events("added jobId=mine name=next", "delayed jobId=mine delay="+after(1000),
					`completed jobId=a returnvalue={"r":1} prev=active`, "drained"),
			},
		},
		"id taken meanwhile": {
			next: []string{"HSET q:dn:d name next data {} opts {} jid mine", "HSET q:mine name other"},
			want: keyspace{
				"q:mine": "name=other", "q:events": events("duplicated jobId=mine", `completed jobId=a returnvalue={"r":1} prev=active`, "drained"),
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active("a")
			s.seed("HSET q:a deid d", "SET q:de:d a", "SET q:id 5")
			s.seed(test.next...)
			s.finish(scripts.FinishOptions{}, done("a"))
			s.want(keyspace{
				"q:a": completed("deid=d"), "q:completed": "a=" + after(0), "q:id": "6", "q:meta": meta,
			}.with(test.want))
		})
	}
}

func TestRemoveDedupKey(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	free := func(owner string) bool {
		done, err := s.run.RemoveDedupKey(t.Context(), s.q, "d", owner)
		require.NoError(t, err)
		return done
	}
	require.False(t, free(""))
	s.seed("SET q:de:d a")
	require.False(t, free("b"))
	require.True(t, free("a"))
	s.seed("SET q:de:d a")
	require.True(t, free(""))
	s.want(keyspace{})
}

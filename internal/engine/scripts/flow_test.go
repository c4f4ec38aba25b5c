package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

// twins writes a parent that waits for the active child c and the pending child d, in another queue than c.
func twins(s *space, flags string) {
	s.active("c")
	s.seed("HSET o:p name n priority 0 delay 0", "HSET q:d name n", "HSET o:meta version v",
		`HSET q:c parentKey P:o:p parent {"id":"p","queueKey":"P:o"`+flags+`}`,
		"SADD o:p:dependencies P:q:c P:q:d", "ZADD o:waiting-children 1 p")
}

func TestChildOutcomes(t *testing.T) {
	t.Parallel()
	released := keyspace{
		"o:waiting-children": "", "o:wait": "p", "o:marker": "0=0", "o:events": "waiting jobId=p prev=waiting-children",
	}
	last := "SREM o:p:dependencies P:q:d"
	none := keyspace{"o:p:dependencies": ""}
	tests := map[string]struct {
		flags  string
		seed   []string
		job    scripts.FinishedJob
		parent keyspace // what changes in the parent's queue
	}{
		"completed, another pending": {job: done("c"), parent: keyspace{"o:p:processed": `P:q:c={"r":1}`, "o:p:dependencies": "P:q:d"}},
		"completed, the last": {
			job: done("c"), seed: []string{last}, parent: released.with(keyspace{"o:p:processed": `P:q:c={"r":1}`}).and(none),
		},
		"completed, the last, parent with priority": {
			job: done("c"), seed: []string{last, "HSET o:p priority 3"},
			parent: released.and(none).and(keyspace{
				"o:p:processed": `P:q:c={"r":1}`, "o:wait": "", "o:prioritized": "p=12884901889", "o:pc": "1", "o:p": "delay=0 name=n priority=3",
			}),
		},
		"completed, the last, parent with delay": {
			job: done("c"), seed: []string{last, "HSET o:p delay 500"},
			parent: none.and(keyspace{
				"o:waiting-children": "", "o:p:processed": `P:q:c={"r":1}`, "o:delayed": "p=" + due(500, 0), "o:marker": "1=" + after(500),
				"o:p": "delay=500 name=n priority=0", "o:events": "delayed jobId=p delay=" + after(500),
			}),
		},
		"completed, the last, parent no longer waits": {
			job: done("c"), seed: []string{last, "ZREM o:waiting-children p"},
			parent: none.and(keyspace{"o:waiting-children": "", "o:p:processed": `P:q:c={"r":1}`}),
		},
		"completed, but not pending": {job: done("c"), seed: []string{"SREM o:p:dependencies P:q:c"}, parent: keyspace{"o:p:dependencies": "P:q:d"}},
		"failed without a flag":      {job: failed("c"), parent: keyspace{}},
		"failed, the parent fails": {
			flags: `,"fpof":true`, job: failed("c"),
			parent: released.and(keyspace{
				"o:p:dependencies": "P:q:d", "o:p:unsuccessful": "P:q:c=" + after(0), "o:p": "defa=child P:q:c failed delay=0 name=n priority=0",
			}),
		},
		"failed, the delayed parent fails": {
			flags: `,"fpof":true`, job: failed("c"), seed: []string{"ZREM o:waiting-children p", "ZADD o:delayed 9 p", "HSET o:p delay 100"},
			parent: released.and(keyspace{
				"o:p:dependencies": "P:q:d", "o:p:unsuccessful": "P:q:c=" + after(0), "o:p": "defa=child P:q:c failed delay=0 name=n priority=0",
				"o:delayed": "",
			}),
		},
		"failed, the active parent will fail": {
			flags: `,"fpof":true`, job: failed("c"), seed: []string{"ZREM o:waiting-children p", "LPUSH o:active p"},
			parent: keyspace{
				"o:waiting-children": "", "o:active": "p", "o:p:dependencies": "P:q:d", "o:p:unsuccessful": "P:q:c=" + after(0),
				"o:p": "defa=child P:q:c failed delay=0 name=n priority=0",
			},
		},
		"failed, the parent has failed before": {
			flags: `,"fpof":true`, job: failed("c"), seed: []string{"ZREM o:waiting-children p", "ZADD o:failed 1 p"},
			parent: keyspace{
				"o:waiting-children": "", "o:failed": "p=1", "o:p:dependencies": "P:q:d", "o:p:unsuccessful": "P:q:c=" + after(0),
			},
		},
		"failed, the parent goes on": {
			flags: `,"cpof":true`, job: failed("c"), parent: released.and(keyspace{"o:p:dependencies": "P:q:d", "o:p:failed": "P:q:c=boom"}),
		},
		"failed, ignored, another pending": {
			flags: `,"idof":true`, job: failed("c"), parent: keyspace{"o:p:dependencies": "P:q:d", "o:p:failed": "P:q:c=boom"},
		},
		"failed, ignored, the last": {
			flags: `,"idof":true`, job: failed("c"), seed: []string{last}, parent: released.and(none).and(keyspace{"o:p:failed": "P:q:c=boom"}),
		},
		"failed, dependency removed": {flags: `,"rdof":true`, job: failed("c"), parent: keyspace{"o:p:dependencies": "P:q:d"}},
		"failed, the last dependency removed": {
			flags: `,"rdof":true`, job: failed("c"), seed: []string{last}, parent: released.and(none),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			twins(s, test.flags)
			s.seed(test.seed...)
			codes, _ := s.finish(scripts.FinishOptions{}, test.job)
			require.Equal(t, ok(1), codes)
			got := s.dump()
			for key := range got {
				if key[0] != 'o' {
					delete(got, key)
				}
			}
			want := keyspace{
				"o:p": "delay=0 name=n priority=0", "o:meta": "version=v", "o:p:dependencies": "P:q:c P:q:d", "o:waiting-children": "p=1",
			}.with(test.parent)
			require.Equal(t, want, got)
		})
	}
}

// and is with, but keeps the empty values that take entries away later.
func (k keyspace) and(other keyspace) keyspace {
	out := keyspace{}
	for _, m := range []keyspace{k, other} {
		for key, value := range m {
			out[key] = value
		}
	}
	return out
}

func TestChildRemovedWhenFinished(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	twins(s, "")
	s.seed("SREM o:p:dependencies P:q:d")
	j := failed("c")
	j.Keep.Count = ptr(int64(0))
	s.finish(scripts.FinishOptions{}, j)
	got := s.dump()
	require.NotContains(t, got, "q:c")
	require.Equal(t, "p", got["o:wait"], "a failed child that is gone keeps nobody waiting")
	require.Equal(t, "waiting jobId=p prev=waiting-children", got["o:events"])
}

func TestEvictedChildIsNoLongerWaitedFor(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	twins(s, "")
	s.seed("SREM o:p:dependencies P:q:d")
	s.finish(scripts.FinishOptions{}, failed("c"))
	require.Equal(t, "P:q:c", s.dump()["o:p:dependencies"])
	s.active("x")
	j := failed("x")
	j.Keep.Count = ptr(int64(1))
	_, _, err := s.run.Finish(t.Context(), s.q, t0.Add(time.Second), []scripts.FinishedJob{j}, scripts.FinishOptions{})
	require.NoError(t, err)
	require.Equal(t, "p", s.dump()["o:wait"])
}

func TestMoveToWaitingChildren(t *testing.T) {
	t.Parallel()
	pending := "SADD q:p:dependencies P:q:c"
	tests := map[string]struct {
		seed  []string
		child string
		want  scripts.Code
	}{
		"waits for any":          {seed: []string{pending}},
		"waits for one":          {seed: []string{pending}, child: "P:q:c"},
		"the one is not pending": {seed: []string{pending}, child: "P:q:x", want: scripts.NotMoved},
		"nothing pending":        {want: scripts.NotMoved},
		"failed children":        {seed: []string{pending, "ZADD q:p:unsuccessful 1 P:q:x"}, want: scripts.FailedChildren},
		"no hash":                {seed: []string{pending, "DEL q:p"}, want: scripts.JobMissing},
		"no lock":                {seed: []string{pending, "DEL q:p:lock"}, want: scripts.LockMissing},
		"lock of another":        {seed: []string{pending, "SET q:p:lock x"}, want: scripts.LockMismatch},
		"not active":             {seed: []string{pending, "DEL q:active"}, want: scripts.WrongState},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.active("p")
			s.seed(test.seed...)
			before := s.dump()
			c, err := s.run.MoveToWaitingChildren(t.Context(), s.q, t0, locks("p")[0], s.full(test.child))
			require.NoError(t, err)
			require.Equal(t, test.want, c)
			switch test.want {
			case scripts.OK:
				s.want(keyspace{
					"q:p": plain(), "q:p:dependencies": "P:q:c", "q:waiting-children": "p=" + after(0),
					"q:events": "waiting-children jobId=p prev=active",
				})
			case scripts.WrongState:
				s.want(before.with(keyspace{"q:p:lock": ""}))
			default:
				s.want(before)
			}
		})
	}
}

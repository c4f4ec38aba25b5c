package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

// node is a job of a tree; parent is a full key with P: for the prefix, "" for a root.
func (s *space) node(queue, id, parentQueue, parent string, inner bool) scripts.FlowJob {
	j := plainJob(id)
	j.WaitChildren = inner
	if parent != "" {
		base := s.full("P:" + parentQueue)
		j.Parent = &scripts.Parent{Key: base + ":" + parent, JSON: `{"id":"` + parent + `","queueKey":"` + base + `"}`}
	}
	return scripts.FlowJob{Queue: s.queue(queue).Queue, NewJob: j}
}

func (s *space) flow(jobs ...scripts.FlowJob) []scripts.Added {
	s.t.Helper()
	out, err := s.run.AddFlow(s.t.Context(), s.q, t0, jobs)
	require.NoError(s.t, err)
	return out
}

func childOf(queue, id string) []string {
	return []string{"parentKey=P:" + queue + ":" + id, `parent={"id":"` + id + `","queueKey":"P:` + queue + `"}`}
}

func TestAddFlow(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	late := s.node("kids", "late", "q", "root", false)
	late.Delay = time.Second
	require.Equal(t, stored("root", "mid", "leaf", "late"), s.flow(
		s.node("q", "root", "", "", true), s.node("q", "mid", "q", "root", true), s.node("kids", "leaf", "q", "mid", false), late))
	s.want(keyspace{
		"q:id": "2", "q:meta": meta, "q:waiting-children": "mid=" + after(0) + " root=" + after(0),
		"q:root": plain(), "q:mid": plain(childOf("q", "root")...),
		"q:root:dependencies": "P:kids:late P:q:mid", "q:mid:dependencies": "P:kids:leaf",
		"q:events": events("added jobId=root name=n", "waiting-children jobId=root", "added jobId=mid name=n", "waiting-children jobId=mid"),
		"kids:id":  "2", "kids:meta": meta, "kids:wait": "leaf", "kids:delayed": "late=" + due(1000, 0), "kids:marker": "0=0 1=" + after(1000),
		"kids:leaf": plain(childOf("q", "mid")...), "kids:late": plain(append(childOf("q", "root"), "delay=1000")...),
		"kids:events": events("added jobId=leaf name=n", "waiting jobId=leaf", "added jobId=late name=n", "delayed jobId=late delay="+after(1000)),
	})
}

func TestAddFlowWhoseChildrenHaveEnded(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("a", "b")
	s.seed("HSET q:a returnvalue 1", "HSET q:b returnvalue 2", "ZADD q:completed 1 a 2 b")
	out := s.flow(s.node("q", "p", "", "", true), s.node("q", "a", "q", "p", false), s.node("q", "b", "q", "p", false))
	require.Equal(t, []scripts.Added{{ID: "p", Stored: true}, {ID: "a"}, {ID: "b"}}, out)
	got := s.dump()
	require.Equal(t, "p", got["q:wait"])
	require.Equal(t, "P:q:a=1 P:q:b=2", got["q:p:processed"])
	require.Equal(t, events("added jobId=p name=n", "waiting-children jobId=p", "duplicated jobId=a", "duplicated jobId=b",
		"waiting jobId=p prev=waiting-children"), got["q:events"], "released once, after all of the tree")
}

func TestAddFlowWithAChildOfAnother(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("c", "other")
	s.seed("HSET q:c parentKey P:q:other")
	out := s.flow(s.node("q", "p", "", "", true), s.node("q", "c", "q", "p", false))
	require.Equal(t, []scripts.Added{{ID: "p", Stored: true}, {Code: scripts.ParentReplaced}}, out)
	got := s.dump()
	require.Equal(t, "p="+after(0), got["q:waiting-children"], "a parent that lacks a child is not released")
	require.Equal(t, plain(), got["q:p"])
	require.NotContains(t, got, "q:wait")
}

func TestAddFlowBelowNobody(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	out := s.flow(s.node("q", "p", "q", "nobody", true), s.node("q", "c", "q", "p", false))
	require.Equal(t, []scripts.Added{{Code: scripts.ParentMissing}, {Code: scripts.ParentMissing}}, out)
	s.want(keyspace{})
}

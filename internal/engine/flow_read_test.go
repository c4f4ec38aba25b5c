package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
)

// outline writes a view line by line: the jobs in order, with what is blocking marked by a star.
func outline(i *FlowItem, indent string) (lines []string) {
	star := ""
	if i.Blocking {
		star = "*"
	}
	lines = append(lines, fmt.Sprintf("%s%s%s %s %s", indent, star, i.ID, i.Kind, i.State))
	for _, c := range i.Children {
		lines = append(lines, outline(c, indent+" ")...)
	}
	return lines
}

func TestFlowView(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	kids := kidsOf(q)
	addFlow(t, q, family(
		FlowNode{Queue: "q", Name: "mid", Options: JobOptions{ID: "mid"}, Children: []FlowNode{leaf("bad", JobOptions{Given: GivenAttempts})}},
	))
	if _, err := newWorker(t, kids, func(context.Context, *Job) (any, error) { return nil, errors.New("broken\nbadly") }, nil).RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	view := func(l FlowLimits) *FlowItem {
		v, err := q.FlowView(t.Context(), "root", l)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := view(FlowLimits{})
	want := []string{"*root  waiting-children", " *mid unprocessed waiting-children", "  *bad unprocessed failed"}
	if got := outline(v, ""); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	bad := v.Children[0].Children[0]
	if bad.Queue != kids.Queue || bad.FailedReason != "broken" || bad.Name != "bad" || v.Hidden() != 0 {
		t.Errorf("the leaf is %+v", bad)
	}
	if v := view(FlowLimits{Depth: 2}); v.Children[0].Hidden() != 1 || len(v.Children[0].Children) != 0 {
		t.Errorf("two levels: %q", outline(v, ""))
	}
	if _, err := q.FlowView(t.Context(), "nobody", FlowLimits{}); !errors.Is(err, ErrJobNotFound) {
		t.Errorf("of a missing job: %v", err)
	}
	for _, id := range []string{"bad", "mid", "root"} {
		from := q
		if id == "bad" {
			from = kids
		}
		if at, root, err := from.FlowRoot(t.Context(), id); at != q.Queue || root != "root" || err != nil {
			t.Errorf("root of %s is %s of %v, %v", id, root, at, err)
		}
	}
	if err := q.client.Del(t.Context(), q.JobKey("root")).Err(); err != nil {
		t.Fatal(err)
	}
	if _, root, err := kids.FlowRoot(t.Context(), "bad"); root != "mid" || err != nil {
		t.Errorf("without its root it begins at %s, %v", root, err)
	}
}

// TestBlockingPath lets several children wait and asks which of them is said to hold the parent up.
func TestBlockingPath(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	addFlow(t, q, family(
		leaf("later", JobOptions{Delay: time.Hour}), leaf("ready", JobOptions{}), leaf("urgent", JobOptions{Priority: 1}),
		FlowNode{Queue: "q", Name: "mid", Options: JobOptions{ID: "mid"}, Children: []FlowNode{leaf("deep", JobOptions{})}},
	))
	blocking := func() (path string) {
		v, err := q.FlowView(t.Context(), "root", FlowLimits{})
		if err != nil {
			t.Fatal(err)
		}
		for at := v; at != nil; {
			path += " " + at.ID
			next := at.Children
			at = nil
			for _, c := range next {
				if c.Blocking {
					at = c
				}
			}
		}
		return path
	}
	if got := blocking(); got != " root mid deep" {
		t.Errorf("held up by%s", got)
	}
	if err := q.client.Del(t.Context(), kidsOf(q).JobKey("later")).Err(); err != nil {
		t.Fatal(err)
	}
	if err := q.client.ZRem(t.Context(), kidsOf(q).Delayed(), "later").Err(); err != nil {
		t.Fatal(err)
	}
	if got := blocking(); got != " root later" {
		t.Errorf("a child that is gone: held up by%s", got)
	}
}

func TestFlowReadsWholeJobs(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	addFlow(t, q, family(leaf("a", JobOptions{Attempts: 4}), leaf("b", JobOptions{})))
	if err := q.client.Del(t.Context(), kidsOf(q).JobKey("b")).Err(); err != nil {
		t.Fatal(err)
	}
	f, err := q.Flow(t.Context(), "root", FlowLimits{})
	if err != nil || string(f.Job.Data) != `"r"` || len(f.Children) != 1 || f.Children[0].Job.Opts.Attempts != 4 {
		t.Fatalf("%+v, %v", f, err)
	}
	kid := f.Children[0].Job
	if kid.Queue().Name != "kids" || kid.Key() != kidsOf(q).JobKey("a") {
		t.Errorf("the child belongs to %s", kid.Key())
	}
	if s, err := kid.Queue().State(t.Context(), kid.ID); s != keys.Waiting || err != nil {
		t.Errorf("state of the child: %s, %v", s, err)
	}
	if _, err := q.Flow(t.Context(), "nobody", FlowLimits{}); !errors.Is(err, ErrJobNotFound) {
		t.Errorf("of a missing job: %v", err)
	}
}

// TestFlowViewPrefersParents: of many pending children, those that wait for others are among the few that are read.
func TestFlowViewPrefersParents(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	children := []FlowNode{{Queue: "q", Name: "mid", Options: JobOptions{ID: "mid"}, Children: []FlowNode{leaf("deep", JobOptions{})}}}
	for i := range 60 {
		children = append(children, leaf(fmt.Sprintf("leaf-%d", i), JobOptions{Delay: time.Hour}))
	}
	addFlow(t, q, family(children...))
	v, err := q.FlowView(t.Context(), "root", FlowLimits{Children: 3})
	if err != nil || len(v.Children) != 3 || v.Children[0].ID != "mid" || !v.Children[0].Children[0].Blocking {
		t.Errorf("read %v, %v", outline(v, ""), err)
	}
}

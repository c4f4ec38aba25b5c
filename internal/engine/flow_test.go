package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/google/go-cmp/cmp"
)

func newFlows(t *testing.T, q *Queue) *FlowProducer {
	t.Helper()
	p, err := NewFlowProducer(FlowProducerOptions{
		Client: q.client, Prefix: q.Prefix, Defaults: map[string]JobOptions{"kids": {Attempts: 3, KeepFailed: KeepCount(5)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// leaf is a node of the queue kids.
func leaf(id string, o JobOptions) FlowNode {
	o.ID = id
	return FlowNode{Queue: "kids", Name: id, Options: o}
}

func addFlow(t *testing.T, q *Queue, root FlowNode) *Flow {
	t.Helper()
	f, err := newFlows(t, q).Add(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// kidsOf is the queue kids beside q.
func kidsOf(q *Queue) *Queue { return q.sibling(keys.Queue{Prefix: q.Prefix, Name: "kids"}) }

func family(children ...FlowNode) FlowNode {
	return FlowNode{Queue: "q", Name: "root", Data: "r", Options: JobOptions{ID: "root"}, Children: children}
}

func TestAddFlow(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	other := q.Prefix + "-other"
	f := addFlow(t, q, family(
		FlowNode{Queue: "q", Name: "mid", Children: []FlowNode{leaf("deep", JobOptions{OnFailure: FailParentOnFailure})}},
		leaf("late", JobOptions{Delay: time.Hour, Attempts: 7}),
		FlowNode{Queue: "far", Prefix: other, Name: "far", Data: []int{1}},
	))
	mid, deep, late, far := f.Children[0], f.Children[0].Children[0], f.Children[1], f.Children[2]
	if len(mid.Job.ID) != 36 || mid.Job.Opts.ID != "" || f.Job.ID != "root" || f.Job.Key() != q.JobKey("root") {
		t.Errorf("root %s, mid %s", f.Job.ID, mid.Job.ID)
	}
	kids, away := kidsOf(q), q.sibling(keys.Queue{Prefix: other, Name: "far"})
	for _, tt := range []struct {
		queue *Queue
		job   *Job
		state keys.State
		at    string // parent
		opts  string
	}{
		{q, f.Job, keys.WaitingChildren, "", `{"attempts":0,"jobId":"root"}`},
		{q, mid.Job, keys.WaitingChildren, "root", `{"attempts":0,"parent":{"id":"root","queue":"` + q.Qualified() + `"}}`},
		{kids, deep.Job, keys.Waiting, mid.Job.ID, `{"attempts":3,"jobId":"deep","removeOnFail":5,"parent":{"id":"` + mid.Job.ID + `","queue":"` + q.Qualified() + `"},"fpof":true}`},
		{kids, late.Job, keys.Delayed, "root", `{"attempts":7,"jobId":"late","delay":3600000,"removeOnFail":5,"parent":{"id":"root","queue":"` + q.Qualified() + `"}}`},
		{away, far.Job, keys.Waiting, "root", `{"attempts":0,"parent":{"id":"root","queue":"` + q.Qualified() + `"}}`},
	} {
		if got := state(t, tt.queue, tt.job.ID); got != tt.state {
			t.Errorf("%s is %s, want %s", tt.job.Name, got, tt.state)
		}
		stored := read(t, tt.queue, tt.job.ID)
		if diff := cmp.Diff(stored.Fields, tt.job.Fields); diff != "" {
			t.Errorf("%s is stored differently (-stored +returned):\n%s", tt.job.Name, diff)
		}
		if string(stored.RawOpts) != tt.opts || tt.at != "" && stored.ParentKey != q.JobKey(tt.at) {
			t.Errorf("%s has options %s and parent %s", tt.job.Name, stored.RawOpts, stored.ParentKey)
		}
	}
	if counts, err := f.Job.DependencyCounts(t.Context()); err != nil || counts != (DependencyCounts{Unprocessed: 3}) {
		t.Errorf("children of root: %+v, %v", counts, err)
	}
}

func TestAddFlowToAnExistingJob(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	addFlow(t, q, family(leaf("a", JobOptions{})))
	more := family(leaf("b", JobOptions{}))
	more.Options = JobOptions{ID: "second", Parent: &ParentRef{ID: "root", Queue: q.Qualified()}}
	addFlow(t, q, more)
	root := read(t, q, "root")
	deps, err := root.Dependencies(t.Context())
	if err != nil || len(deps.Unprocessed) != 2 {
		t.Errorf("children of root: %+v, %v", deps, err)
	}
	more.Options.Parent.ID = "nobody"
	more.Options.ID = "third"
	if f, err := newFlows(t, q).Add(t.Context(), more); !errors.Is(err, ErrParentNotFound) || f.Err == nil || f.Job != nil {
		t.Errorf("add below a missing job: %+v, %v", f, err)
	}
}

func TestAddFlowOfExistingJobs(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	kids := kidsOf(q)
	add(t, kids, "done", nil, JobOptions{ID: "done"})
	if _, err := newWorker(t, kids, func(context.Context, *Job) (any, error) { return 5, nil }, nil).RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := addFlow(t, q, family(leaf("done", JobOptions{})))
	if !f.Children[0].Job.Existing || state(t, q, "root") != keys.Waiting {
		t.Errorf("root is %s", state(t, q, "root"))
	}
	values, err := f.Job.ChildrenValues(t.Context())
	if err != nil || string(values[kids.JobKey("done")]) != "5" {
		t.Errorf("values %v, %v", values, err)
	}
	stolen := family(leaf("done", JobOptions{}), leaf("new", JobOptions{}))
	stolen.Options.ID = "thief"
	f, err = newFlows(t, q).Add(t.Context(), stolen)
	if !errors.Is(err, ErrParentReplaced) || f.Job == nil || !errors.Is(f.Children[0].Err, ErrParentReplaced) || f.Children[1].Job == nil {
		t.Errorf("took a child away: %+v, %v", f, err)
	}
}

func TestAddBulkFlows(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	one, two := family(leaf("a", JobOptions{})), family(leaf("b", JobOptions{}))
	two.Options.ID = "root2"
	flows, err := newFlows(t, q).AddBulk(t.Context(), []FlowNode{one, two})
	if err != nil || len(flows) != 2 || flows[1].Job.ID != "root2" || flows[1].Children[0].Job.ID != "b" {
		t.Errorf("%+v, %v", flows, err)
	}
	if flows, err := newFlows(t, q).AddBulk(t.Context(), nil); len(flows) != 0 || err != nil {
		t.Errorf("no flows: %v, %v", flows, err)
	}
}

func TestAddFlowRefuses(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	dedup := JobOptions{Deduplication: &Deduplication{ID: "d"}}
	inner := family(leaf("a", JobOptions{}))
	inner.Options = dedup
	for want, root := range map[string]FlowNode{
		"Deduplication options cannot be used on flow nodes with children": inner,
		"Deduplication and parent options cannot be used together":         family(leaf("a", dedup)),
		"Queue name must be provided":                                      {Name: "x"},
		"Queue name cannot contain :":                                      family(FlowNode{Queue: "a:b"}),
		"Custom Id cannot be integers":                                     family(leaf("5", JobOptions{})),
		`"sometimes" is none of`:                                           family(leaf("a", JobOptions{OnFailure: "sometimes"})),
		"cannot be encoded as JSON":                                        family(FlowNode{Queue: "q", Data: func() {}}),
	} {
		if _, err := newFlows(t, q).Add(t.Context(), root); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if left := q.client.Exists(t.Context(), q.ID(), q.Meta()).Val(); left != 0 {
		t.Error("something was written")
	}
	if _, err := NewFlowProducer(FlowProducerOptions{}); err == nil {
		t.Error("a producer without a client")
	}
}

// TestChildFailures runs a child that fails for good, with each option, while a sibling is still to come.
func TestChildFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		now, end keys.State // of the parent, after the failure and after the sibling completed
		reason   string
		ignored  bool
	}{
		"":                        {now: keys.WaitingChildren, end: keys.WaitingChildren},
		FailParentOnFailure:       {now: keys.Waiting, end: keys.Failed, reason: "child %s failed"},
		ContinueParentOnFailure:   {now: keys.Waiting, end: keys.Completed, ignored: true},
		IgnoreDependencyOnFailure: {now: keys.WaitingChildren, end: keys.Completed, ignored: true},
		RemoveDependencyOnFailure: {now: keys.WaitingChildren, end: keys.Completed},
	}
	for option, tt := range tests {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t)
			kids := kidsOf(q)
			f := addFlow(t, q, family(leaf("bad", JobOptions{OnFailure: option, Given: GivenAttempts}), leaf("good", JobOptions{})))
			worker := func(q *Queue) *Worker {
				return newWorker(t, q, func(ctx context.Context, j *Job) (any, error) {
					if j.Name == "bad" {
						return nil, errors.New("broken")
					}
					if j.Name == "root" {
						return "root ran", j.RemoveUnprocessedChildren(ctx)
					}
					return "fine", nil
				}, nil)
			}
			run := func(q *Queue) {
				if _, err := worker(q).RunOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			run(kids)
			if got := state(t, q, "root"); got != tt.now {
				t.Errorf("after the failure the parent is %s, want %s", got, tt.now)
			}
			if option != ContinueParentOnFailure {
				run(kids)
			}
			run(q)
			root := read(t, q, "root")
			if got := state(t, q, "root"); got != tt.end {
				t.Errorf("in the end the parent is %s, want %s", got, tt.end)
			}
			if want := strings.ReplaceAll(tt.reason, "%s", kids.JobKey("bad")); root.FailedReason != want {
				t.Errorf("the parent failed because %q, want %q", root.FailedReason, want)
			}
			ignored, err := f.Job.IgnoredFailures(t.Context())
			if err != nil || (ignored[kids.JobKey("bad")] == "broken") != tt.ignored {
				t.Errorf("ignored %v, %v", ignored, err)
			}
			if _, err := kids.Job(t.Context(), "good"); option == ContinueParentOnFailure && !errors.Is(err, ErrJobNotFound) {
				t.Errorf("the child that had not run is still there: %v", err)
			}
		})
	}
}

func TestRetryOfAChildReattaches(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	kids := kidsOf(q)
	f := addFlow(t, q, family(leaf("bad", JobOptions{OnFailure: IgnoreDependencyOnFailure, Given: GivenAttempts}), leaf("slow", JobOptions{Delay: time.Hour})))
	var fails atomic.Bool
	fails.Store(true)
	w := newWorker(t, kids, func(context.Context, *Job) (any, error) {
		if fails.Swap(false) {
			return nil, errors.New("broken")
		}
		return 1, nil
	}, nil)
	counts := func() DependencyCounts {
		c, err := f.Job.DependencyCounts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if _, err := w.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := counts(); got != (DependencyCounts{Unprocessed: 1, Ignored: 1}) {
		t.Errorf("after the failure: %+v", got)
	}
	if err := kids.RetryJob(t.Context(), keys.Failed, "bad", false); err != nil {
		t.Fatal(err)
	}
	if got := counts(); got != (DependencyCounts{Unprocessed: 2}) {
		t.Errorf("after the retry: %+v", got)
	}
	if _, err := w.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := counts(); got != (DependencyCounts{Unprocessed: 1, Processed: 1}) || got.All() != 2 {
		t.Errorf("after the second run: %+v", got)
	}
}

func TestMoveToWaitingChildren(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	kids := kidsOf(q)
	root := add(t, q, "root", nil, JobOptions{ID: "root", Attempts: 1})
	step := 0
	w := newWorker(t, q, func(ctx context.Context, j *Job) (any, error) {
		step++
		if step == 1 {
			if waits, err := j.MoveToWaitingChildren(ctx); waits || err != nil {
				return nil, fmt.Errorf("waits for nobody: %v, %w", waits, err)
			}
			add(t, kids, "kid", nil, JobOptions{ID: "kid", Parent: &ParentRef{ID: j.ID, Queue: q.Qualified()}})
			if waits, err := j.MoveToWaitingChild(ctx, kids.JobKey("stranger")); waits || err != nil {
				return nil, fmt.Errorf("waits for a stranger: %v, %w", waits, err)
			}
			if waits, err := j.MoveToWaitingChild(ctx, kids.JobKey("kid")); !waits || err != nil {
				return nil, fmt.Errorf("does not wait: %v, %w", waits, err)
			}
			return nil, ErrMoved
		}
		values, err := j.ChildrenValues(ctx)
		return slices.Sorted(maps.Keys(values)), err
	}, nil)
	if _, err := w.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitState(t, q, "root", keys.WaitingChildren)
	if j, err := w.RunOnce(t.Context()); j != nil || err != nil {
		t.Fatalf("the parent ran before its child: %v, %v", j, err)
	}
	if _, err := newWorker(t, kids, func(context.Context, *Job) (any, error) { return 1, nil }, nil).RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := read(t, q, root.ID)
	want, _ := json.Marshal([]string{kids.JobKey("kid")})
	if string(got.ReturnValue) != string(want) || got.AttemptsStarted != 2 || got.AttemptsMade != 1 {
		t.Errorf("returned %s after %d starts and %d attempts", got.ReturnValue, got.AttemptsStarted, got.AttemptsMade)
	}
}

func TestRemoveChildDependency(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	kids := kidsOf(q)
	addFlow(t, q, family(leaf("a", JobOptions{}), leaf("b", JobOptions{})))
	for i, id := range []string{"a", "b"} {
		kid := read(t, kids, id)
		if was, err := kid.RemoveChildDependency(t.Context()); !was || err != nil || kid.ParentKey != "" {
			t.Fatalf("%v, %v, parent %q", was, err, kid.ParentKey)
		}
		if _, ok := read(t, kids, id).Fields["parentKey"]; ok {
			t.Error("the child still knows its parent")
		}
		if got, want := state(t, q, "root"), []keys.State{keys.WaitingChildren, keys.Waiting}[i]; got != want {
			t.Errorf("after %d children the parent is %s, want %s", i+1, got, want)
		}
		if was, err := kid.RemoveChildDependency(t.Context()); was || !errors.Is(err, ErrParentNotFound) {
			t.Errorf("again: %v, %v", was, err)
		}
	}
	gone := &Job{ID: "gone", ParentKey: q.JobKey("root"), queue: kids}
	if _, err := gone.RemoveChildDependency(t.Context()); !errors.Is(err, ErrJobNotFound) {
		t.Errorf("of a missing job: %v", err)
	}
}

func TestDependenciesByPage(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	root := add(t, q, "root", nil, JobOptions{ID: "root"})
	want := map[ChildKind]int{ChildUnprocessed: 700, ChildProcessed: 700, ChildIgnored: 3, ChildFailed: 45}
	for kind, n := range want {
		for i := range n {
			key := fmt.Sprint("bull:kids:", i)
			var err error
			switch kind {
			case ChildUnprocessed:
				err = q.client.SAdd(t.Context(), q.Queue.Dependencies("root"), key).Err()
			case ChildProcessed:
				err = q.client.HSet(t.Context(), q.Processed("root"), key, i).Err()
			case ChildIgnored:
				err = q.client.HSet(t.Context(), q.Queue.IgnoredFailures("root"), key, "why").Err()
			case ChildFailed:
				err = q.client.Do(t.Context(), "ZADD", q.Unsuccessful("root"), i, key).Err()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, kind := range ChildKinds {
		seen, pages := map[string]bool{}, 0
		for cursor, more := uint64(0), true; more; pages++ {
			page, next, err := root.DependenciesPage(t.Context(), kind, cursor, 15)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range page {
				seen[c.Key] = true
				if (c.Value != nil) != (kind == ChildProcessed) || (c.Reason == "why") != (kind == ChildIgnored) {
					t.Fatalf("%s child %+v", kind, c)
				}
			}
			cursor, more = next, next != 0
		}
		if len(seen) != want[kind] || want[kind] > 100 && pages < 10 {
			t.Errorf("%d %s children on %d pages, want %d", len(seen), kind, pages, want[kind])
		}
	}
	counts, err := root.DependencyCounts(t.Context())
	for kind, n := range want {
		if err != nil || counts.Of(kind) != int64(n) {
			t.Errorf("counts %+v, %v", counts, err)
		}
	}
	deps, err := root.Dependencies(t.Context())
	if err != nil || len(deps.Unprocessed) != 700 || len(deps.Processed) != 700 || len(deps.Ignored) != 3 || len(deps.Failed) != 45 {
		t.Errorf("%v", err)
	}
	if _, _, err := root.DependenciesPage(t.Context(), "odd", 0, 1); !errors.Is(err, ErrInvalid) {
		t.Errorf("of an unknown kind: %v", err)
	}
	if _, _, err := root.DependenciesPage(t.Context(), ChildFailed, 0, 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("of no size: %v", err)
	}
}

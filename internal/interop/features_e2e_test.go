package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// generations are the queues of the trees of these tests, from the root down.
var generations = []string{"top", "mid", "low"}

const (
	treesPerSide   = 12
	middlesPerTree = 4
	leavesPerTwig  = 5
)

// TestFlowsRunByBoth has Node's FlowProducer and ours add trees of three levels over three queues, and workers of both
// run them. Every job adds up what the jobs below it gave, so that a lost or doubled child would show in the root.
func TestFlowsRunByBoth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tally := newTally()
	for _, name := range generations {
		w.ask(reference, "work", map[string]any{"queue": name, "name": name, "worker": map[string]any{"concurrency": 2, "drainDelay": 1}}, nil)
		w.startOn(name, engine.WorkerOptions{Concurrency: 2, DrainDelay: time.Second, Handler: sumOf(tally)})
	}
	var flows []map[string]any
	var trees []engine.FlowNode
	for i := range treesPerSide {
		flows = append(flows, nodeTree(fmt.Sprint("node-", i), 0))
		trees = append(trees, engineTree(fmt.Sprint("ours-", i), 0))
	}
	w.ask(reference, "flows", map[string]any{"flows": flows}, nil)
	producer, err := engine.NewFlowProducer(engine.FlowProducerOptions{Client: w.client})
	require.NoError(t, err)
	_, err = producer.AddBulk(t.Context(), trees)
	require.NoError(t, err)

	top := w.queueNamed("top")
	w.await("all roots completed", func() bool {
		n, err := top.Counts(t.Context())
		return err == nil && n[keys.Completed] == 2*treesPerSide
	})
	nodeRan := w.nodeRuns(reference)
	total := 0
	for i := range treesPerSide {
		for _, kind := range []string{"node-", "ours-"} {
			root, err := top.Job(t.Context(), kind+strconv.Itoa(i))
			require.NoError(t, err)
			require.Equal(t, strconv.Itoa(1+middlesPerTree*(1+leavesPerTwig)), string(root.ReturnValue), "sum of %s", root.ID)
		}
		total += 2 * (1 + middlesPerTree*(1+leavesPerTwig))
	}
	for id, n := range nodeRan {
		require.Equal(t, 1, n, "Node ran %s twice", id)
		require.Zero(t, tally.runs[id], "%s was run by both", id)
	}
	require.Empty(t, tally.doubles)
	require.Len(t, nodeRan, total-len(tally.runs), "every job is run by one of them")
	require.Greater(t, len(nodeRan), total/10, "Node hardly got any job")
	require.Greater(t, len(tally.runs), total/10, "the engine hardly got any job")
	w.await("all parents let go", func() bool {
		n, err := w.queueNamed("mid").Counts(t.Context())
		return err == nil && n[keys.Completed] == 2*treesPerSide*middlesPerTree && n[keys.WaitingChildren] == 0
	})
	for _, name := range generations {
		w.ask(reference, "stopWork", map[string]any{"name": name}, nil)
	}
}

// nodeTree is a tree as Node's FlowProducer takes it, from a level down.
func nodeTree(id string, level int) map[string]any {
	tree := map[string]any{
		"name": "sum", "queueName": generations[level], "data": map[string]int{"n": 1}, "opts": map[string]any{"jobId": id},
	}
	var children []map[string]any
	for i := range []int{middlesPerTree, leavesPerTwig, 0}[level] {
		children = append(children, nodeTree(fmt.Sprint(id, "-", i), level+1))
	}
	if children != nil {
		tree["children"] = children
	}
	return tree
}

func engineTree(id string, level int) engine.FlowNode {
	tree := engine.FlowNode{
		Queue: generations[level], Name: "sum", Data: map[string]int{"n": 1}, Options: engine.JobOptions{ID: id},
	}
	for i := range []int{middlesPerTree, leavesPerTwig, 0}[level] {
		tree.Children = append(tree.Children, engineTree(fmt.Sprint(id, "-", i), level+1))
	}
	return tree
}

// sumOf is the processor sum of Node's workers.
func sumOf(y *tally) engine.Handler {
	return func(ctx context.Context, j *engine.Job) (any, error) {
		_, end := y.begin(j.ID)
		defer end()
		var data struct{ N int }
		if err := json.Unmarshal(j.Data, &data); err != nil {
			return nil, err
		}
		values, err := j.ChildrenValues(ctx)
		for _, v := range values {
			n, _ := strconv.Atoi(string(v))
			data.N += n
		}
		return data.N, err
	}
}

// queueNamed is another queue of the same Redis.
func (w *world) queueNamed(name string) *engine.Queue {
	w.t.Helper()
	q, err := engine.NewQueue(engine.QueueOptions{Client: w.client, Name: name})
	require.NoError(w.t, err)
	return q
}

// startOn is start for another queue.
func (w *world) startOn(name string, o engine.WorkerOptions) {
	w.t.Helper()
	o.Queue, o.Blocking = w.queueNamed(name), w.blocking
	worker, err := engine.NewWorker(o)
	require.NoError(w.t, err)
	require.NoError(w.t, worker.Start(w.t.Context()))
	w.t.Cleanup(func() {
		left, err := worker.Stop(context.Background())
		if err != nil || len(left) > 0 {
			w.t.Errorf("worker of %s was stopped with %v, %v", name, left, err)
		}
	})
}

// relay are the schedulers of TestSchedulersChangeHands.
var relay = map[string]struct {
	repeat map[string]any
	period time.Duration
}{
	"beat": {map[string]any{"every": 150}, 150 * time.Millisecond},
	"cron": {map[string]any{"pattern": "* * * * * *", "tz": "Europe/Madrid"}, time.Second},
}

// TestSchedulersChangeHands lets Node make schedulers, a process of ours fire them, die, and another one fire them to
// the twentieth time, and Node go on. No firing may be doubled, and none missing but those whose time had passed when
// the next one was planned.
func TestSchedulersChangeHands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id, r := range relay {
		var job string
		w.ask(reference, "upsertScheduler", map[string]any{"scheduler": id, "repeat": r.repeat, "template": map[string]any{"name": "ok", "data": map[string]string{"of": id}}}, &job)
		require.True(t, strings.HasPrefix(job, "repeat:"+id+":"))
	}
	w.ask(reference, "work", map[string]any{"worker": map[string]any{"name": "node-first", "drainDelay": 1}}, nil)
	w.awaitFirings("cron", 2)
	w.ask(reference, "stopWork", struct{}{}, nil)

	first := startWorkerProcess(t, workerSpec{w.server.Socket, "ours-first", faultLock})
	w.awaitFirings("cron", 12)
	kill(first)
	second := startWorkerProcess(t, workerSpec{w.server.Socket, "ours-second", faultLock})
	w.awaitFirings("cron", 22)
	require.NoError(t, second.Process.Signal(syscall.SIGTERM))
	require.NoError(t, second.Wait())

	w.ask(reference, "work", map[string]any{"worker": map[string]any{"name": "node-last", "drainDelay": 1}}, nil)
	w.awaitFirings("cron", 24)
	for id, r := range relay {
		fired := w.firings(id)
		by := map[string]int{}
		for i, f := range fired {
			by[f.by]++
			require.Equal(t, `{"of":"`+id+`"}`, f.data, "data of firing %d of %s", i, id)
			if i > 0 {
				// A pattern is asked a moment before the job is stored, which is the time we know.
				period, last := r.period.Milliseconds(), fired[i-1].at
				require.Contains(t, []int64{nextSlot(id, period, last, f.planned), nextSlot(id, period, last, f.planned-100)}, f.at,
					"%s: what follows the firing of %d, planned at %d", id, last, f.planned)
			}
		}
		for _, name := range []string{"node-first", "ours-first", "ours-second", "node-last"} {
			require.Positive(t, by[name], "%s fired %s never: %v", name, id, by)
		}
		require.GreaterOrEqual(t, by["ours-first"]+by["ours-second"], 18, "%s: %v", id, by)
		s, err := w.q.Scheduler(t.Context(), id)
		require.NoError(t, err)
		require.GreaterOrEqual(t, s.Iterations, int64(len(fired)), "counter of %s", id)
		require.LessOrEqual(t, s.Iterations, int64(len(w.firings(id)))+2, "counter of %s", id)
	}
	w.ask(reference, "stopWork", struct{}{}, nil)
	w.sound()
}

// firing is a job of a scheduler that has ended.
type firing struct {
	at, planned int64 // ms
	by, data    string
}

// firings are the completed jobs of a scheduler in the order of their times.
func (w *world) firings(id string) []firing {
	w.t.Helper()
	ids, err := w.q.IDs(w.t.Context(), keys.Completed, 0, every, time.Time{})
	require.NoError(w.t, err)
	jobs, err := w.q.Jobs(w.t.Context(), ids)
	require.NoError(w.t, err)
	var fired []firing
	for _, j := range jobs {
		if at, ok := strings.CutPrefix(j.ID, "repeat:"+id+":"); ok {
			ms, err := strconv.ParseInt(at, 10, 64)
			require.NoError(w.t, err)
			fired = append(fired, firing{ms, j.Timestamp.UnixMilli(), j.ProcessedBy, string(j.Data)})
		}
	}
	slices.SortFunc(fired, func(a, b firing) int { return int(a.at - b.at) })
	return fired
}

func (w *world) awaitFirings(id string, n int) {
	w.t.Helper()
	w.await(fmt.Sprintf("%d firings of %s", n, id), func() bool { return len(w.firings(id)) >= n })
}

// nextSlot is when a scheduler fires after a firing, as planned at a time: one period later, or, if that has passed, in
// the first slot still to come. A pattern's slots are strictly after the time of planning.
func nextSlot(id string, period, last, planned int64) int64 {
	next := last + period
	if id == "cron" && next <= planned || next < planned {
		next += (planned-next)/period*period + period
	}
	return next
}

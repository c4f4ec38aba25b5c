package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"

	"github.com/stretchr/testify/require"
)

// ourJobs are the kinds of jobs that the engine adds for Node's Worker, in turn.
var ourJobs = []plan{
	{name: "ok", data: `{"n":1,"s":"é 🐂"}`, want: "completed", made: 1, give: json.RawMessage(`{"echo":{"n":1,"s":"é 🐂"}}`)},
	{name: "ok", data: `{"a":[{}]}`, opts: `{"lifo":true}`, want: "completed", made: 1, give: json.RawMessage(`{"echo":{"a":[{}]}}`)},
	{name: "ok", data: `"text"`, opts: `{"delay":200}`, want: "completed", made: 1},
	{name: "ok", data: `null`, opts: `{"priority":5}`, want: "completed", made: 1},
	{name: "ok", data: `{}`, opts: `{"jobId":"order-$i"}`, want: "completed", made: 1},
	{name: "ok", data: `{}`, opts: `{"delay":100,"priority":2,"jobId":"a:b:$i"}`, want: "completed", made: 1},
	{name: "flaky", data: `{"failures":1}`, opts: `{"attempts":2}`, want: "completed", made: 2, give: json.RawMessage(`{"after":1}`)},
	{name: "flaky", data: `{"failures":2}`, opts: `{"attempts":3,"backoff":{"type":"exponential","delay":20}}`, want: "completed", made: 3},
	{name: "flaky", data: `{"failures":1}`, opts: `{"attempts":2,"priority":3,"backoff":{"type":"fixed","delay":50}}`, want: "completed", made: 2},
	{name: "fail", data: `{}`, opts: `{"attempts":2}`, want: "failed", made: 2, why: "always fails"},
	{name: "slow", data: `{"ms":30}`, want: "completed", made: 1},
}

// addOurs adds n jobs through the engine, half of them in one batch.
func (w *world) addOurs(n int) (ids []string, by map[string]plan) {
	w.t.Helper()
	side := w.sides[ours].(*engineSide)
	by = map[string]plan{}
	var specs []engine.JobSpec
	for i := range n {
		p := ourJobs[i%len(ourJobs)]
		opts, err := side.options(w.t.Context(), json.RawMessage(or(strings.ReplaceAll(p.opts, "$i", fmt.Sprint("ours-", i)), "{}")))
		require.NoError(w.t, err)
		specs = append(specs, engine.JobSpec{Name: p.name, Data: json.RawMessage(p.data), Options: opts})
	}
	jobs, err := w.q.AddBulk(w.t.Context(), specs[:n/2])
	require.NoError(w.t, err)
	for _, s := range specs[n/2:] {
		j, err := w.q.Add(w.t.Context(), s.Name, s.Data, s.Options)
		require.NoError(w.t, err)
		jobs = append(jobs, j)
	}
	for i, j := range jobs {
		ids = append(ids, j.ID)
		by[j.ID] = ourJobs[i%len(ourJobs)]
	}
	require.Len(w.t, by, n, "ids are not unique")
	return ids, by
}

// requireDone compares every job with its plan.
func (w *world) requireDone(ids []string, by map[string]plan) {
	w.t.Helper()
	for id, got := range w.examine(ids) {
		p := by[id]
		require.Equal(w.t, p.want, got.State, "state of job %s (%s %s)", id, p.name, p.opts)
		require.Equal(w.t, p.made, got.AttemptsMade, "attempts of job %s (%s %s)", id, p.name, p.opts)
		require.Equal(w.t, p.made, got.AttemptsStarted, "starts of job %s (%s %s)", id, p.name, p.opts)
		if p.want == "failed" {
			require.Equal(w.t, p.why, got.FailedReason)
		}
		if p.give != nil {
			require.JSONEq(w.t, string(p.give), string(got.ReturnValue), "result of job %s", id)
		}
	}
}

// requireRuns requires that all workers together ran each job exactly as often as planned.
func (w *world) requireRuns(by map[string]plan, runs ...map[string]int) {
	w.t.Helper()
	for id, p := range by {
		sum := 0
		for _, r := range runs {
			sum += r[id]
		}
		require.Equal(w.t, p.made, sum, "runs of job %s (%s %s)", id, p.name, p.opts)
	}
}

// nodeRuns counts the runs of the Node workers of one side.
func (w *world) nodeRuns(side string) map[string]int {
	w.t.Helper()
	var list []string
	w.ask(side, "runs", struct{}{}, &list)
	runs := map[string]int{}
	for _, id := range list {
		runs[id]++
	}
	return runs
}

// TestNodeWorkersRunOurJobs has the engine add a thousand jobs, and a Node Worker of each version run them.
func TestNodeWorkersRunOurJobs(t *testing.T) {
	w := newWorld(t)
	ids, by := w.addOurs(1000)
	for _, side := range []string{reference, previous} {
		w.ask(side, "work", map[string]any{"worker": map[string]any{"concurrency": 20, "drainDelay": 1}}, nil)
	}
	w.awaitFinished(len(ids))
	for _, side := range []string{reference, previous} {
		w.ask(side, "stopWork", struct{}{}, nil)
	}
	w.sound()
	w.requireDone(ids, by)
	w.requireRuns(by, w.nodeRuns(reference), w.nodeRuns(previous))
}

// asNode does what the Node workers do with a job.
func asNode(ctx context.Context, j *engine.Job) (any, error) {
	var data struct {
		MS       int
		Failures int
	}
	_ = json.Unmarshal(j.Data, &data)
	switch j.Name {
	case "fail":
		return nil, errors.New("always fails")
	case "flaky":
		if j.AttemptsMade < data.Failures {
			return nil, fmt.Errorf("failure %d", j.AttemptsMade+1)
		}
		return map[string]int{"after": j.AttemptsMade}, nil
	case "slow":
		select {
		case <-time.After(time.Duration(data.MS) * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return map[string]int{"slept": data.MS}, nil
	}
	return map[string]json.RawMessage{"echo": j.Data}, nil
}

// TestBothOnOneQueue has producers and workers of all three kinds on one queue at once.
func TestBothOnOneQueue(t *testing.T) {
	w := newWorld(t)
	tally := newTally()
	stop := w.start(engine.WorkerOptions{
		Concurrency: 10, DrainDelay: time.Second,
		Handler: func(ctx context.Context, j *engine.Job) (any, error) {
			_, end := tally.begin(j.ID)
			defer end()
			return asNode(ctx, j)
		},
	})
	for _, side := range []string{reference, previous} {
		w.ask(side, "work", map[string]any{"worker": map[string]any{"concurrency": 5, "drainDelay": 1}}, nil)
	}
	w.ask(reference, "listen", struct{}{}, nil)
	ids, by := w.addOurs(500)
	for _, side := range []string{reference, previous} {
		var jobs []map[string]any
		for i := range 250 {
			p := ourJobs[i%len(ourJobs)]
			p.opts = strings.ReplaceAll(p.opts, "$i", strings.ReplaceAll(side, " ", "-")+"-$i")
			jobs = append(jobs, p.jobOf(i))
		}
		var added []string
		w.ask(side, "addBulk", map[string]any{"jobs": jobs}, &added)
		for i, id := range added {
			ids, by[id] = append(ids, id), ourJobs[i%len(ourJobs)]
		}
	}
	require.Len(t, by, 1000, "ids are not unique")
	w.awaitFinished(len(ids))
	stop()
	for _, side := range []string{reference, previous} {
		w.ask(side, "stopWork", struct{}{}, nil)
	}
	w.sound()
	require.Empty(t, tally.doubles)
	w.requireDone(ids, by)
	w.requireRuns(by, tally.runs, w.nodeRuns(reference), w.nodeRuns(previous))
	for name, n := range map[string]int{
		ours: len(tally.runs), reference: len(w.nodeRuns(reference)), previous: len(w.nodeRuns(previous)),
	} {
		require.Greater(t, n, 50, "%s hardly got any job", name)
	}
	for id, p := range by {
		by[id] = withRuns(p)
	}
	w.requireHeard(by)
}

// withRuns says that every attempt is one run.
func withRuns(p plan) plan {
	p.runs = p.made
	return p
}

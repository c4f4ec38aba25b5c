package interop

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"bullpen/internal/engine"

	"github.com/stretchr/testify/require"
)

// waited are jobs that somebody waits for, and what comes of it. None goes with its end: whoever begins to wait later
// misses it, with BullMQ and with us.
var waited = []struct {
	name, data, opts string
	value, failed    string
}{
	{name: "ok", data: `{"n":1,"s":"é 🐂"}`, value: `{"echo":{"n":1,"s":"é 🐂"}}`},
	{name: "ok", data: `null`, opts: `{"delay":100}`, value: `{"echo":null}`},
	{name: "slow", data: `{"ms":300}`, opts: `{"priority":2}`, value: `{"slept":300}`},
	{name: "flaky", data: `{"failures":1}`, opts: `{"attempts":2,"backoff":50}`, value: `{"after":1}`},
	{name: "fail", data: `{}`, failed: "always fails"},
	{name: "fail", data: `{}`, opts: `{"attempts":2}`, failed: "always fails"},
}

// TestNodeWaitsForOurWorkers has producers of both versions wait for jobs that a worker of ours runs, find that worker,
// and hear of every kind of progress.
func TestNodeWaitsForOurWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	progress := []any{5.0, "é\n🐂", true, []any{1.0, map[string]any{}}, map[string]any{"page": 1.0}, ""}
	w.start(engine.WorkerOptions{Name: "ours 1", Concurrency: 2, DrainDelay: time.Second, Handler: func(ctx context.Context, j *engine.Job) (any, error) {
		if j.Name != "progress" {
			return asNode(ctx, j)
		}
		for _, p := range progress {
			if err := j.UpdateProgress(ctx, p); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}})
	for _, side := range []string{reference, previous} {
		w.ask(side, "listen", struct{}{}, nil)
		for _, job := range waited {
			require.Equal(t, outcomeOf(job.value, job.failed), w.addAndWait(side, job.name, job.data, job.opts), "%s %s", job.name, job.opts)
		}
		require.Equal(t, map[string]any{"value": nil}, w.addAndWait(side, "progress", `{}`, ""))
		w.await("progress is heard", func() bool {
			var heard []any
			w.ask(side, "progress", struct{}{}, &heard)
			return len(heard) >= len(progress)
		})
		var heard []any
		w.ask(side, "progress", struct{}{}, &heard)
		require.Equal(t, progress, heard[len(heard)-len(progress):])
		var found, faults []string
		w.ask(side, "workers", struct{}{}, &found)
		require.Equal(t, []string{"bull:cQ==:w:ours_1"}, found)
		w.ask(side, "workerErrors", struct{}{}, &faults)
		require.Empty(t, faults, "what listeners complain of")
		w.ask(side, "unlisten", struct{}{}, nil)
	}
	w.sound()
}

// addAndWait has Node add a job and wait for it.
func (w *world) addAndWait(side, name, data, opts string) (got map[string]any) {
	w.t.Helper()
	w.ask(side, "addAndWait", map[string]any{"name": name, "data": json.RawMessage(data), "opts": json.RawMessage(or(opts, "{}"))}, &got)
	return got
}

// outcomeOf is how a job ended, as the driver tells it.
func outcomeOf(value, failed string) map[string]any {
	if failed != "" {
		return map[string]any{"failed": failed}
	}
	var v any
	_ = json.Unmarshal([]byte(value), &v)
	return map[string]any{"value": v}
}

// TestWeWaitForNodeWorkers has the engine wait for jobs that Workers of both versions run, the same handlers as ours.
func TestWeWaitForNodeWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	events, err := engine.NewQueueEvents(engine.EventsOptions{Queue: w.q, Blocking: w.blocking})
	require.NoError(t, err)
	require.NoError(t, events.Start(t.Context()))
	t.Cleanup(events.Stop)
	for _, side := range []string{reference, previous} {
		w.ask(side, "work", map[string]any{"worker": map[string]any{"concurrency": 2, "drainDelay": 1}}, nil)
		for _, job := range waited {
			o, err := w.sides[ours].(*engineSide).options(t.Context(), json.RawMessage(or(job.opts, "{}")))
			require.NoError(t, err)
			j, err := w.q.Add(t.Context(), job.name, json.RawMessage(job.data), o)
			require.NoError(t, err)
			value, err := events.WaitUntilFinished(t.Context(), j)
			if job.failed == "" {
				require.NoError(t, err)
				require.JSONEq(t, job.value, string(value))
				continue
			}
			var failure *engine.JobFailedError
			require.True(t, errors.As(err, &failure), "%v", err)
			require.Equal(t, job.failed, failure.Reason)
		}
		w.ask(side, "stopWork", struct{}{}, nil)
	}
	w.sound()
}

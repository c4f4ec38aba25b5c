package web

import (
	"net/url"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/operation"

	"github.com/stretchr/testify/require"
)

// queueCall is a call on the bench's queue.
func (b *bench) queueCall(action string, values url.Values) *Call {
	return &Call{Action: &Action{Name: action}, Queue: b.queue.Queue, Values: values, Now: time.Now()}
}

// steps runs an operation from here on to its end, with n items a step, and returns what was done in each.
func (b *bench) steps(spec operation.Spec, n int) (done []int64, refused []operation.Refusal) {
	b.t.Helper()
	for range 100 {
		batch, err := spec.Step(b.t.Context(), n)
		require.NoError(b.t, err)
		done, refused = append(done, batch.Done), append(refused, batch.Refused...)
		if batch.Last {
			return done, refused
		}
	}
	require.Fail(b.t, "it does not end")
	return nil, nil
}

func TestDrainIsABulkActOverASnapshot(t *testing.T) {
	b := newBench(t)
	b.add(25, engine.JobOptions{})
	b.add(3, engine.JobOptions{Priority: 2})
	b.add(4, engine.JobOptions{Delay: time.Hour})
	_, err := b.queue.UpsertScheduler(t.Context(), "nightly", engine.Repeat{Pattern: "0 3 1 1 *"}, engine.JobTemplate{Name: "backup"})
	require.NoError(t, err)
	spec := b.draining(b.queueCall("drain", url.Values{"delayed": {"1"}}), b.queue)
	before := b.count(keys.Waiting) + b.count(keys.Delayed) + b.count(keys.Prioritized)
	matched, err := spec.Prepare(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, matched)

	first, err := spec.Step(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, operation.Batch{Done: 10}, first, "one bounded script a step")
	for _, o := range []engine.JobOptions{{}, {LIFO: true}, {Priority: 1}, {Delay: time.Minute}} {
		b.add(5, o)
	}
	done, refused := b.steps(spec, 10)
	require.Equal(t, []int64{10, 5, 4, 3, 0}, done)
	require.Len(t, refused, 1)
	require.Equal(t, "it is the next run of a scheduler", refused[0].Reason)
	require.Equal(t, int64(10), b.count(keys.Waiting), "jobs that arrive later are not touched")
	require.Equal(t, int64(5), b.count(keys.Prioritized))
	require.Equal(t, int64(6), b.count(keys.Delayed))
}

func TestObliterateGoesInSteps(t *testing.T) {
	b := newBench(t)
	b.add(25, engine.JobOptions{})
	spec := obliterating(b.spec(b.queueCall("obliterate", nil), "the whole queue"), b.queue, false)
	matched, err := spec.Prepare(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(25), matched)
	first, err := spec.Step(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, operation.Batch{Done: 10}, first)

	require.NoError(t, b.queue.Resume(t.Context()))
	_, err = spec.Step(t.Context(), 10)
	require.ErrorContains(t, err, "The queue was resumed meanwhile.")
	require.NoError(t, b.queue.Pause(t.Context()))
	done, _ := b.steps(spec, 10)
	require.Equal(t, []int64{10, 5}, done)
	require.Empty(t, b.dump())
}

func TestAQueueIsObliteratedOnlyWhenItIsGone(t *testing.T) {
	st := operation.Status{Verb: "obliterate", State: operation.Cancelled, Done: 20, Matched: 50}
	require.Equal(t, "Obliterated 20 of 50\u00a0jobs of email", operationTitle(st, "email"))
	st.State = operation.Done
	require.Equal(t, "Obliterated email", operationTitle(st, "email"))
}

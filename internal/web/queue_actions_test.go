package web

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/operation"

	"github.com/redis/go-redis/v9"
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

func TestDrainShowsSamples(t *testing.T) {
	b := newBench(t)
	ids := b.add(110, engine.JobOptions{Delay: time.Hour})
	b.add(3, engine.JobOptions{})
	b.recount()
	has(t, b.get("/queues/email/drain").body, "Three of them")
	has(t, b.get("/queues/email/drain?delayed=1").body, "Five of them")
	preview := b.call("/api/v1/queues/email/drain", `{"delayed":true}`).body
	has(t, preview, `"ready": 3`)
	has(t, preview, `"`+ids[109]+`"`, "the newest of the delayed ones")
}

func TestCleanCountsWhatIsOldEnough(t *testing.T) {
	b := newBench(t)
	ids := b.fail(260)
	long := time.Now().Add(-8 * 24 * time.Hour).UnixMilli()
	for i, id := range ids[:120] {
		require.NoError(t, b.client.HSet(t.Context(), b.queue.Queue.Job(id), "finishedOn", long+int64(i)).Err())
		require.NoError(t, b.client.ZAdd(t.Context(), b.queue.Failed(), redis.Z{Score: float64(long + int64(i)), Member: id}).Err())
	}
	form := url.Values{"state": {"failed"}, "age": {"7d"}}
	ask := b.post("/queues/email/clean", form)
	has(t, ask.body, "Remove 120\u00a0failed jobs?")
	has(t, ask.body, "Five of them")
	has(t, ask.body, "<code>"+ids[0]+"</code>")
	preview := b.call("/api/v1/queues/email/clean", `{"state":"failed","age":"7d","limit":"2"}`).body
	has(t, preview, `"matched": 2`)
	require.NotContains(t, preview, `"`+ids[2]+`"`)
	form.Set("confirm", "yes")
	require.Equal(t, http.StatusSeeOther, b.post("/queues/email/clean", form).status)
	<-b.ops.Get(1).Over()
	require.Equal(t, int64(120), b.ops.Get(1).Status().Done)
	require.Equal(t, int64(140), b.count(keys.Failed))
}

func TestCleanOfWaitingJobsShowsOldOnes(t *testing.T) {
	b := newBench(t)
	b.add(110, engine.JobOptions{Timestamp: time.Now().Add(-8 * 24 * time.Hour)})
	b.add(1, engine.JobOptions{LIFO: true})
	ask := b.post("/queues/email/clean", url.Values{"state": {"waiting"}, "age": {"7d"}})
	has(t, ask.body, "Remove up to 111\u00a0waiting jobs?", "Redis does not order them by age")
	has(t, ask.body, "next runs of schedulers stay")
	preview := b.call("/api/v1/queues/email/clean", `{"state":"waiting","age":"7d"}`).body
	has(t, preview, `"atMost": 111`)
	require.NotContains(t, preview, `"111"`, "the one next to run is young")
}

func TestAQueueIsObliteratedOnlyWhenItIsGone(t *testing.T) {
	st := operation.Status{Verb: "obliterate", State: operation.Cancelled, Done: 20, Matched: 50}
	require.Equal(t, "Obliterated 20 of 50\u00a0jobs of email", operationTitle(st, "email"))
	st.State = operation.Done
	require.Equal(t, "Obliterated email", operationTitle(st, "email"))
}

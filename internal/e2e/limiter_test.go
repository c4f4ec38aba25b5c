package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	"github.com/stretchr/testify/require"
)

func TestLimiterHoldsOverTwoServers(t *testing.T) {
	const jobs, most, window = 160, 20, time.Second
	d := newDownstream(t, nil)
	f := newFleet(t, d.URL, fmt.Sprintf("concurrency: 10, limiter: {max: %d, duration: %s}", most, window))
	servers := f.starts(2)
	ids := f.add(jobs, engine.JobOptions{})
	f.await(keys.Completed, jobs)
	requireLimited(t, f.startTimes(), most, window)
	f.requireShared(ids, servers...)
}

// TestTooManyRequestsStopsBothServers lets the service answer 429 once: no server starts anything until the time it asked
// for is over, and no attempt is used up.
func TestTooManyRequestsStopsBothServers(t *testing.T) {
	const jobs, pause = 60, 2 * time.Second
	var refused atomic.Bool
	d := newDownstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Bullpen-Job-Id") == "20" && refused.CompareAndSwap(false, true) {
			w.Header().Set("Retry-After", strconv.Itoa(int(pause.Seconds())))
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		takes(20*time.Millisecond)(w, r)
	})
	f := newFleet(t, d.URL, "concurrency: 2, attempts: 3")
	servers := f.starts(2)
	ids := f.add(jobs, engine.JobOptions{Attempts: 3})
	var closed time.Time
	eventually(t, "the queue is limited", func() bool {
		left, err := f.queue.ManualRateLimit(t.Context())
		require.NoError(t, err)
		if left > 0 {
			now, err := f.client.Time(t.Context()).Result()
			require.NoError(t, err)
			closed = now.Add(left - pause)
		}
		return left > 0
	})
	f.await(keys.Completed, jobs)
	// The clock was read a moment after the time left, so the closing seems later than it was by as much.
	const slack = 100 * time.Millisecond
	before, after := 0, 0
	for _, at := range f.startTimes() {
		switch at := time.UnixMilli(at); {
		case at.After(closed.Add(slack)) && at.Before(closed.Add(pause-slack)):
			t.Errorf("a job started %s after the 429, which asked for %s", at.Sub(closed), pause)
		case at.Before(closed.Add(slack)):
			before++
		default:
			after++
		}
	}
	require.Positive(t, before)
	require.Greater(t, after, jobs/3, "most of the work came after the pause")
	for _, j := range f.jobs(ids) {
		require.Equal(t, 1, j.AttemptsMade, "job %s", j.ID)
		require.Empty(t, j.FailedReason)
	}
	f.requireShared(ids, servers...)
}

// TestLimitByHandIsLiftedOnBothServers limits the queue through one server and lifts the limit through the other.
func TestLimitByHandIsLiftedOnBothServers(t *testing.T) {
	d := newDownstream(t, takes(20*time.Millisecond))
	f := newFleet(t, d.URL, "concurrency: 1")
	servers := f.starts(2)
	servers[0].post("limit", `{"duration":"1h","confirm":"yes"}`)
	ids := f.add(40, engine.JobOptions{})
	eventually(t, "the page shows the limit", func() bool {
		return containsAll(servers[1].get("queues/hooks"), "closed by a rate limit, opens in", "/queues/hooks/lift")
	})
	require.Empty(t, f.startTimes())
	servers[1].post("lift", `{}`)
	began := time.Now()
	f.await(keys.Completed, 40)
	t.Logf("40 jobs were done %s after the limit was lifted", time.Since(began).Round(time.Millisecond))
	require.Less(t, time.Since(began), 25*time.Second, "a worker slept on until its own next look")
	f.requireShared(ids, servers...)
}

// TestSizingAdviceHolds drives the calculator's example with what it suggests: 50 requests a second of 200 ms, 4 replicas
// with a pool of 10 each.
func TestSizingAdviceHolds(t *testing.T) {
	need := monitor.Need{Rate: 50, Run: 200 * time.Millisecond, Replicas: 4, Pool: 10}
	a := need.Advise()
	require.Equal(t, []any{50, time.Second, 4}, []any{a.Max, a.Window, a.Concurrency})
	const jobs = 450
	d := newDownstream(t, takes(need.Run))
	f := newFleet(t, d.URL, fmt.Sprintf("concurrency: %d, limiter: {max: %d, duration: %s}", a.Concurrency, a.Max, a.Window))
	servers := f.starts(need.Replicas)
	ids := f.add(jobs, engine.JobOptions{})
	f.await(keys.Completed, jobs)
	starts := f.startTimes()
	requireLimited(t, starts, a.Max, a.Window)
	require.LessOrEqual(t, d.forget(), need.Replicas*a.Concurrency, "no more at once than the workers may run")
	mean := d.busy.Seconds() / (float64(starts[len(starts)-1]-starts[0])/1000 + need.Run.Seconds())
	t.Logf("on average %.1f requests were in flight, %.1f were predicted", mean, a.InFlight)
	require.InDelta(t, a.InFlight, mean, 0.4*a.InFlight)
	f.requireShared(ids, servers...)
}

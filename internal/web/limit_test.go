package web

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"bullpen/internal/monitor"

	"github.com/stretchr/testify/require"
)

// limitTo puts a limiter into the snapshot.
func (b *bench) limitTo(l monitor.Limiter) {
	b.t.Helper()
	snap := *b.monitor.Snapshot()
	q := *snap.Queues[0]
	q.Limiter = l
	snap.Queues = []*monitor.Queue{&q}
	b.monitor.publish(&snap)
}

func TestLimitByHandAndLift(t *testing.T) {
	b := newBench(t)
	left := func() time.Duration {
		d, err := b.queue.ManualRateLimit(t.Context())
		require.NoError(t, err)
		return d
	}
	form := b.get("/queues/email/limit")
	require.Equal(t, http.StatusOK, form.status)
	has(t, form.body, `name="duration"`)
	for given, want := range map[string]string{"soon": `class="problem"`, "0": "at least a millisecond", "8d": "pause it"} {
		a := b.post("/queues/email/limit", url.Values{"duration": {given}, "confirm": {"yes"}})
		require.Equal(t, http.StatusUnprocessableEntity, a.status, given)
		has(t, a.body, want, given)
	}
	require.Zero(t, left())
	a := b.post("/queues/email/limit", url.Values{"duration": {"5min"}, "confirm": {"yes"}, "back": {"/queues/email"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	has(t, b.notice(a), "Limited email for 5\u00a0min.")
	require.InDelta(t, 5*time.Minute, left(), float64(10*time.Second))

	hasNot(t, b.get("/queues/email").body, "/queues/email/lift")
	b.limitTo(monitor.Limiter{Closed: true, Manual: true, TTL: 4 * time.Minute})
	page := b.get("/queues/email")
	has(t, page.body, "/queues/email/lift")
	has(t, page.body, "opens in 4\u00a0min")
	b.limitTo(monitor.Limiter{Max: 5, Duration: time.Second, Closed: true, TTL: time.Second})
	hasNot(t, b.get("/queues/email").body, "/queues/email/lift", "a full window is not lifted")

	a = b.post("/queues/email/lift", url.Values{"seen": {"limited"}, "back": {"/queues/email"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	has(t, b.notice(a), "Lifted the limit of email.")
	require.Zero(t, left())
	a = b.post("/queues/email/lift", url.Values{"seen": {"limited"}, "back": {"/queues/email"}})
	has(t, b.notice(a), "The queue is no longer limited, it is unlimited now.")
	require.NoError(t, b.client.Set(t.Context(), b.queue.Limiter(), 3, time.Minute).Err())
	program := b.call("/api/v1/queues/email/lift", `{}`)
	require.Equal(t, http.StatusConflict, program.status)
	require.Equal(t, "3", b.client.Get(t.Context(), b.queue.Limiter()).Val(), "the window of a limiter is left alone")
}

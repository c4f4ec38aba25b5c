package browser

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

// outage is how long Redis is away.
const outage = 10 * time.Second

// Redis goes away for ten seconds while jobs run and people watch. The page says so in words, buttons say what did not
// happen, nothing ends; afterwards everything goes on by itself and no job is lost.
func TestRedisOutage(t *testing.T) {
	t.Parallel()
	const jobs = 600
	runs := newTally()
	end := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		runs.add(r.Header.Get("Bullpen-Job-Id"))
		time.Sleep(10 * time.Millisecond) // the work
		accept(w, r)
	})
	srv := testredis.Start(t)
	b := serveOn(t, srv, fmt.Sprintf("queues:\n  mail: {policy: {concurrency: 2}, worker: {http: {url: %q}}}\n", end.URL))
	q := b.queue("mail")
	q.addMany(jobs, engine.JobOptions{})

	overview, page := b.tab(look{}), b.tab(look{})
	page.openQueue("mail", "completed")
	overview.open("/")
	overview.sees("mail")
	overview.mark()
	page.mark()
	page.until("jobs complete", `!`+shows(tabOf("Completed"), "Completed 0"))
	require.Less(t, q.count(keys.Completed), int64(jobs), "the outage must find jobs at work")

	srv.Kill()
	back := time.Now().Add(outage)
	overview.sees("Redis does not answer")
	page.sees("Redis does not answer")
	status, body := b.Get("readyz")
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	status, _ = b.Get("healthz")
	require.Equal(t, http.StatusOK, status)
	page.click("Pause")
	page.until("the button's answer", `document.querySelector('#flash').innerText.includes('Redis')`)
	page.expect("503")
	for time.Now().Before(back) {
		require.True(t, b.Alive(), "the program must outlive Redis")
		status, body := b.Get("")
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, body, "Redis does not answer")
		time.Sleep(200 * time.Millisecond)
	}

	srv.Restart(t)
	q.holds(keys.Completed, jobs)
	require.Len(t, runs.all(), jobs, "every job ran")
	for _, p := range []*tab{overview, page} {
		p.until("the page no longer says so", `!`+shows("document.querySelector('main')", "Redis does not answer"))
		p.until("it is live again", `document.querySelector('#status').innerText.startsWith('Live')`)
		require.False(t, p.reloaded())
	}
	page.until("the count is live", shows(tabOf("Completed"), fmt.Sprint("Completed ", jobs)))
	require.Eventually(t, func() bool { status, _ := b.Get("readyz"); return status == http.StatusOK }, patience, 50*time.Millisecond)

	// And it is not only the last of the old: a job that is new completes before everybody's eyes.
	q.add("after", nil, engine.JobOptions{})
	page.until("the new job completes", shows(tabOf("Completed"), fmt.Sprint("Completed ", jobs+1)))
}

// tally counts by name.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func newTally() *tally { return &tally{n: map[string]int{}} }

func (t *tally) add(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[name]++
}

func (t *tally) all() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

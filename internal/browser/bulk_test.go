package browser

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Every failed job of a queue is retried from its page, on a page that shows how far it is.
func TestRetryAllOfFiveThousandFailedJobsAndCleanThem(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	b := serveOn(t, srv, "")
	q := b.queue("mail")
	ids := q.addMany(5000, engine.JobOptions{Attempts: 2})
	q.failAll("no such mailbox")

	p := b.tab(look{})
	p.openQueue("mail", "failed")
	p.until("the tab counts all", shows(tabOf("Failed"), "Failed 5,000"))
	p.click("Retry all…")
	p.sees("Retry 5,000 failed jobs?")
	p.until("it shows samples", `document.querySelectorAll('dialog.over .list li').length === 5 && `+shows("document.querySelector('dialog.over .list')", "no such mailbox"))

	p.clickIn("dialog.over", "Retry 5,000 jobs")
	p.at("/operations/")
	p.sees("Retried 5,000 failed jobs of mail")
	require.Equal(t, []float64{5000, 5000}, p.progress())

	waiting, err := q.IDs(t.Context(), keys.Waiting, 0, 10_000, time.Time{})
	require.NoError(t, err)
	require.ElementsMatch(t, ids, waiting, "each job once, none lost")
	require.Zero(t, q.count(keys.Failed))

	q.completeAll()
	p.openQueue("mail", "completed")
	p.until("the tab counts all", shows(tabOf("Completed"), "Completed 5,000"))
	p.click("Clean…")
	p.fill("age", "0")
	p.clickIn("dialog.over", "Go on…")
	p.sees("Remove 5,000 completed jobs?")
	p.clickIn("dialog.over", "Remove 5,000 jobs")
	p.sees("Cleaned 5,000 completed jobs of mail")
	q.holds(keys.Completed, 0)
	left, err := b.client.Keys(t.Context(), q.JobKey("*")).Result()
	require.NoError(t, err)
	for _, id := range ids[:50] {
		require.NotContains(t, left, q.JobKey(id))
	}
}

// A long operation asks for the queue's name, shows how far it is, and can be stopped: what was done stays done.
func TestLongOperationShowsProgressAndIsCancelled(t *testing.T) {
	t.Parallel()
	const jobs = 100_000
	b := serveOn(t, testredis.Start(t), "")
	q := b.queue("mail")
	q.addMany(1, engine.JobOptions{Delay: time.Hour})
	p := b.tab(look{})
	p.openQueue("mail", "failed")
	q.seedFailed(jobs)
	p.until("the tab counts them", shows(tabOf("Failed"), "Failed 100,000"))
	p.click("Retry all…")
	p.sees("Type mail to go on")
	p.fill("confirm", "mail")
	p.clickIn("dialog.over", "Retry 100,000 jobs")
	p.at("/operations/")
	p.mark()
	first := p.awaitProgress(0)
	p.awaitProgress(first)
	require.False(t, p.reloaded())
	p.click("Cancel the rest")
	p.sees("of 100,000 failed jobs of mail")
	p.sees("Cancelled. What was done stays done")
	done := q.count(keys.Waiting)
	require.EqualValues(t, jobs, done+q.count(keys.Failed))
	require.Equal(t, []float64{float64(done), jobs}, p.progress())

	p.click("Operations")
	p.sees("Retry failed jobs in mail")
	p.sees("cancelled")
}

// progress is value and maximum of the page's bar.
func (p *tab) progress() []float64 {
	p.t.Helper()
	return must[[]float64](p, `(b => [b.value, b.max])(document.querySelector('progress'))`)
}

// awaitProgress waits until the bar is past a value but not at its end, and returns where it is.
func (p *tab) awaitProgress(past float64) float64 {
	p.t.Helper()
	p.until("the bar moves", fmt.Sprintf(`(b => b && b.value > %v && b.value < b.max)(document.querySelector('progress'))`, past))
	return p.progress()[0]
}

// seedFailed puts failed jobs into Redis as a fleet of Node workers would have left them.
func (q *queue) seedFailed(n int) {
	q.t.Helper()
	const script = `for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
		redis.call("HSET", KEYS[1] .. i, "name", "send", "data", "{}", "opts", '{"attempts":1}', "timestamp", ARGV[3], "atm", 1, "ats", 1,
			"processedOn", ARGV[3], "finishedOn", ARGV[3], "failedReason", "no such mailbox", "stacktrace", "[]")
		redis.call("ZADD", KEYS[2], ARGV[3], i)
	end`
	const chunk = 2000 // so that nobody waits for long
	client := q.redis.Client(q.t)
	for from := 10; from < 10+n; from += chunk { // beyond the ids that were given away
		err := client.Eval(q.t.Context(), script, []string{q.JobKey(""), q.JobKey("failed")}, from, min(from+chunk, 10+n)-1, time.Now().UnixMilli()).Err()
		require.True(q.t, err == nil || errors.Is(err, redis.Nil), err)
	}
}

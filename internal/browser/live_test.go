package browser

import (
	"fmt"
	"testing"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// mailWorker is a configuration in which the queue "mail" is worked by posting to a URL.
func mailWorker(url string) string {
	return fmt.Sprintf("queues:\n  mail: {worker: {http: {url: %q}}}\n", url)
}

func TestFailedJobAppearsIsRetriedAndCompletes(t *testing.T) {
	t.Parallel()
	end := newEndpoint(t, refuse("mailbox full"))
	b := serve(t, mailWorker(end.URL))
	q := b.queue("mail")
	q.add("welcome", map[string]string{"to": "ada@example.com"}, engine.JobOptions{})
	q.holds(keys.Failed, 1)

	p := b.tab(look{})
	p.openQueue("mail", "failed")
	p.sees("mailbox full")
	p.mark()

	// A job fails while the page is open: its row and the count come by themselves.
	end.set(refuse("no such mailbox"))
	id := q.add("receipt", map[string]string{"to": "bruno@example.com"}, engine.JobOptions{ID: "receipt-1"})
	p.sees("no such mailbox")
	p.until("the tab counts two", shows(tabOf("Failed"), "Failed 2"))
	require.False(t, p.reloaded())

	// Retry it from its row; this time it completes, and the page says so.
	end.set(accept)
	p.point("row", row(id))
	p.clickAt("Retry in the row", row(id)+`.querySelector('button[formaction$="/retry"]')`)
	q.state(id, keys.Completed)
	p.until("the row says so, where the list stands still under the mouse", "!"+row(id)+" || "+row(id)+".classList.contains('done')")
	p.do(chromedp.MouseEvent("mouseMoved", 1, 1))
	p.until("the row is gone", "!"+row(id))
	p.until("the tab counts one", shows(tabOf("Failed"), "Failed 1"))
	p.until("the other tab counts one", shows(tabOf("Completed"), "Completed 1"))
	require.False(t, p.reloaded())

	p.click("Completed")
	p.at("state=completed")
	p.clickIn("main", id)
	p.at("/jobs/" + id)
	p.sees("Completed")
}

// A job that fails again gets its next trace on the open page, and what the reader opened stays open.
func TestJobPageFollowsTheJob(t *testing.T) {
	t.Parallel()
	end := newEndpoint(t, refuse("mailbox full"))
	b := serve(t, mailWorker(end.URL))
	q := b.queue("mail")
	id := q.add("welcome", nil, engine.JobOptions{})
	q.holds(keys.Failed, 1)
	p := b.tab(look{})
	p.openQueue("mail", "failed")
	p.clickIn("main", id)
	p.at("/jobs/" + id)
	p.sees("mailbox full")
	p.clickIn("main", "Raw")
	p.mark()
	end.set(refuse("no such mailbox"))
	p.clickIn("main .head", "Retry")
	p.sees("Failure 2 of 2")
	p.sees("no such mailbox")
	p.until("both traces are open", `[...document.querySelectorAll('details.fold')].filter((d) => /Failure/.test(d.innerText)).every((d) => d.open)`)
	p.until("the raw record is open", `[...document.querySelectorAll('details.fold')].find((d) => d.innerText.startsWith('Raw')).open`)
	end.set(accept)
	p.clickIn("main .head", "Retry")
	p.until("it says that it completed", shows(`document.querySelector('main .head')`, "Completed"))
	require.False(t, p.reloaded())
}

// tabOf is a script: the link to a state's tab.
func tabOf(label string) string {
	return `[...document.querySelectorAll('.tabs a')].find((a) => a.innerText.includes(` + quote(label) + `))`
}

// row is a script: the row of a job.
func row(id string) string {
	return `[...document.querySelectorAll('main tr[data-row]')].find((r) => r.dataset.row === ` + quote(id) + `)`
}

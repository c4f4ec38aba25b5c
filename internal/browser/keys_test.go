package browser

import (
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// The keyboard alone is enough.
func TestKeys(t *testing.T) {
	t.Parallel()
	b := serve(t, "")
	q := b.queue("mail")
	q.addMany(60, engine.JobOptions{})
	q.failAll("no")
	later := q.add("later", nil, engine.JobOptions{Delay: time.Hour})
	p := b.tab(look{})
	p.openQueue("mail", "failed")

	// Help comes and goes; while it is there, keys of the page do nothing.
	p.press("?")
	p.sees("Keys")
	p.press("j")
	require.True(t, must[bool](p, "!document.querySelector('tr.cur')"))
	p.press(kb.Escape)
	p.until("the help is gone", "!document.querySelector('dialog')")

	// Rows: down, down, up; tick; the bulk bar counts.
	p.press("j")
	p.until("the first row", cursorOn(0))
	p.press("j", "j")
	p.until("the third row", cursorOn(2))
	p.press("k")
	p.until("the second row", cursorOn(1))
	p.press("x", "j", "x")
	p.until("two are ticked", `document.querySelectorAll('.tk:checked').length === 2 && `+shows("document.querySelector('.bulk')", "2 ticked"))

	// "#" asks first, and the safe answer has the focus; "e" retries what is ticked.
	p.press("#")
	p.sees("Remove 2 failed jobs?")
	p.until("the safe answer has the focus", `document.activeElement.innerText.includes('Keep')`)
	p.press(kb.Escape)
	p.until("the question is gone", "!document.querySelector('dialog')")
	q.holds(keys.Failed, 60)
	p.press("e")
	p.sees("Retried 2 jobs.")
	q.holds(keys.Failed, 58)
	p.until("none is ticked", `!document.querySelector('.tk:checked')`)
	p.press("a")
	p.until("all of the page are ticked", `[...document.querySelectorAll('.tk')].every((t) => t.checked)`)
	p.press("a")
	p.until("none is ticked", `!document.querySelector('.tk:checked')`)

	// Pages, tabs, opening a job and going back.
	p.press("]")
	p.at("page=2")
	p.press("[")
	p.at("state=failed")
	p.press("1")
	p.at("state=waiting")
	p.press("4")
	p.at("state=delayed")
	p.press("j", kb.Enter)
	p.at("/jobs/" + later)
	p.press(kb.Escape)
	p.at("/queues/mail")

	// Space stops the live view and lets it go on.
	p.until("it is live", status("Live"))
	p.press(" ")
	p.until("it is paused", status("Paused"))
	q.addMany(5, engine.JobOptions{Delay: time.Hour})
	p.press(" ")
	p.until("it is live", status("Live"))
	p.until("what came meanwhile is there", shows(tabOf("Delayed"), "Delayed 6"))

	// Places: "g" and a letter; "/" goes to the field to search or filter in, where letters are letters.
	p.press("g", "p")
	p.at("/operations")
	p.press("g", "o")
	p.until("the overview", "location.pathname === '/' && document.readyState === 'complete'")
	p.press("/")
	p.until("a field has the focus", `document.activeElement.type === 'search'`)
	p.press("j", "?")
	require.Equal(t, "j?", must[string](p, "document.activeElement.value"))
	p.press(kb.Escape)
	p.until("the field has lost it", `document.activeElement === document.body`)
}

// cursorOn is a script: the keyboard's row is the i-th.
func cursorOn(i int) string {
	return `[...document.querySelectorAll('main tr[data-row]')].findIndex((r) => r.classList.contains('cur')) === ` + string(rune('0'+i))
}

// status is a script: what the top bar says of the age of the data.
func status(word string) string {
	return `document.querySelector('#status').innerText.startsWith('` + word + `')`
}

package browser

import (
	"fmt"
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

// The keys that the buttons of a job's page show press them.
func TestKeysOfAJob(t *testing.T) {
	t.Parallel()
	b := serve(t, fmt.Sprintf("queues:\n  mail: {policy: {attempts: 1, dead_letter: letters}, worker: {http: {url: %q}}}\n", newEndpoint(t, refuse("no")).URL))
	letters, later := b.queue("letters"), b.queue("later")
	b.queue("mail").add("welcome", nil, engine.JobOptions{})
	letters.holds(keys.Waiting, 1)
	id := later.add("later", nil, engine.JobOptions{Delay: time.Hour})
	p := b.tab(look{})

	p.openQueue("later", "delayed")
	p.press("j", kb.Enter)
	p.at("/jobs/" + id)
	p.press("#")
	p.sees("Remove job " + id)
	p.press(kb.Escape)
	p.until("the question is gone", "!document.querySelector('dialog')")
	p.press("e")
	later.state(id, keys.Waiting)

	// Of a letter that failed, "e" is the replay; only one button shows it.
	letters.failAll("no")
	p.openQueue("letters", "failed")
	p.press("j", kb.Enter)
	p.at("/queues/letters/jobs/")
	require.Equal(t, []string{"Replay"}, must[[]string](p, `[...document.querySelectorAll('[data-key=e]')].map((el) => el.firstElementChild.nextSibling.textContent.trim())`))
	p.press("e")
	letters.holds(keys.Failed, 0)
}

// Space stops the live view while the keyboard is in a list.
func TestSpaceInAList(t *testing.T) {
	t.Parallel()
	b := serve(t, "")
	b.queue("mail").addMany(2, engine.JobOptions{})
	p := b.tab(look{})
	p.openQueue("mail", "waiting")
	p.until("it is live", status("Live"))
	p.press("j", " ")
	p.until("it is paused", status("Paused"))
	p.press(" ")
	p.until("it is live", status("Live"))
	must[bool](p, `document.querySelector('#keys button').focus(), true`)
	p.press(" ")
	p.sees("pause the live view")
	require.True(t, must[bool](p, "!"+status("Paused")), "a button's space is its own")
}

// cursorOn is a script: the keyboard's row is the i-th.
func cursorOn(i int) string {
	return `[...document.querySelectorAll('main tr[data-row]')].findIndex((r) => r.classList.contains('cur')) === ` + string(rune('0'+i))
}

// status is a script: what the top bar says of the age of the data.
func status(word string) string {
	return `document.querySelector('#status').innerText.startsWith('` + word + `')`
}

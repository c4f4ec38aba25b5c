package browser

import (
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// Everything that can be done works with the script and without it, where questions are pages and forms are plain.
func TestActs(t *testing.T) {
	t.Parallel()
	acts := []struct {
		queue string
		do    func(*testing.T, *queue, *tab)
	}{
		{"pausing", pauseAndResume},
		{"adding", addJob},
		{"promoting", promote},
		{"retrying", retry},
		{"removing", remove},
		{"cleaning", clean},
		{"ending", drainAndObliterate},
		{"single", actOnJobPage},
		{"scheduling", makeRunEditRemoveScheduler},
		{"flowing", followFlow},
	}
	for name, l := range map[string]look{"with script": {}, "without script": plain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, "")
			for _, a := range acts { // so that one search finds them all
				require.NoError(t, b.queue(a.queue).SetMaxEvents(t.Context(), 10_000))
			}
			p := b.tab(l)
			for _, a := range acts {
				t.Run(a.queue, func(t *testing.T) {
					p.t = t
					a.do(t, b.queueFor(t, a.queue), p)
				})
			}
			p.t = t
		})
	}
}

func pauseAndResume(t *testing.T, q *queue, p *tab) {
	q.addMany(2, engine.JobOptions{})
	p.openQueue("pausing", "")
	p.click("Pause")
	p.sees("Paused pausing.")
	require.True(t, q.paused())
	p.click("Resume")
	p.sees("Resumed pausing.")
	require.False(t, q.paused())
}

func addJob(t *testing.T, q *queue, p *tab) {
	q.addMany(1, engine.JobOptions{})
	p.openQueue("adding", "")
	p.click("Add job")
	p.fill("name", "welcome")
	p.fill("data", `{"to": "ada"`)
	p.fill("id", "hand-made")
	p.clickIn("dialog", "Add job")
	p.sees("This is not JSON")
	p.expect("422")
	require.Equal(t, `{"to": "ada"`, must[string](p, `document.querySelector('[name=data]').value`), "what was typed stays")
	p.fill("data", `{"to": "ada", "n": 12345678901234567890}`)
	p.clickIn("dialog", "Add job")
	p.sees("Added job hand-made.")
	j, err := q.Job(t.Context(), "hand-made")
	require.NoError(t, err)
	require.JSONEq(t, `{"to": "ada", "n": 12345678901234567890}`, string(j.Data))
	require.Equal(t, "welcome", j.Name)
}

func promote(t *testing.T, q *queue, p *tab) {
	ids := q.addMany(6, engine.JobOptions{Delay: time.Hour})
	p.openQueue("promoting", "delayed")
	p.clickRow(ids[0], "promote")
	p.sees("Promoted job " + ids[0] + ".")
	q.state(ids[0], keys.Waiting)
	p.tick(ids[1], ids[2])
	p.clickIn(".bulk", "Promote")
	p.sees("Promoted 2 jobs.")
	q.holds(keys.Delayed, 3)
	p.click("Promote all…")
	p.clickIn("dialog", "Promote 3 jobs")
	p.at("/operations/")
	p.ends("Promoted 3 delayed jobs of promoting")
	q.holds(keys.Waiting, 6)
}

func retry(t *testing.T, q *queue, p *tab) {
	ids := q.addMany(6, engine.JobOptions{})
	q.failAll("no")
	p.openQueue("retrying", "failed")
	p.clickRow(ids[5], "retry")
	p.sees("Retried job " + ids[5] + ".")
	q.state(ids[5], keys.Waiting)
	p.tick(ids[1], ids[2])
	p.clickIn(".bulk", "Retry")
	p.sees("Retried 2 jobs.")
	q.holds(keys.Failed, 3)
	p.click("Retry all…")
	p.clickIn("dialog", "Retry 3 jobs")
	p.ends("Retried 3 failed jobs of retrying")
	q.holds(keys.Waiting, 6)
}

func remove(t *testing.T, q *queue, p *tab) {
	ids := q.addMany(4, engine.JobOptions{})
	p.openQueue("removing", "waiting")
	p.tick(ids[0], ids[3])
	p.clickIn(".bulk", "Remove…")
	p.sees("Remove 2 waiting jobs?")
	p.clickIn("dialog", "Keep them")
	p.until("the question is gone", `!document.querySelector('dialog')`)
	q.holds(keys.Waiting, 4)
	p.tick(ids[0], ids[3])
	p.clickIn(".bulk", "Remove…")
	p.clickIn("dialog", "Remove 2 jobs")
	p.sees("Removed 2 jobs.")
	q.holds(keys.Waiting, 2)
	q.state(ids[0], keys.Unknown)
}

func clean(t *testing.T, q *queue, p *tab) {
	q.addMany(5, engine.JobOptions{})
	q.completeAll()
	p.openQueue("cleaning", "completed")
	p.click("Clean…")
	p.fill("age", "soon")
	p.clickIn("dialog", "Go on…")
	p.until("it says what is wrong", `document.querySelector('dialog .problem')`)
	p.expect("422")
	p.fill("age", "0")
	p.fill("limit", "3")
	p.clickIn("dialog", "Go on…")
	p.sees("Remove 3 completed jobs?")
	p.clickIn("dialog", "Remove 3 jobs")
	p.ends("Cleaned 3 completed jobs of cleaning")
	q.holds(keys.Completed, 2)
}

func drainAndObliterate(t *testing.T, q *queue, p *tab) {
	q.addMany(3, engine.JobOptions{})
	q.addMany(2, engine.JobOptions{Delay: time.Hour})
	p.openQueue("ending", "")
	p.click("More actions")
	p.click("Drain…")
	p.clickIn("dialog", "Drain ending")
	p.ends("Drained 3")
	q.holds(keys.Waiting, 0)
	q.holds(keys.Delayed, 2)

	p.openQueue("ending", "")
	p.click("More actions")
	p.click("Obliterate…")
	p.sees("Type ending to go on")
	p.fill("confirm", "something")
	p.clickIn("dialog", "Obliterate ending") // the form is not valid, so the browser keeps it
	q.holds(keys.Delayed, 2)
	p.fill("confirm", "ending")
	p.clickIn("dialog", "Obliterate ending")
	p.ends("Obliterated ending")
	left, err := q.redis.Client(t).Keys(t.Context(), q.JobKey("*")).Result()
	require.NoError(t, err)
	for _, key := range left {
		require.NotRegexp(t, `:(\d+|meta|delayed|wait|events)$`, key)
	}
}

func actOnJobPage(t *testing.T, q *queue, p *tab) {
	id := q.add("send", 1, engine.JobOptions{})
	q.failAll("no")
	p.openQueue("single", "failed")
	p.clickIn("main", id)
	p.at("/jobs/" + id)
	p.sees("no")
	p.clickIn("main .head", "Retry")
	p.sees("Retried job " + id + ".")
	q.state(id, keys.Waiting)

	later := q.add("send", 1, engine.JobOptions{Delay: time.Hour})
	p.open("/queues/single/jobs/" + later)
	p.clickIn("main .head", "Promote")
	p.sees("Promoted job " + later + ".")
	q.state(later, keys.Waiting)

	p.open("/queues/single/jobs/" + later)
	p.clickIn("main .head", "Remove…")
	p.sees("Remove job " + later + "?")
	p.clickIn("dialog", "Remove it")
	p.sees("Removed job " + later + ".")
	q.state(later, keys.Unknown)
}

// ends waits until an operation's page shows a text; without script the reader looks again.
func (p *tab) ends(text string) {
	p.t.Helper()
	p.at("/operations/")
	if p.plain {
		p.openWhen(p.address(), shows("document.body", text))
	}
	p.sees(text)
}

// openQueue opens a queue's page once the collector has found the queue.
func (p *tab) openQueue(name, state string) {
	p.t.Helper()
	path := "/queues/" + name
	if state != "" {
		path += "?state=" + state
	}
	p.openWhen(path, `document.querySelector('main .head h1')?.innerText.includes(`+quote(name)+`) && document.querySelector('.tabs')`)
}

// clickRow clicks the button of a job's row that ends in the verb.
func (p *tab) clickRow(id, verb string) {
	p.t.Helper()
	p.until("the row of "+id, row(id))
	p.point("the row of "+id, row(id))
	p.clickAt(verb+" in the row of "+id, row(id)+`.querySelector('button[formaction$="/`+verb+`"]')`)
}

// tick ticks the jobs' boxes.
func (p *tab) tick(ids ...string) {
	p.t.Helper()
	for _, id := range ids {
		p.until("the row of "+id, row(id))
		if !must[bool](p, row(id)+`.querySelector('.tk').checked`) {
			p.clickAt("the box of "+id, row(id)+`.querySelector('.tk')`)
		}
	}
}

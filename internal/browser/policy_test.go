package browser

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// What people do about a policy works with the script and without it.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]look{"with script": {}, "without script": plain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hooks := newEndpoint(t, func(http.ResponseWriter, *http.Request) {})
			b := serve(t, "queues: {hooks: {policy: {attempts: 3, concurrency: 2, dead_letter: dead}, worker: {http: {url: \""+hooks.URL+"\"}}}}\n")
			q := b.queue("hooks")
			q.addMany(3, engine.JobOptions{})
			q.holds(keys.Completed, 3)
			p := b.tab(l)
			p.openQueue("hooks", "")
			p.click("Policy")
			p.at("/queues/hooks/policy")
			changeThePolicy(t, q, p)
			sizeIt(p)
			limitAndLift(t, q, p)
			p.openQueue("hooks", "")
			replayLetters(t, b, p)
		})
	}
}

func changeThePolicy(t *testing.T, q *queue, p *tab) {
	p.click("Edit limits")
	p.fill("concurrency", "none")
	p.fill("why", "more work")
	p.clickIn("dialog", "Go on…")
	p.sees("A whole number from 1 up.")
	p.expect("422")
	p.fill("concurrency", "5")
	p.fill("global_concurrency", "9")
	p.clickIn("dialog", "Go on…")
	p.sees("2 → 5")
	p.sees("What it means")
	p.clickIn("dialog", "Make it live")
	p.sees("Changed the policy of hooks.")
	p.openWhen("queues/hooks/policy", `document.body.innerText.includes('live, revision 1') && document.body.innerText.includes('bullpen.yaml says 2')
		&& [...document.querySelectorAll('td')].some((c) => c.innerText.trim() === 'revision 1')`)
	settings, err := q.Settings(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(9), settings.Concurrency)
	if !p.plain {
		p.accessible("{}")
	}

	p.click("Edit limits")
	p.fill("attempts", "8")
	p.fill("why", "flaky partner")
	p.clickAt("approve it at once", `document.querySelector('dialog [name=apply]')`)
	p.clickIn("dialog", "Go on…")
	p.clickIn("dialog", "Propose it")
	p.sees("A change waits for approval")
	if !p.plain { // the checker needs the script
		p.accessible("{}")
		p.fits()
	}
	p.click("Reject…")
	p.fill("note", "not on a Friday")
	p.clickIn("dialog", "Reject it")
	p.sees("Rejected the change of hooks.")
	p.openWhen("queues/hooks/policy", `document.body.innerText.includes('rejected: not on a Friday')`)

	p.clickIn(".past li:last-child", "Roll back to the file…")
	p.fill("why", "enough")
	p.clickIn("dialog", "Roll back")
	p.sees("Changed the policy of hooks.")
	settings, err = q.Settings(t.Context())
	require.NoError(t, err)
	require.Zero(t, settings.Concurrency)
}

// sizeIt works out the calculator's example.
func sizeIt(p *tab) {
	p.openWhen("queues/hooks/policy", `document.querySelector('[name=rate]')`)
	for name, value := range map[string]string{"rate": "50", "run": "200ms", "replicas": "4", "pool": "10"} {
		p.fill(name, value)
	}
	p.click("Work it out")
	p.until("the answer is there", `['50 per 1 s', 'about 3 per replica', '2.5 ÷ 0.8, rounded up: 4.'].every((t) =>
		document.querySelector('main').innerText.replaceAll('\u00a0', ' ').includes(t))`)
}

func limitAndLift(t *testing.T, q *queue, p *tab) {
	p.openQueue("hooks", "")
	p.click("More actions")
	p.click("Limit…")
	p.fill("duration", "1h")
	p.clickIn("dialog", "Start nothing for that time")
	p.sees("Limited hooks for 1 h.")
	p.openWhen("queues/hooks", `document.body.innerText.includes('Lift the limit')`)
	p.click("Lift the limit")
	p.sees("Lifted the limit of hooks.")
	left, err := q.ManualRateLimit(t.Context())
	require.NoError(t, err)
	require.Zero(t, left)
}

// replayLetters brings dead letters back: one, and all that are left.
func replayLetters(t *testing.T, b *bullpen, p *tab) {
	mail, dead := b.queueFor(t, "mail"), b.queueFor(t, "dead")
	ids := mail.addMany(4, engine.JobOptions{})
	w, err := engine.NewWorker(engine.WorkerOptions{
		Queue: mail.Queue, DeadLetter: "dead", Blocking: mail.blocking,
		Handler: func(context.Context, *engine.Job) (any, error) { return nil, errors.New("410 Gone") },
	})
	require.NoError(t, err)
	require.NoError(t, w.Start(t.Context()))
	dead.holds(keys.Waiting, 4)
	_, err = w.Stop(t.Context())
	require.NoError(t, err)
	letters, err := dead.IDs(t.Context(), keys.Waiting, 0, 9, time.Time{})
	require.NoError(t, err)
	p.openQueue("dead", "waiting")
	p.sees("410 Gone")
	p.clickRow(letters[0], "replay")
	p.sees("Replayed job " + ids[0] + " of mail.")
	mail.state(ids[0], keys.Waiting)
	p.open("/queues/dead/jobs/" + letters[1])
	p.sees("Dead letter of job " + ids[1] + " of mail")
	p.click("Replay")
	p.at("/queues/mail/jobs/" + ids[1])
	p.sees("Replayed from")
	p.openQueue("dead", "waiting")
	p.click("Replay all…")
	p.clickIn("dialog", "Replay 2 jobs")
	p.ends("Replayed 2 waiting jobs of dead")
	mail.holds(keys.Waiting, 4)
	p.open("/queues/dead/jobs/" + letters[1])
	p.expect("404")
	require.True(t, strings.Contains(p.text(), "It was a dead letter and was replayed"), p.text())
}

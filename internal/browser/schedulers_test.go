package browser

import (
	"fmt"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// schedulers adds some of every kind: an interval, a pattern with bounds, one that has ended, and one of an old version.
func (q *queue) schedulers() {
	q.t.Helper()
	limit, none := int64(8), int64(1)
	for id, r := range map[string]engine.Repeat{
		"sweep": {Every: 90 * time.Minute},
		"a-key-that-takes-more-room-than-there-is-on-a-telephone.0123456789": {
			Pattern: "0 0 18 L 3,6,9,12 *", TZ: "America/Argentina/Buenos_Aires", Limit: &limit, EndDate: time.Now().AddDate(4, 0, 0),
		},
		"once": {Every: time.Hour, Limit: &none},
	} {
		_, err := q.UpsertScheduler(q.t.Context(), id, r, engine.JobTemplate{Name: "report", Data: map[string]any{"token": "secret", "days": 7}})
		require.NoError(q.t, err)
	}
	score := float64(time.Now().Add(time.Hour).UnixMilli())
	require.NoError(q.t, q.redis.Client(q.t).ZAdd(q.t.Context(), q.JobKey("repeat"), redis.Z{Score: score, Member: "cron::::0 0 1 1 *"}).Err())
}

// flow adds a job that waits for n others and for one that waits for one more.
func (q *queue) flow(n int) {
	q.t.Helper()
	p, err := engine.NewFlowProducer(engine.FlowProducerOptions{Client: q.redis.Client(q.t), Prefix: q.Prefix})
	require.NoError(q.t, err)
	delayed := func(id string) engine.FlowNode {
		return engine.FlowNode{Queue: q.Name, Name: "draw-a-page-of-the-album", Options: engine.JobOptions{ID: id, Delay: time.Hour}}
	}
	root := engine.FlowNode{Queue: q.Name, Name: "print", Options: engine.JobOptions{ID: "album"}, Children: []engine.FlowNode{
		{Queue: q.Name, Name: "bind", Options: engine.JobOptions{ID: "binding"}, Children: []engine.FlowNode{delayed("glue")}},
	}}
	for i := range n {
		root.Children = append(root.Children, delayed(fmt.Sprintf("page-%02d", i)))
	}
	_, err = p.Add(q.t.Context(), root)
	require.NoError(q.t, err)
}

func makeRunEditRemoveScheduler(t *testing.T, q *queue, p *tab) {
	q.addMany(1, engine.JobOptions{})
	p.openQueue("scheduling", "")
	p.clickIn(".facts", "none")
	p.at("/queues/scheduling/schedulers")
	p.sees("No scheduler")
	p.click("New scheduler…")
	p.fill("key", "nightly")
	p.fill("pattern", "61 * * * *")
	p.fill("name", "backup")
	p.clickIn("dialog", "Go on…")
	p.until("it says what is wrong", `document.querySelector('dialog [name=pattern][aria-invalid]')`)
	p.expect("422")
	require.Equal(t, "backup", must[string](p, `document.querySelector('dialog [name=name]').value`), "what was typed stays")
	p.fill("pattern", "30 2 * * *")
	p.fill("tz", "Europe/Berlin")
	p.clickIn("dialog", "Go on…")
	p.sees("Every day at 02:30, Europe/Berlin.")
	require.Equal(t, 5, must[int](p, `document.querySelectorAll('dialog .firing').length`))
	p.check()
	p.clickIn("dialog", "Add scheduler")
	p.at("/queues/scheduling/schedulers/nightly")
	s, err := q.Scheduler(t.Context(), "nightly")
	require.NoError(t, err)
	require.Equal(t, "backup", s.Name)

	p.clickIn("main .head", "Run now")
	p.sees("Ran scheduler nightly.")
	q.holds(keys.Waiting, 2)
	p.clickIn("main .head", "Edit…")
	p.fill("pattern", "0 9 * * 1-5")
	p.clickIn("dialog", "Go on…")
	p.sees("30 2 * * * → 0 9 * * 1-5")
	p.sees("Every weekday at 09:00, Europe/Berlin.")
	p.clickIn("dialog", "Save")
	p.sees("Saved scheduler nightly.")
	p.sees("Every weekday at 09:00")
	p.check()

	p.open("/queues/scheduling/schedulers")
	p.clickAt("the fold", `document.querySelector('.sch .fold summary')`)
	p.until("the firings show", `[...document.querySelectorAll('.sch .firing')].filter((r) => r.checkVisibility()).length === 5`)
	p.check()
	p.clickIn(".sch", "Run now")
	p.sees("Ran scheduler nightly.")
	q.holds(keys.Waiting, 3)
	p.clickIn(".sch", "Remove…")
	p.sees("Remove scheduler nightly?")
	p.clickIn("dialog", "Remove it")
	p.sees("Removed scheduler nightly.")
	n, err := q.CountSchedulers(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
}

func followFlow(t *testing.T, q *queue, p *tab) {
	q.flow(25)
	p.openQueue("flowing", "waiting-children")
	p.clickIn("main", "album")
	p.at("/jobs/album")
	p.sees("Waits for glue, which is delayed.")
	require.Equal(t, 3, must[int](p, `document.querySelectorAll('.tree .blocking').length`), "from the root to what is waited for")
	p.check()
	p.clickIn(".tree", "glue")
	p.at("/jobs/glue")
	p.until("the tree is the same, seen from elsewhere", `document.querySelector('.tree [aria-current]')?.innerText.includes('glue')`)
	p.clickIn(".flow", "album")
	p.at("/jobs/album")
	p.clickIn(".flow", "6 more")
	p.at("flow=below")
	p.until("all are there", `document.querySelectorAll('.tree .node').length === 28`)
	p.open("/queues/flowing/jobs/glue")
	p.clickIn("main .head", "Promote")
	p.sees("Promoted job glue.")
	p.open("/queues/flowing/jobs/album")
	p.sees("Waits for glue, which waits for a worker.")
}

// check looks for what keeps people out, in the page as it is now; the checker needs the script.
func (p *tab) check() {
	p.t.Helper()
	if p.plain {
		return
	}
	p.accessible("{}")
}

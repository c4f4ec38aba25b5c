package browser

import (
	"context"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/testredis"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// Lists stand still under the mouse, say what came meanwhile, and are walked by keys.
func TestListsStandStill(t *testing.T) {
	t.Parallel()
	b := serveOn(t, testredis.Start(t), "") // operations are those of a whole Redis
	for _, name := range []string{"mail", "bulk"} {
		b.queue(name).addMany(1, engine.JobOptions{Delay: time.Hour})
	}
	startWorker := func(name string) {
		q := b.queue(name)
		w, err := engine.NewWorker(engine.WorkerOptions{
			Queue: q.Queue, Blocking: q.blocking, Handler: func(context.Context, *engine.Job) (any, error) { return nil, nil },
		})
		require.NoError(t, err)
		require.NoError(t, w.Start(t.Context()))
		t.Cleanup(func() { _, _ = w.Stop(context.WithoutCancel(t.Context())) })
	}
	operate := func() {
		b.queue("old").addMany(1, engine.JobOptions{})
		b.post("/queues/old/drain", map[string]any{"confirm": "yes"})
	}

	for path, list := range map[string]struct {
		first, more func()
		opens       string
	}{
		"operations": {operate, operate, "/operations/1"},
		"workers":    {func() { startWorker("mail") }, func() { startWorker("bulk") }, "/queues/mail"},
	} {
		t.Run(path, func(t *testing.T) {
			list.first()
			p := b.tab(look{})
			p.t = t
			p.openWhen("/"+path, "document.querySelectorAll('main tr[data-row]').length === 1")
			p.until("it is live", status("Live"))
			p.point("the row", "document.querySelector('main tr[data-row] th')")
			list.more()
			p.sees("1 new, show")
			require.Equal(t, 1, must[int](p, "document.querySelectorAll('main tr[data-row]').length"))
			p.click("1 new, show")
			p.until("it is there", "document.querySelectorAll('main tr[data-row]').length === 2")
			p.do(chromedp.MouseEvent("mouseMoved", 1, 1))
			p.press("k")
			p.until("the last row", cursorOn(1))
			p.press(kb.Enter)
			p.at(list.opens)
		})
	}
}

// Every live list with rows can be held and walked.
func TestLiveListsCanBeHeld(t *testing.T) {
	t.Parallel()
	p := world(t).tab(look{})
	for _, path := range []string{"", "queues/orders", "failures", "schedulers", "queues/orders/schedulers", "operations", "workers", "alerts"} {
		p.openWhen("/"+path, `document.querySelector('[data-live] table')`)
		require.True(t, must[bool](p, `[...document.querySelectorAll('[data-live] tr[data-row]')].every((r) => r.closest('[data-list]')?.querySelector('[data-newer]'))`), path)
	}
	p.press("j", "j")
	p.until("the second alert", cursorOn(1))
	p.press(kb.Enter)
	p.at("/runbooks/")
}

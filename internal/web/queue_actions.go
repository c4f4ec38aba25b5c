package web

import (
	"context"
	"errors"
	"net/http"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/operation"
	"bullpen/internal/words"
	"bullpen/templates"
)

// queueActions are the acts on a queue as a whole.
func (s *Server) queueActions() []Action {
	return []Action{
		{Name: "pause", Path: "/queues/:queue/pause", Role: Operator, State: s.pauseState, Do: s.pause},
		{Name: "resume", Path: "/queues/:queue/resume", Role: Operator, State: s.pauseState, Do: s.resume},
		{Name: "add", Path: "/queues/:queue/jobs", Role: Operator, Ask: s.askAdd, Do: s.add},
		{Name: "drain", Path: "/queues/:queue/drain", Role: Admin, Ask: s.askDrain, Do: s.drain},
		{Name: "obliterate", Path: "/queues/:queue/obliterate", Role: Admin, Ask: s.askObliterate, Do: s.obliterate},
	}
}

func (s *Server) pauseState(ctx context.Context, c *Call) (string, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return "", err
	}
	is, err := q.IsPaused(ctx)
	if err != nil {
		return "", err
	}
	if is {
		return paused, nil
	}
	return running, nil
}

func (s *Server) pause(ctx context.Context, c *Call) (Result, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return Result{}, err
	}
	if err := q.Pause(ctx); err != nil {
		return Result{}, err
	}
	return Result{Message: "Paused " + c.Queue.Name + ".", Text: "Jobs that run go on; no other starts until it is resumed.", Done: 1}, nil
}

func (s *Server) resume(ctx context.Context, c *Call) (Result, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return Result{}, err
	}
	if err := q.Resume(ctx); err != nil {
		return Result{}, err
	}
	return Result{Message: "Resumed " + c.Queue.Name + ".", Text: "Its workers take jobs again.", Done: 1}, nil
}

// counts reads the queue's counts now, for questions that name numbers.
func (s *Server) counts(ctx context.Context, c *Call) (*engine.Queue, map[keys.State]int64, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return nil, nil, err
	}
	n, err := q.Counts(ctx)
	return q, n, err
}

// ask starts a question about the call's queue.
func (s *Server) ask(c *Call, title, yes, no string) templates.Ask {
	back := c.Back()
	if c.Values.Get("back") == "" {
		back = s.links.queuePath(c.Queue)
	}
	return templates.Ask{
		Title: title, Yes: yes, No: no, NoURL: s.links.to(back), URL: s.links.to(c.Path),
		Fields: []templates.Field{{Name: "back", Value: back}},
	}
}

// typed makes the question ask for the queue's name, and says so when something else was typed.
func typed(c *Call, a *templates.Ask) string {
	a.Type, a.Grave, a.Final = c.Queue.Name, true, true
	a.Mistyped = c.Confirmed() && c.Values.Get("confirm") != a.Type
	return a.Type
}

// question wraps a filled form.
func question(a templates.Ask, preview any) *Question {
	return &Question{Title: a.Title, Body: templates.AskPage(a), Type: a.Type, Preview: preview}
}

func (s *Server) askDrain(ctx context.Context, c *Call) (*Question, error) {
	q, n, err := s.counts(ctx, c)
	if err != nil {
		return nil, err
	}
	samples, err := s.samples(ctx, c, q, drained(c)...)
	if err != nil {
		return nil, err
	}
	ready, delayed := n[keys.Waiting]+n[keys.Prioritized], n[keys.Delayed]
	a := s.ask(c, "Drain "+c.Queue.Name+"?", "Drain "+c.Queue.Name, "Keep them")
	a.Final = true
	a.Body = []string{"This removes " + words.Plural(ready, "job that has not started", "jobs that have not started") +
		", with their data and logs. Jobs that run, finished ones, next runs of schedulers and jobs that come later stay. It cannot be undone."}
	a.Hint = "Runs as an operation you can watch and cancel"
	a.Inputs = []templates.Input{{Kind: "check", Name: "delayed", Label: "Also " + words.Plural(delayed, "delayed job", "delayed jobs"), Checked: truthy(c.Values.Get("delayed"))}}
	if ready+delayed > sampleFrom {
		a.Samples, a.Big = samples, true
	}
	if ready+delayed > typeFrom {
		typed(c, &a)
	}
	return question(a, map[string]any{"ready": ready, "delayed": delayed, "samples": idsOf(samples)}), nil
}

func (s *Server) drain(ctx context.Context, c *Call) (Result, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return Result{}, err
	}
	return s.begin(ctx, c, s.draining(c, q))
}

// drained are the states that a call drains, in the engine's order.
func drained(c *Call) []keys.State {
	if truthy(c.Values.Get("delayed")) {
		return []keys.State{keys.Waiting, keys.Delayed, keys.Prioritized}
	}
	return []keys.State{keys.Waiting, keys.Prioritized}
}

// draining is the operation that drains a queue of the jobs it has at the start.
func (s *Server) draining(c *Call, q *engine.Queue) operation.Spec {
	spec := s.spec(c, "jobs that have not started")
	var targets []target
	for _, st := range drained(c) {
		if st == keys.Delayed {
			spec.Subject = "jobs that have not started and delayed ones"
		}
		targets = append(targets, target{q, st, func(ctx context.Context, ids []string) ([]string, []engine.Refusal, error) {
			return q.DrainJobs(ctx, st, ids)
		}})
	}
	spec.Detail = "every job that was " + stateList(drained(c)) + " at the start"
	return overHeld(spec, targets, func(ctx context.Context, t target, _ int64) ([]string, error) {
		return snapshotIDs(ctx, t.queue, t.state)
	})
}

func (s *Server) askObliterate(ctx context.Context, c *Call) (*Question, error) {
	_, n, err := s.counts(ctx, c)
	if err != nil {
		return nil, err
	}
	a := s.ask(c, "Obliterate "+c.Queue.Name+"?", "Obliterate "+c.Queue.Name, "Keep the queue")
	typed(c, &a)
	a.Body = []string{
		"This deletes the queue: " + words.Plural(totalOf(n), "job", "jobs") +
			" in all states, its settings, its schedulers and its event history. Nothing of it can be brought back.",
		"It is paused first, and stays paused if you cancel.",
	}
	a.Hint = "Runs as an operation you can watch and cancel"
	if active := n[keys.Active]; active > 0 {
		a.Inputs = []templates.Input{{
			Kind: "check", Name: "force", Label: "Also " + words.Plural(active, "active job", "active jobs"),
			Help: "They lose their record while they run. Without this, a queue with active jobs is refused and stays paused.", Checked: truthy(c.Values.Get("force")),
		}}
	}
	if c.Found != nil && c.Found.Workers > 0 {
		a.Warning = words.Plural(c.Found.Workers, "worker still takes", "workers still take") + " jobs from it. They would start an empty queue of the same name at once; stop them first."
	}
	return question(a, n), nil
}

func (s *Server) obliterate(ctx context.Context, c *Call) (Result, error) {
	q, n, err := s.counts(ctx, c)
	if err != nil {
		return Result{}, err
	}
	force := truthy(c.Values.Get("force"))
	if active := n[keys.Active]; active > 0 && !force {
		return Result{}, problem(http.StatusConflict, "Not obliterated", "%s of %s. Wait until they end, or say that they may be lost.",
			words.Plural(active, "job is active: the worker loses its record", "jobs are active: the workers lose their records"), c.Queue.Name)
	}
	return s.begin(ctx, c, obliterating(s.spec(c, "the whole queue"), q, force))
}

// obliterating is the operation that pauses a queue and deletes all it has. Here nothing may be left, so it has no
// snapshot: what is added meanwhile goes too.
func obliterating(spec operation.Spec, q *engine.Queue, force bool) operation.Spec {
	spec.Prepare = func(ctx context.Context) (int64, error) {
		if err := q.Pause(ctx); err != nil {
			return 0, err
		}
		n, err := q.Counts(ctx)
		return totalOf(n), err
	}
	spec.Step = func(ctx context.Context, n int) (operation.Batch, error) {
		deleted, more, err := q.ObliterateSome(ctx, force, n)
		switch {
		case errors.Is(err, engine.ErrActiveJobs):
			err = problem(http.StatusConflict, "Not obliterated", "A job started meanwhile. The queue is paused now; try again when nothing runs.")
		case errors.Is(err, engine.ErrNotPaused):
			err = problem(http.StatusConflict, "Not obliterated", "The queue was resumed meanwhile. Try again: it is paused first.")
		}
		return operation.Batch{Done: deleted, Last: err == nil && !more}, err
	}
	return spec
}

// totalOf is the number of jobs in all states.
func totalOf(counts map[keys.State]int64) int64 {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	return total
}

// truthy reads a checkbox or a JSON boolean.
func truthy(v string) bool { return v != "" && v != "0" && v != "false" }

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
	_, n, err := s.counts(ctx, c)
	if err != nil {
		return nil, err
	}
	ready, delayed := n[keys.Waiting]+n[keys.Prioritized], n[keys.Delayed]
	a := s.ask(c, "Drain "+c.Queue.Name+"?", "Drain "+c.Queue.Name, "Keep them")
	a.Final = true
	a.Body = []string{"This removes " + words.Plural(ready, "job that has not started", "jobs that have not started") +
		", with their data and logs. Jobs that run and finished ones stay. It cannot be undone."}
	a.Inputs = []templates.Input{{Kind: "check", Name: "delayed", Label: "Also " + words.Plural(delayed, "delayed job", "delayed jobs"), Checked: c.Values.Get("delayed") != ""}}
	if ready+delayed > typeFrom {
		typed(c, &a)
	}
	return question(a, map[string]any{"ready": ready, "delayed": delayed}), nil
}

func (s *Server) drain(ctx context.Context, c *Call) (Result, error) {
	q, before, err := s.counts(ctx, c)
	if err != nil {
		return Result{}, err
	}
	delayed := truthy(c.Values.Get("delayed"))
	spec := s.spec(c, "jobs that have not started")
	if delayed {
		spec.Subject = "jobs that have not started and delayed ones"
	}
	total := before[keys.Waiting] + before[keys.Prioritized]
	if delayed {
		total += before[keys.Delayed]
	}
	return s.once(ctx, c, spec, total, func(ctx context.Context) error { return q.Drain(ctx, delayed) })
}

func (s *Server) askObliterate(ctx context.Context, c *Call) (*Question, error) {
	_, n, err := s.counts(ctx, c)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, k := range n {
		total += k
	}
	a := s.ask(c, "Obliterate "+c.Queue.Name+"?", "Obliterate "+c.Queue.Name, "Keep the queue")
	typed(c, &a)
	a.Body = []string{"This deletes the queue: " + words.Plural(total, "job", "jobs") +
		" in all states, its settings, its schedulers and its event history. Nothing of it can be brought back."}
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
	total := int64(0)
	for _, k := range n {
		total += k
	}
	return s.once(ctx, c, s.spec(c, "the whole queue"), total, func(ctx context.Context) error {
		err := q.Obliterate(ctx, force)
		if errors.Is(err, engine.ErrActiveJobs) {
			return problem(http.StatusConflict, "Not obliterated", "A job started meanwhile. The queue is paused now; try again when nothing runs.")
		}
		return err
	})
}

// once starts an operation that is a single step.
func (s *Server) once(ctx context.Context, c *Call, spec operation.Spec, total int64, do func(context.Context) error) (Result, error) {
	spec.Prepare = func(context.Context) (int64, error) { return total, nil }
	spec.Step = func(ctx context.Context, _ int) (operation.Batch, error) {
		if err := do(ctx); err != nil {
			return operation.Batch{}, err
		}
		return operation.Batch{Done: total, Last: true}, nil
	}
	return s.begin(ctx, c, spec)
}

// truthy reads a checkbox or a JSON boolean.
func truthy(v string) bool { return v != "" && v != "0" && v != "false" }

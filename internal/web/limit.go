package web

import (
	"context"
	"net/http"
	"time"

	"bullpen/internal/monitor"
	"bullpen/internal/words"
	"bullpen/templates"
)

// The states of a queue's rate limit by hand, as forms say what the person saw.
const (
	limited   = "limited"
	unlimited = "unlimited"
)

// longestLimit bounds a rate limit by hand; whoever wants longer pauses the queue.
const longestLimit = 7 * 24 * time.Hour

// limitActions are the acts on a queue's rate limit by hand.
func (s *Server) limitActions() []Action {
	return []Action{
		{Name: "limit", Path: "/queues/:queue/limit", Role: Operator, Ask: s.askLimit, Do: s.limit},
		{Name: "lift", Path: "/queues/:queue/lift", Role: Operator, State: s.limitState, Do: s.lift},
	}
}

func (s *Server) limitState(ctx context.Context, c *Call) (string, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return "", err
	}
	left, err := q.ManualRateLimit(ctx)
	if err != nil || left == 0 {
		return unlimited, err
	}
	return limited, nil
}

// readLimit reads for how long a queue is to be limited; the input says what is wrong.
func readLimit(c *Call) (d time.Duration, in templates.Input, ok bool) {
	in = templates.Input{Kind: "text", Name: "duration", Label: "For", Value: c.Values.Get("duration"), Help: "Such as 30s, 5min or 2h.", Required: true}
	if in.Value == "" {
		return 0, in, false
	}
	d, err := parseSpan(in.Value)
	switch {
	case err != nil:
		in.Problem = err.Error()
	case d < time.Millisecond:
		in.Problem = "A limit lasts at least a millisecond."
	case d > longestLimit:
		in.Problem = "At most 7 days; to stop a queue for longer, pause it."
	default:
		return d, in, true
	}
	return 0, in, false
}

func (s *Server) askLimit(_ context.Context, c *Call) (*Question, error) {
	d, in, ok := readLimit(c)
	a := s.ask(c, "Limit "+c.Queue.Name, "Start nothing for that time", "Cancel")
	a.Body = []string{"No job of " + c.Queue.Name + " starts on any replica until the time is over or the limit is lifted, as after an answer of 429. Jobs that run go on, no attempt is used up."}
	if f := c.Found; f != nil && f.Workers > f.BullpenWorkers {
		a.Note = words.Plural(f.Workers-f.BullpenWorkers, "worker is", "workers are") + " not Bullpen's: they obey it only if they have a limiter of their own. Pause stops all."
	}
	a.Inputs = []templates.Input{in}
	q := question(a, map[string]any{"seconds": d.Seconds()})
	q.Open = !ok
	return q, nil
}

func (s *Server) limit(ctx context.Context, c *Call) (Result, error) {
	d, in, ok := readLimit(c)
	if !ok {
		return Result{}, &Problem{Status: http.StatusUnprocessableEntity, Title: "Not accepted", Detail: in.Problem, Field: in.Name}
	}
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return Result{}, err
	}
	if err := q.RateLimit(ctx, d); err != nil {
		return Result{}, err
	}
	return Result{Message: "Limited " + c.Queue.Name + " for " + words.Exact(d) + ".", Text: "Jobs that run go on; no other starts until then.", Done: 1}, nil
}

func (s *Server) lift(ctx context.Context, c *Call) (Result, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return Result{}, err
	}
	left, err := q.ManualRateLimit(ctx)
	if err != nil {
		return Result{}, err
	}
	if left == 0 {
		return Result{}, problem(http.StatusConflict, "Nothing was done", "%s is not limited by hand, or no longer.", c.Queue.Name)
	}
	if err := q.RemoveRateLimit(ctx); err != nil {
		return Result{}, err
	}
	res := Result{Message: "Lifted the limit of " + c.Queue.Name + ".", Text: "It had " + words.Exact(left) + " left. Its workers take jobs again.", Done: 1}
	if s.o.Policies != nil {
		// Workers sleep while they are limited; without this they wake within half a minute.
		if err := s.o.Policies.Lifted(ctx, c.Queue); err != nil {
			s.log.WarnContext(ctx, "workers could not be woken", "queue", c.Queue.Name, "err", err)
		}
	}
	return res, nil
}

// limitAct is the button that lifts a limit by hand; nil when there is none.
func (s *Server) limitAct(r viewRequest, q *monitor.Queue) *templates.Act {
	if !q.Limiter.Closed || !q.Limiter.Manual {
		return nil
	}
	return &templates.Act{
		Label: "Lift the limit", Icon: "s-active", Class: "go", URL: s.links.queue(q.Queue, "lift"),
		Fields: []templates.Field{{Name: "seen", Value: limited}, {Name: "back", Value: r.self()}},
	}
}

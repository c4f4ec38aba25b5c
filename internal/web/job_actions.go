package web

import (
	"context"
	"net/http"
	"slices"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/jsonview"
)

// jobActions are the acts on one job.
func (s *Server) jobActions() []Action {
	return []Action{
		{Name: "retry", Path: "/queues/:queue/jobs/:id/retry", Role: Operator, State: s.jobState, Do: s.retryJob},
		{Name: "promote", Path: "/queues/:queue/jobs/:id/promote", Role: Operator, State: s.jobState, Do: s.promoteJob},
		{Name: "remove", Path: "/queues/:queue/jobs/:id/remove", Role: Operator, State: s.jobState, Ask: s.askRemoveJob, Do: s.removeJob},
		{Name: "edit", Path: "/queues/:queue/jobs/:id/edit", Role: Operator, State: s.jobState, Ask: s.askEdit, Do: s.edit},
		{Name: "duplicate", Path: "/queues/:queue/jobs/:id/duplicate", Role: Operator, Ask: s.askDuplicate, Do: s.duplicate},
	}
}

// jobOf returns the queue and id of a call on a job; ids that are the queue's own keys are refused.
func (s *Server) jobOf(c *Call) (*engine.Queue, string, error) {
	id := c.Params["id"]
	if id == "" || keys.Reserved(id) {
		return nil, "", problem(http.StatusNotFound, "No such job", "%q is not a job's id.", id)
	}
	q, err := s.o.Queue(c.Queue)
	return q, id, err
}

func (s *Server) jobState(ctx context.Context, c *Call) (string, error) {
	q, id, err := s.jobOf(c)
	if err != nil {
		return "", err
	}
	st, err := q.State(ctx, id)
	return string(st), err
}

func (s *Server) retryJob(ctx context.Context, c *Call) (Result, error) {
	q, id, err := s.jobOf(c)
	if err != nil {
		return Result{}, err
	}
	st, err := q.State(ctx, id)
	if err != nil {
		return Result{}, err
	}
	if !slices.Contains(retryable, st) {
		return Result{}, notIn(id, st, "retried", retryable)
	}
	if err := q.RetryJob(ctx, st, id, true); err != nil {
		return Result{}, left(id, err, st)
	}
	return Result{Message: "Retried job " + jsonview.Visible(id) + ".", Text: "It is waiting again, with all its attempts.", Done: 1}, nil
}

func (s *Server) promoteJob(ctx context.Context, c *Call) (Result, error) {
	q, id, err := s.jobOf(c)
	if err != nil {
		return Result{}, err
	}
	if err := q.PromoteJob(ctx, id); err != nil {
		return Result{}, left(id, err, keys.Delayed)
	}
	return Result{Message: "Promoted job " + jsonview.Visible(id) + ".", Text: "It is ready to run now.", Done: 1}, nil
}

func (s *Server) askRemoveJob(ctx context.Context, c *Call) (*Question, error) {
	q, id, err := s.jobOf(c)
	if err != nil {
		return nil, err
	}
	st, err := q.State(ctx, id)
	if err != nil {
		return nil, err
	}
	a := s.ask(c, "Remove job "+jsonview.Visible(id)+"?", "Remove it", "Keep it")
	// The page of a job that is kept is still there; that of one that is removed is not.
	a.Final, a.NoURL = true, s.links.job(c.Queue, id)
	a.Body = []string{"It is " + stateWord(string(st)) + ". Its data, traces and logs go with it, and so do its children. This cannot be undone."}
	return question(a, map[string]any{"state": st}), nil
}

func (s *Server) removeJob(ctx context.Context, c *Call) (Result, error) {
	q, id, err := s.jobOf(c)
	if err != nil {
		return Result{}, err
	}
	st, err := q.State(ctx, id)
	if err != nil {
		return Result{}, err
	}
	if st == keys.Unknown {
		if _, err := q.Job(ctx, id); err != nil {
			return Result{}, err
		}
	}
	if err := q.RemoveJob(ctx, id, true); err != nil {
		return Result{}, left(id, err, st)
	}
	return Result{Message: "Removed job " + jsonview.Visible(id) + ".", Done: 1}, nil
}

// notIn says that an act is not for a job in its present state.
func notIn(id string, st keys.State, past string, allowed []keys.State) *Problem {
	id = jsonview.Visible(id)
	if st == keys.Unknown {
		return problem(http.StatusNotFound, "No such job", "Job %s is in no state; it may have been removed.", id)
	}
	return problem(http.StatusConflict, "Nothing was done", "Job %s is %s; only %s jobs can be %s.", id, stateWord(string(st)), stateList(allowed), past)
}

// left says why one job was left alone.
func left(id string, err error, st keys.State) error {
	p := asProblem(err)
	if p.Status != http.StatusConflict {
		return err
	}
	return &Problem{Status: p.Status, Title: "Nothing was done", Detail: "Job " + jsonview.Visible(id) + " was left alone: " + reason(err, st) + ".", cause: err}
}

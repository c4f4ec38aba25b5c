package web

import (
	"context"
	"net/http"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// The states each bulk act starts from.
var (
	retryable  = []keys.State{keys.Failed, keys.Completed}
	promotable = []keys.State{keys.Delayed}
	removable  = []keys.State{keys.Failed, keys.Completed, keys.Delayed, keys.Waiting, keys.Prioritized, keys.WaitingChildren}
	cleanable  = []keys.State{keys.Completed, keys.Failed, keys.Delayed, keys.Waiting, keys.Prioritized}
)

// bulkActions are the acts on many jobs of a queue.
func (s *Server) bulkActions() []Action {
	return []Action{
		{Name: "retry", Path: "/queues/:queue/retry", Role: Operator, Ask: s.askRetry, Do: s.retryMany},
		{Name: "promote", Path: "/queues/:queue/promote", Role: Operator, Ask: s.askPromote, Do: s.promoteMany},
		{Name: "remove", Path: "/queues/:queue/remove", Role: Operator, Ask: s.askRemove, Do: s.removeMany},
		{Name: "clean", Path: "/queues/:queue/clean", Role: Operator, Ask: s.askClean, Do: s.clean},
	}
}

func (s *Server) askRetry(ctx context.Context, c *Call) (*Question, error) {
	sel, err := selected(c, retryable...)
	if err != nil || !sel.all {
		return nil, err
	}
	return s.askAll(ctx, c, sel, "Retry", "Jobs that fail later are not touched. Priority, options and parents stay as they are; each job gets all its attempts again.", false)
}

func (s *Server) retryMany(ctx context.Context, c *Call) (Result, error) {
	return s.many(ctx, c, retryable, "Retried", retrying)
}

func (s *Server) askPromote(ctx context.Context, c *Call) (*Question, error) {
	sel, err := selected(c, promotable...)
	if err != nil || !sel.all {
		return nil, err
	}
	return s.askAll(ctx, c, sel, "Promote", "They become ready now instead of when they are due. Jobs delayed later are not touched.", false)
}

func (s *Server) promoteMany(ctx context.Context, c *Call) (Result, error) {
	return s.many(ctx, c, promotable, "Promoted", func(q *engine.Queue, _ keys.State) batchAct { return q.Promote })
}

func (s *Server) askRemove(ctx context.Context, c *Call) (*Question, error) {
	sel, err := selected(c, removable...)
	if err != nil {
		return nil, err
	}
	const lost = "Their data, traces and logs go with them, and so do their children. This cannot be undone."
	if sel.all {
		return s.askAll(ctx, c, sel, "Remove", lost, true)
	}
	n := int64(len(sel.ids))
	a := s.ask(c, "Remove "+jobsIn(n, sel.state)+"?", "Remove "+words.Plural(n, "job", "jobs"), "Keep them")
	a.Final, a.Body = true, []string{lost}
	if n == 1 {
		a.Body, a.No = []string{"Its data, traces and logs go with it, and so do its children. This cannot be undone."}, "Keep it"
	}
	a.Fields = append(a.Fields, templates.Field{Name: "state", Value: string(sel.state)})
	for _, id := range sel.ids {
		a.Fields = append(a.Fields, templates.Field{Name: "id", Value: id})
	}
	if a.LeftOut, err = s.leftOut(ctx, c, sel); err != nil {
		return nil, err
	}
	return question(a, map[string]any{"matched": n}), nil
}

// retrying and removing are the acts on a batch of jobs that are still in a state.
func retrying(q *engine.Queue, st keys.State) batchAct {
	return func(ctx context.Context, ids []string) ([]string, []engine.Refusal, error) {
		return q.Retry(ctx, st, ids, true)
	}
}

func removing(q *engine.Queue, st keys.State) batchAct {
	return func(ctx context.Context, ids []string) ([]string, []engine.Refusal, error) {
		return q.RemoveFrom(ctx, st, ids, true)
	}
}

// leftOut counts the ticked jobs that cannot be removed now, by reason.
func (s *Server) leftOut(ctx context.Context, c *Call, sel selection) ([]templates.Sample, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return nil, err
	}
	rows, err := q.RowsByID(ctx, sel.ids)
	if err != nil {
		return nil, err
	}
	held := int64(0)
	for _, r := range rows {
		if r.Locked {
			held++
		}
	}
	if held == 0 {
		return nil, nil
	}
	return []templates.Sample{{Text: "Held by a worker", End: words.Count(held)}}, nil
}

func (s *Server) removeMany(ctx context.Context, c *Call) (Result, error) {
	return s.many(ctx, c, removable, "Removed", removing)
}

// many does a ticked selection at once and a whole state as an operation.
func (s *Server) many(ctx context.Context, c *Call, allowed []keys.State, past string, act func(*engine.Queue, keys.State) batchAct) (Result, error) {
	sel, err := selected(c, allowed...)
	if err != nil {
		return Result{}, err
	}
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return Result{}, err
	}
	if !sel.all {
		return s.direct(ctx, sel, past, act(q, sel.state))
	}
	query, err := s.parseQuery(c.Values, c.Now)
	if err != nil {
		return Result{}, err
	}
	spec := s.spec(c, stateWord(string(sel.state))+" jobs")
	if !query.Empty() {
		spec.Detail = "every job that was " + stateWord(string(sel.state)) + " at the start and matched " + query.String()
		return s.begin(ctx, c, s.overMatching(spec, c, query, []target{{q, sel.state, act(q, sel.state)}}))
	}
	spec.Detail = "every job that was " + stateWord(string(sel.state)) + " at the start"
	return s.begin(ctx, c, overState(spec, q, sel.state, c.Now, act(q, sel.state)))
}

// askAll is the question before an act on a whole state, sized to the number of jobs.
func (s *Server) askAll(ctx context.Context, c *Call, sel selection, verb, what string, final bool) (*Question, error) {
	if query, err := s.parseQuery(c.Values, c.Now); err != nil || !query.Empty() {
		if err != nil {
			return nil, err
		}
		return s.askMatching(ctx, c, sel, query, verb, what, final)
	}
	q, counts, err := s.counts(ctx, c)
	if err != nil {
		return nil, err
	}
	n := counts[sel.state]
	if n == 0 {
		return nil, problem(http.StatusConflict, "Nothing to do", "No job of %s is %s.", c.Queue.Name, stateWord(string(sel.state)))
	}
	a := s.ask(c, verb+" "+jobsIn(n, sel.state)+"?", verb+" "+words.Plural(n, "job", "jobs"), "Cancel")
	a.Final = final
	a.Body = []string{"Every job of " + c.Queue.Name + " that is " + stateWord(string(sel.state)) + " now. " + what}
	a.Fields = append(a.Fields, templates.Field{Name: "state", Value: string(sel.state)}, templates.Field{Name: "all", Value: "1"})
	a.Hint = "Runs as an operation you can watch and cancel"
	samples, err := s.samples(ctx, c, q, sel.state)
	if err != nil {
		return nil, err
	}
	if n > sampleFrom {
		a.Samples, a.Big = samples, true
	}
	if n > typeFrom {
		typed(c, &a)
		a.Final = final
	}
	if c.Found != nil && c.Found.Limiter.Closed && !final {
		a.Note = "The limiter is closed: they join " + words.Plural(c.Found.Backlog(), "waiting job", "waiting jobs") + " and start as it lets them."
	}
	return question(a, map[string]any{"matched": n, "samples": idsOf(samples)}), nil
}

func jobsIn(n int64, st keys.State) string {
	word := stateWord(string(st))
	if st == keys.WaitingChildren {
		return words.Plural(n, "job that waits for children", "jobs that wait for children")
	}
	return words.Plural(n, word+" job", word+" jobs")
}

// samples are five jobs of states, of the first that have so many.
func (s *Server) samples(ctx context.Context, c *Call, q *engine.Queue, states ...keys.State) ([]templates.Sample, error) {
	var out []templates.Sample
	for _, st := range states {
		if len(out) == maxSamples {
			break
		}
		rows, _, err := q.Rows(ctx, st, 0, int64(maxSamples-len(out)-1), false)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out = append(out, s.sample(c, st, r))
		}
	}
	return out, nil
}

// idsOf names samples as a program reads them.
func idsOf(samples []templates.Sample) []string {
	ids := []string{}
	for _, x := range samples {
		ids = append(ids, x.ID)
	}
	return ids
}

// sample is one job as a question shows it.
func (s *Server) sample(c *Call, st keys.State, r engine.Row) templates.Sample {
	sample := templates.Sample{ID: visibleText(r.ID), Text: jsonview.Visible(r.Name), End: s.when(timeOf(st, r), c.Now).Text}
	if r.FailedReason != "" {
		sample.Text = jsonview.Visible(r.FailedReason)
	}
	if r.Missing {
		sample.Text = "data missing: the job's record is gone from Redis"
	}
	return sample
}

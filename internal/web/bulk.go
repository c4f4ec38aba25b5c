package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/operation"
	"bullpen/internal/words"
)

const (
	// sampleFrom and typeFrom are the numbers of jobs above which a question shows samples, or wants the name typed.
	sampleFrom = 100
	maxSamples = 5
	typeFrom   = 10_000
	// maxTicked bounds the ids one request may name; "all" has no bound.
	maxTicked = 1000
	// snapshotPage is how many ids one read of a snapshot takes.
	snapshotPage = 5000
)

// selection is the set of jobs an act is for: ticked ids, or everything in a state.
type selection struct {
	state keys.State
	ids   []string
	all   bool
}

// selected reads the selection of a call. allowed are the states the act starts from; the first is the default.
func selected(c *Call, allowed ...keys.State) (selection, error) {
	sel := selection{state: allowed[0], all: truthy(c.Values.Get("all"))}
	sel.ids = slices.DeleteFunc(append(slices.Clone(c.Values["id"]), c.Values["ids"]...), func(id string) bool { return id == "" })
	slices.Sort(sel.ids)
	sel.ids = slices.Compact(sel.ids)
	if st := c.Values.Get("state"); st != "" {
		sel.state = keys.State(st)
	}
	if !slices.Contains(allowed, sel.state) {
		return sel, problem(http.StatusUnprocessableEntity, "Not possible", "To %s is possible for %s jobs, not for %s ones.", c.Action.Name, stateList(allowed), stateWord(string(sel.state)))
	}
	switch {
	case !sel.all && len(sel.ids) == 0:
		return sel, problem(http.StatusUnprocessableEntity, "No job was chosen", "Tick the jobs first, or use the button for all of them.")
	case len(sel.ids) > maxTicked:
		return sel, problem(http.StatusUnprocessableEntity, "Too many at once", "At most %s jobs can be named in one request; use all=1 for a whole state.", words.Count(maxTicked))
	}
	for _, id := range sel.ids {
		if keys.Reserved(id) {
			return sel, problem(http.StatusUnprocessableEntity, "Not a job", "%q is one of the queue's own keys.", id)
		}
	}
	return sel, nil
}

func stateList(states []keys.State) string {
	names := make([]string, len(states))
	for i, st := range states {
		names[i] = stateWord(string(st))
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// batchAct does one batch of a bulk act.
type batchAct func(ctx context.Context, ids []string) (done []string, refused []engine.Refusal, err error)

// direct does a ticked selection at once.
func (s *Server) direct(ctx context.Context, sel selection, past string, do batchAct) (Result, error) {
	done, refused, err := do(ctx, sel.ids)
	if err != nil {
		return Result{}, err
	}
	res := Result{Done: int64(len(done)), Refused: int64(len(refused))}
	for _, r := range refused {
		res.Refusals = append(res.Refusals, Refusal{ID: r.ID, Reason: reason(r.Err, sel.state)})
	}
	res.Message = past + " " + words.Plural(res.Done, "job", "jobs") + "."
	if res.Done == 0 {
		res.Message = "Nothing was " + strings.ToLower(past) + "."
	}
	if res.Refused > 0 {
		res.Text = words.Plural(res.Refused, "job was", "jobs were") + " left alone."
	}
	return res, nil
}

// reason says why a job was left alone.
func reason(err error, st keys.State) string {
	switch {
	case errors.Is(err, engine.ErrJobNotFound):
		return "its record is gone from Redis"
	case errors.Is(err, engine.ErrWrongState):
		return "no longer " + stateWord(string(st)) + " when its turn came"
	case errors.Is(err, engine.ErrLocked):
		return "a worker holds it"
	case errors.Is(err, engine.ErrSchedulerOwned):
		return "it is the next run of a scheduler"
	case errors.Is(err, engine.ErrParentNotFound):
		return "its parent was removed"
	case errors.Is(err, engine.ErrParentReplaced):
		return "its parent has finished or was replaced"
	}
	return oneLine(err)
}

// spec starts the description of an operation.
func (s *Server) spec(c *Call, subject string) operation.Spec {
	return operation.Spec{Verb: c.Action.Name, Queue: c.Queue.Qualified(), Subject: subject}
}

// begin starts an operation for a call and says where to watch it. Its end is recorded like the call.
func (s *Server) begin(ctx context.Context, c *Call, spec operation.Spec) (Result, error) {
	spec.Who, spec.Again = c.Who.Name, again(c)
	spec.Ended = func(st operation.Status) {
		e := s.endOf(st)
		e.Role, e.Remote = c.Who.Role.String(), c.Remote
		s.record(context.WithoutCancel(ctx), e)
	}
	step := spec.Step
	spec.Step = func(ctx context.Context, n int) (operation.Batch, error) {
		b, err := step(ctx, n)
		s.scans.touch(s.o.Clock())
		if b.Last {
			s.failures.Refresh()
			s.letters.Refresh()
			s.o.Monitor.Refresh()
		}
		return b, err
	}
	op, err := s.ops.Start(ctx, spec)
	if err != nil {
		return Result{}, &Problem{Status: http.StatusServiceUnavailable, Title: "Not started", Detail: err.Error(), cause: err}
	}
	id := strconv.FormatInt(op.Status().ID, 10)
	return Result{Message: "Started.", Text: "It runs on the server; this page shows how far it is.", Operation: id, Location: "/operations/" + id, Done: 0, Refused: 0}, nil
}

// overState runs do over every job that is in the state now. Finished jobs are bounded by the time they finished, so
// that the set stays the same without being held; the ids of other states are read first.
func overState(spec operation.Spec, q *engine.Queue, st keys.State, now time.Time, do batchAct) operation.Spec {
	var next func(ctx context.Context, n int) ([]string, error)
	var skipped func(refused int)
	switch st {
	case keys.Completed, keys.Failed:
		offset := int64(0)
		next = func(ctx context.Context, n int) ([]string, error) { return q.IDs(ctx, st, offset, int64(n), now) }
		skipped = func(refused int) { offset += int64(refused) } // they stay where they are
		spec.Prepare = func(ctx context.Context) (int64, error) {
			counts, err := q.Counts(ctx)
			return counts[st], err
		}
	default:
		var ids []string
		next = func(_ context.Context, n int) ([]string, error) {
			batch := ids[:min(n, len(ids))]
			ids = ids[len(batch):]
			return batch, nil
		}
		skipped = func(int) {}
		spec.Prepare = func(ctx context.Context) (int64, error) {
			var err error
			ids, err = snapshotIDs(ctx, q, st)
			return int64(len(ids)), err
		}
	}
	spec.Step = func(ctx context.Context, n int) (operation.Batch, error) {
		ids, err := next(ctx, n)
		if err != nil || len(ids) == 0 {
			return operation.Batch{Last: err == nil}, err
		}
		done, refused, err := do(ctx, ids)
		b := operation.Batch{Done: int64(len(done))}
		for _, r := range refused {
			b.Refused = append(b.Refused, operation.Refusal{ID: r.ID, Reason: reason(r.Err, st)})
		}
		skipped(len(refused))
		return b, err
	}
	return spec
}

// snapshotIDs reads the ids of a state. It reads from the far end of the queue towards the next to run: jobs taken
// meanwhile then make it see an id twice, never miss one. Waiting jobs come newest first: Redis finds an entry of a list
// by walking from that end, so that each of a million is found at once.
func snapshotIDs(ctx context.Context, q *engine.Queue, st keys.State) ([]string, error) {
	counts, err := q.Counts(ctx)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, counts[st])
	var ids []string
	for end := counts[st]; end > 0; end -= snapshotPage {
		start := max(end-snapshotPage, 0)
		page, err := q.IDs(ctx, st, start, end-start, time.Time{})
		if err != nil {
			return nil, err
		}
		slices.Reverse(page)
		for _, id := range page {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	if st != keys.Waiting {
		slices.Reverse(ids)
	}
	return ids, nil
}

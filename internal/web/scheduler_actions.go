package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/jsonview"
	"bullpen/templates"
)

// schedulerActions are the acts on schedulers.
func (s *Server) schedulerActions() []Action {
	const path = "/queues/:queue/schedulers/:scheduler/"
	return []Action{
		{Name: addScheduler, Path: "/queues/:queue/schedule", Role: Operator, Ask: s.askSchedule, Do: s.schedule},
		{Name: "run scheduler", Path: path + "run", Role: Operator, State: s.schedulerState, Do: s.runScheduler},
		{Name: "edit scheduler", Path: path + "edit", Role: Operator, Ask: s.askSchedule, Do: s.schedule},
		{Name: "remove scheduler", Path: path + "remove", Role: Operator, State: s.schedulerState, Ask: s.askRemoveScheduler, Do: s.removeScheduler},
	}
}

// addScheduler is the name of the act that makes a scheduler.
const addScheduler = "add scheduler"

// ownScheduler reads a scheduler that may be changed: those of other versions are left alone.
func (s *Server) ownScheduler(ctx context.Context, c *Call, q *engine.Queue, id string) (*engine.Scheduler, error) {
	found, err := q.Scheduler(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, s.noScheduler(c.Queue, id)
	case found.Origin != engine.OriginBullMQ:
		return nil, problem(http.StatusConflict, "Left alone", "%s", originWords(found.Origin))
	}
	return found, nil
}

// schedulerState names the version of a scheduler, so that nobody acts on one that has changed meanwhile.
func (s *Server) schedulerState(ctx context.Context, c *Call) (string, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return "", err
	}
	found, err := q.Scheduler(ctx, c.Params["scheduler"])
	if err != nil {
		return "", err
	}
	if found == nil {
		return string(keys.Unknown), nil
	}
	return schedulerVersion(found), nil
}

// schedulerVersion changes whenever somebody saves a scheduler differently, but not when it fires.
func schedulerVersion(f *engine.Scheduler) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(f.Fields)) {
		if name != "ic" && name != "offset" {
			fmt.Fprintf(sum, "%q=%q\n", name, f.Fields[name])
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// schedulerAsk starts a question about a scheduler. It leads back to the queue's list unless it was asked elsewhere.
func (s *Server) schedulerAsk(c *Call, title, yes, no string) templates.Ask {
	if c.Values.Get("back") == "" {
		asked := *c
		asked.Values = maps.Clone(c.Values)
		asked.Values.Set("back", s.links.queuePath(c.Queue, "schedulers"))
		c = &asked
	}
	return s.ask(c, title, yes, no)
}

// askSchedule is the form of a scheduler and, once it is filled in well, what it would lead to.
func (s *Server) askSchedule(ctx context.Context, c *Call) (*Question, error) {
	q, f, err := s.formOf(ctx, c)
	if err != nil {
		return nil, err
	}
	if f.current == nil && f.id != "" {
		taken, err := q.Scheduler(ctx, f.id)
		if err != nil {
			return nil, err
		}
		if taken != nil {
			f.fault(&engine.FieldError{Field: "key", Problem: "There is a scheduler with this key already."})
		}
	}
	version := ""
	if f.current != nil {
		version = schedulerVersion(f.current)
	}
	changed := c.Values.Get("version") != "" && c.Values.Get("version") != version
	if f.submitted && f.valid && !changed && c.Mistake == nil {
		if runs := f.preview(q); f.valid {
			return s.schedulePreview(c, f, version, s.firingList(f.rule, runs, c.Now)), nil
		}
	}
	if err := f.problem(); err != nil && c.API {
		return nil, err
	}
	a := s.schedulerAsk(c, s.scheduleTitle(c, f), "Go on…", "Cancel")
	a.Big, a.Unconfirmed, a.Inputs = true, true, f.inputs
	a.Fields = append(a.Fields, templates.Field{Name: "version", Value: version})
	a.Body = []string{"You see when it would fire before anything is saved."}
	if changed {
		a.Problem = "It was changed by somebody else meanwhile. What stands here would replace that."
	}
	if m := c.Mistake; m != nil && !hasInput(f.inputs, schedulerInput(m.Field)) {
		a.Problem = sentence(m.Error())
	}
	question := question(a, nil)
	question.Open = true
	return question, nil
}

func (s *Server) scheduleTitle(c *Call, f *schedulerForm) string {
	if f.current == nil {
		return "New scheduler in " + jsonview.Visible(c.Queue.Name)
	}
	return "Edit scheduler " + jsonview.Visible(f.id)
}

// schedulePreview shows when a scheduler would fire, and asks for the last word.
func (s *Server) schedulePreview(c *Call, f *schedulerForm, version string, firings templates.Firings) *Question {
	title, yes := "Save scheduler "+jsonview.Visible(f.id)+"?", "Save"
	if f.current == nil {
		title, yes = "Add scheduler "+jsonview.Visible(f.id)+"?", "Add scheduler"
	}
	a := s.schedulerAsk(c, title, yes, "Cancel")
	a.Big, a.Firings = true, &firings
	words := sentenceStart(jsonview.Visible(f.rule.InWords()))
	if f.rule.Pattern != "" {
		words += ", " + firings.Zone
	}
	a.Body = []string{words + ". Jobs named " + jsonview.Visible(f.job.Name) + " are added to " + jsonview.Visible(c.Queue.Name) + "."}
	if f.current != nil {
		a.Note = "A job of it that has not started is replaced; one that runs goes on as it is."
		a.Lists = []templates.AskList{{Title: "What changes", Items: f.changes}}
		if len(f.changes) == 0 {
			a.Lists = nil
			a.Body = append(a.Body, "Nothing changes but the count of its limit, which starts anew.")
		}
	}
	a.Fields = append(a.Fields, templates.Field{Name: "version", Value: version})
	for _, in := range f.inputs {
		if c.Values.Has(in.Name) {
			a.Fields = append(a.Fields, templates.Field{Name: in.Name, Value: c.Values.Get(in.Name)})
		}
	}
	times := make([]string, len(firings.Rows))
	for i, row := range firings.Rows {
		times[i] = row.Own.ISO
	}
	return question(a, map[string]any{"rhythm": f.rule.InWords(), "firings": times})
}

// schedule saves a scheduler.
func (s *Server) schedule(ctx context.Context, c *Call) (Result, error) {
	q, f, err := s.formOf(ctx, c)
	if err != nil {
		return Result{}, err
	}
	if err := f.problem(); err != nil {
		return Result{}, err
	}
	job, err := q.UpsertScheduler(ctx, f.id, f.rule, f.job)
	if err != nil {
		return Result{}, schedulerProblem(err)
	}
	if job == nil {
		return Result{}, &engine.FieldError{Field: "pattern", Problem: "It would never fire, so nothing was saved."}
	}
	res := Result{Message: "Saved scheduler " + jsonview.Visible(f.id) + ".", Text: "It fires " + s.soon(c, job) + ".", Done: 1}
	if f.current == nil {
		c.Params["scheduler"] = f.id // so that the activity log names it
		res.Message = "Added scheduler " + jsonview.Visible(f.id) + "."
		res.Location = s.links.queuePath(c.Queue, "schedulers", f.id)
	}
	return res, nil
}

// soon says when a scheduler's new job is due.
func (s *Server) soon(c *Call, job *engine.Job) string {
	if job.Delay <= 0 {
		return "now"
	}
	return s.when(c.Now.Add(job.Delay), c.Now).Text
}

// schedulerProblem finds the words for what kept a scheduler from being changed.
func schedulerProblem(err error) error {
	switch {
	case errors.Is(err, engine.ErrSlotTaken):
		return &Problem{Status: http.StatusConflict, Title: "Nothing was saved", Detail: "The job of its next firing runs already or has ended. Try again when that time has passed.", cause: err}
	case errors.Is(err, engine.ErrLegacyScheduler):
		return &Problem{Status: http.StatusConflict, Title: "Left alone", Detail: originWords(engine.OriginLegacy), cause: err}
	}
	return err
}

// runScheduler adds one job of the template now; the schedule stays as it is.
func (s *Server) runScheduler(ctx context.Context, c *Call) (Result, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return Result{}, err
	}
	id := c.Params["scheduler"]
	if _, err := s.ownScheduler(ctx, c, q, id); err != nil {
		return Result{}, err
	}
	job, err := q.FireScheduler(ctx, id)
	if err != nil {
		return Result{}, schedulerProblem(err)
	}
	if job == nil {
		return Result{}, s.noScheduler(c.Queue, id)
	}
	return Result{Message: "Ran scheduler " + jsonview.Visible(id) + ".", Text: "Job " + job.ID + " was added; the schedule stays as it is.", JobID: job.ID, Done: 1}, nil
}

func (s *Server) askRemoveScheduler(ctx context.Context, c *Call) (*Question, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return nil, err
	}
	found, err := s.ownScheduler(ctx, c, q, c.Params["scheduler"])
	if err != nil {
		return nil, err
	}
	key := jsonview.Visible(found.ID)
	a := s.schedulerAsk(c, "Remove scheduler "+key+"?", "Remove it", "Keep it")
	a.Final = true
	a.Body = []string{
		"It stops firing, and its rule and the template of its jobs are gone. This cannot be undone.",
		"Its next job goes with it if that is delayed. Jobs that wait, run or have ended stay.",
	}
	a.Fields = append(a.Fields, templates.Field{Name: "seen", Value: schedulerVersion(found)})
	return question(a, map[string]any{"rhythm": found.Repeat.InWords(), "iterations": found.Iterations}), nil
}

func (s *Server) removeScheduler(ctx context.Context, c *Call) (Result, error) {
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return Result{}, err
	}
	id := c.Params["scheduler"]
	if _, err := s.ownScheduler(ctx, c, q, id); err != nil {
		return Result{}, err
	}
	removed, err := q.RemoveScheduler(ctx, id)
	if err != nil {
		return Result{}, schedulerProblem(err)
	}
	if !removed {
		return Result{}, s.noScheduler(c.Queue, id)
	}
	res := Result{Message: "Removed scheduler " + jsonview.Visible(id) + ".", Text: "Nothing of it fires any more.", Done: 1}
	if strings.HasPrefix(c.Back(), s.links.queuePath(c.Queue, "schedulers", id)) {
		res.Location = s.links.queuePath(c.Queue, "schedulers")
	}
	return res, nil
}

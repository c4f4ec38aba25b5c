package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// editable are the states a job's data can be changed in. The worker of an active job has its data already.
var editable = []keys.State{keys.Failed, keys.Completed, keys.Delayed, keys.Waiting, keys.Prioritized, keys.WaitingChildren}

// opened is a job whose data is being edited.
type opened struct {
	*engine.Peek
	sealed jsonview.Sealed
	// version tells whether the data was changed by somebody else meanwhile. It says nothing about what is masked.
	version string
}

// open reads a job for a form that shows its data.
func (s *Server) open(ctx context.Context, c *Call) (opened, error) {
	q, id, err := s.jobOf(c)
	if err != nil {
		return opened{}, err
	}
	j, err := q.Peek(ctx, id, openLimit, false)
	if err != nil {
		return opened{}, err
	}
	o := opened{Peek: j}
	switch size := j.Sizes["data"]; {
	case len(j.Fields) == 0:
		return o, problem(http.StatusNotFound, "No such job", "The record of job %s is gone from Redis.", visibleText(id))
	case size > openLimit:
		return o, problem(http.StatusUnprocessableEntity, "Too large to be edited here",
			"The data of job %s has %s; at most %s can be edited here.", visibleText(id), words.Bytes(size), words.Bytes(openLimit))
	}
	if o.sealed, err = jsonview.Seal(j.Data, s.o.Mask); err != nil {
		return o, &Problem{Status: http.StatusUnprocessableEntity, Title: "The data cannot be edited", Detail: sentence(err.Error()), Field: "data", cause: err}
	}
	sum := sha256.Sum256([]byte(o.sealed.Text))
	o.version = hex.EncodeToString(sum[:8])
	return o, nil
}

// dataInput is the field with the data, and what is wrong with what was typed. Long data is shown on request.
func (o opened) dataInput(c *Call) (in templates.Input, data json.RawMessage, given bool) {
	in = templates.Input{
		Kind: "area", Name: "data", Label: "Data", Mono: true, Width: "wide",
		Help: "JSON. Texts such as “masked 1” stand for values that you may not see; where they stay, the values stay.",
	}
	if !strings.Contains(o.sealed.Text, jsonview.MaskText) {
		in.Help = "JSON, stored as it is written."
	}
	typed, given := c.Values["data"]
	if !given {
		in.Value = o.sealed.Text
		return in, o.Data, false
	}
	in.Value = typed[0]
	data, err := o.sealed.Open([]byte(typed[0]))
	if err == nil {
		return in, data, true
	}
	in.Problem = jsonProblem(json.RawMessage(typed[0]))
	if in.Problem == "" {
		in.Problem = sentence(err.Error())
	}
	return in, nil, true
}

// long says that the data is shown on request only.
func (o opened) long(c *Call) bool {
	return o.Sizes["data"] > showLimit && c.Values.Get("open") == "" && c.Values.Get("data") == ""
}

// askEdit is the form. Once it is filled in well there is no question left.
func (s *Server) askEdit(ctx context.Context, c *Call) (*Question, error) {
	o, err := s.open(ctx, c)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(editable, o.State) {
		return nil, notIn(o.ID, o.State, "edited", editable)
	}
	in, _, given := o.dataInput(c)
	changed := given && c.Values.Get("version") != "" && c.Values.Get("version") != o.version
	if given && in.Problem == "" && !changed && (c.Confirmed() || c.API) {
		return nil, nil
	}
	if given && c.API && in.Problem != "" {
		return nil, &Problem{Status: http.StatusUnprocessableEntity, Title: "Not saved", Detail: "data: " + in.Problem, Field: "data"}
	}
	a := s.askJob(c, o, "Edit job "+visibleText(o.ID), "Save")
	if changed {
		a.Problem = "The data was changed by somebody else meanwhile. Saving again replaces it with what stands here."
	}
	s.fillEdit(c, o, in, &a)
	q := question(a, map[string]any{"data": json.RawMessage(o.sealed.Text), "version": o.version, "state": o.State})
	q.Open = true
	return q, nil
}

func (s *Server) fillEdit(c *Call, o opened, in templates.Input, a *templates.Ask) {
	if o.long(c) {
		s.showLong(c, o, a)
		return
	}
	a.Inputs = []templates.Input{in}
	if slices.Contains(retryable, o.State) {
		ticked := o.State == keys.Failed // most people edit a failed job for this
		if _, given := c.Values["data"]; given {
			ticked = truthy(c.Values.Get("retry"))
		}
		a.Inputs = append(a.Inputs, templates.Input{Kind: "check", Name: "retry", Label: "Run it again with this data", Checked: ticked})
	}
	if o.State == keys.Waiting || o.State == keys.Prioritized {
		a.Note = "It is ready to run: a worker that takes it before you save runs it with the old data."
	}
}

// askJob starts a form about a job.
func (s *Server) askJob(c *Call, o opened, title, yes string) templates.Ask {
	a := s.ask(c, title, yes, "Cancel")
	if c.Values.Get("back") == "" {
		to := s.links.queuePath(c.Queue, "jobs", o.ID)
		a.NoURL, a.Fields[0].Value = s.links.to(to), to
	}
	a.Big = true
	a.Fields = append(a.Fields, templates.Field{Name: "version", Value: o.version})
	return a
}

// showLong asks before a long text is put into a form.
func (s *Server) showLong(c *Call, o opened, a *templates.Ask) {
	a.Body = []string{"Its data has " + words.Bytes(o.Sizes["data"]) + ", which may make the browser slow."}
	a.Yes, a.Unconfirmed = "Show it", true
	a.Fields = append(a.Fields, templates.Field{Name: "open", Value: "1"})
}

// edit stores the data and, if asked, runs the job again.
func (s *Server) edit(ctx context.Context, c *Call) (Result, error) {
	o, err := s.open(ctx, c)
	if err != nil {
		return Result{}, err
	}
	in, data, given := o.dataInput(c)
	if !given || in.Problem != "" {
		return Result{}, &engine.FieldError{Field: "data", Problem: in.Problem}
	}
	q := o.Queue()
	if err := q.UpdateData(ctx, o.ID, data); err != nil {
		return Result{}, err
	}
	res := Result{Message: "Saved the data of job " + visibleText(o.ID) + ".", JobID: o.ID, Done: 1}
	if !truthy(c.Values.Get("retry")) {
		if now, err := q.State(ctx, o.ID); err == nil && now == keys.Active {
			res.Text = "It had started meanwhile: this run has the old data."
		}
		return res, nil
	}
	if !slices.Contains(retryable, o.State) {
		res.Text = "It is " + stateWord(string(o.State)) + " now, so it was not put back."
		return res, nil
	}
	if err := q.RetryJob(ctx, o.State, o.ID, true); err != nil {
		var code *engine.CodeError
		if errors.As(err, &code) {
			return Result{}, &Problem{Status: http.StatusConflict, Title: "Saved, but not run again", Detail: "Job " + visibleText(o.ID) + " was left alone: " + reason(err, o.State) + ".", cause: err}
		}
		return Result{}, err
	}
	res.Text = "It is waiting again, with all its attempts."
	return res, nil
}

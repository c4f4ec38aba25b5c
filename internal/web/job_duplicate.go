package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"bullpen/internal/engine"
)

// tied are the options that belong to one job: a duplicate goes without them.
var tied = []string{"repeat", "repeatJobKey", "prevMillis", "deadLetter", "debounce"}

// copyOptions are the options a duplicate takes over.
func copyOptions(o engine.JobOptions) engine.JobOptions {
	o.ID, o.Parent, o.Deduplication, o.OnFailure, o.TelemetryContext = "", nil, nil, "", ""
	o.Timestamp = engine.JobOptions{}.Timestamp
	extra := map[string]json.RawMessage{}
	for name, value := range o.Extra {
		extra[name] = value
	}
	for _, name := range tied {
		delete(extra, name)
	}
	o.Extra = extra
	return o
}

// duplicating is a job to be added like another one.
type duplicating struct {
	adding
	opened
}

// readDuplicate reads the form; what it does not say is as in the original.
func (s *Server) readDuplicate(ctx context.Context, c *Call) (duplicating, error) {
	o, err := s.open(ctx, c)
	if err != nil {
		return duplicating{}, err
	}
	d := duplicating{opened: o}
	in, data, given := o.dataInput(c)
	full := *c
	full.Values = url.Values{}
	for k, v := range c.Values {
		full.Values[k] = v
	}
	for name, value := range map[string]string{
		"name": o.Name, "attempts": strconv.Itoa(o.AttemptsAllowed()), "priority": strconv.FormatInt(o.Priority, 10),
	} {
		if _, ok := full.Values[name]; !ok {
			full.Values.Set(name, value)
		}
	}
	full.Values.Set("data", "{}") // checked above, with its masked values
	d.adding = readAdding(&full)
	for i := range d.inputs {
		if d.inputs[i].Name == "data" {
			d.inputs[i] = in
		}
	}
	if !given {
		data = o.Data
	}
	d.data, d.valid = data, d.valid && in.Problem == ""
	like := copyOptions(o.Opts)
	like.ID, like.Delay, like.Attempts, like.Priority = d.options.ID, d.options.Delay, d.options.Attempts, d.options.Priority
	like.Given &^= engine.GivenDelay
	d.options = like
	return d, nil
}

// askDuplicate is the form of a new job with everything as in another one.
func (s *Server) askDuplicate(ctx context.Context, c *Call) (*Question, error) {
	d, err := s.readDuplicate(ctx, c)
	if err != nil {
		return nil, err
	}
	if d.valid && c.Mistake == nil && (c.Confirmed() || c.API) {
		return nil, nil
	}
	if c.API {
		for _, in := range d.inputs {
			if in.Problem != "" {
				return nil, &Problem{Status: http.StatusUnprocessableEntity, Title: "Not added", Detail: in.Name + ": " + in.Problem, Field: in.Name}
			}
		}
	}
	a := s.askJob(c, d.opened, "Duplicate job "+visibleText(d.ID), "Add job")
	a.Body = []string{"A new job with the same options. It runs on its own: without the original's parent, deduplication and schedule."}
	if d.long(c) {
		a.Body = nil
		s.showLong(c, d.opened, &a)
	} else {
		a.Inputs = d.inputs
	}
	if c.Mistake != nil && !hasInput(d.inputs, mistakeField(c.Mistake.Field)) {
		a.Problem = sentence(c.Mistake.Error())
	}
	q := question(a, nil)
	q.Open = true
	return q, nil
}

func (s *Server) duplicate(ctx context.Context, c *Call) (Result, error) {
	d, err := s.readDuplicate(ctx, c)
	if err != nil {
		return Result{}, err
	}
	q := d.Queue()
	if d.options.ID != "" {
		if _, err := q.Job(ctx, d.options.ID); err == nil {
			return Result{}, &engine.FieldError{Field: "jobId", Problem: "There is a job with this id already."}
		}
	}
	job, err := q.Add(ctx, d.name, d.data, d.options)
	if err != nil {
		return Result{}, err
	}
	return Result{
		Message: "Added job " + visibleText(job.ID) + ".", Text: "It is like job " + visibleText(d.ID) + ".", JobID: job.ID, Done: 1,
		Location: s.links.queuePath(c.Queue, "jobs", job.ID),
	}, nil
}

package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/templates"
)

// adding is a job to be added, as the form says it.
type adding struct {
	name    string
	data    json.RawMessage
	options engine.JobOptions
	inputs  []templates.Input
	valid   bool
}

// readAdding reads the form and says beside each field what is wrong with it; nothing typed is lost.
func readAdding(c *Call) adding {
	a := adding{valid: true}
	field := func(in templates.Input, check func(string) string) {
		in.Value = c.Values.Get(in.Name)
		if c.Confirmed() || c.API {
			in.Problem = check(strings.TrimSpace(in.Value))
		}
		if c.Mistake != nil && mistakeField(c.Mistake.Field) == in.Name {
			in.Problem = c.Mistake.Problem
		}
		a.valid = a.valid && in.Problem == ""
		a.inputs = append(a.inputs, in)
	}
	field(templates.Input{Kind: "text", Name: "name", Label: "Name", Help: "What kind of job it is.", Required: true}, func(v string) string {
		if a.name = v; v == "" {
			return "A job needs a name."
		}
		return ""
	})
	field(templates.Input{Kind: "area", Name: "data", Label: "Data", Help: "JSON, stored as it is written; empty means {}.", Mono: true, Width: "wide"}, func(v string) string {
		a.data = json.RawMessage(v)
		if v == "" {
			a.data = json.RawMessage("{}")
		}
		return jsonProblem(a.data)
	})
	field(templates.Input{Kind: "text", Name: "delay", Label: "Delay", Help: "Such as 30s or 2h."}, func(v string) string {
		d, err := parseSpan(v)
		if a.options.Delay = d; err != nil {
			return sentence(err.Error())
		}
		return ""
	})
	field(templates.Input{Kind: "text", Name: "attempts", Label: "Attempts", Help: "Empty: as the policy says."}, func(v string) string {
		return wholeNumber(v, 1, 1_000_000, &a.options.Attempts)
	})
	field(templates.Input{Kind: "text", Name: "priority", Label: "Priority", Help: "1 runs first; empty or 0: none."}, func(v string) string {
		return wholeNumber(v, 0, 2_097_152, &a.options.Priority)
	})
	field(templates.Input{Kind: "text", Name: "id", Label: "Job id", Help: "Empty: the next number.", Mono: true}, func(v string) string {
		a.options.ID = v
		return ""
	})
	return a
}

// mistakeField is the form's name of an option the engine refused.
func mistakeField(option string) string {
	if option == "jobId" {
		return "id"
	}
	return option
}

// jsonProblem says where text stops being JSON.
func jsonProblem(raw json.RawMessage) string {
	var v json.RawMessage
	err := json.Unmarshal(raw, &v)
	if err == nil {
		return ""
	}
	text := "This is not JSON: " + strings.TrimPrefix(err.Error(), "invalid character ") + "."
	if se, ok := err.(*json.SyntaxError); ok { //nolint:errorlint // Unmarshal returns it bare
		line := 1 + strings.Count(string(raw[:min(int(se.Offset), len(raw))]), "\n")
		text = "This is not JSON: line " + strconv.Itoa(line) + ", " + se.Error() + "."
	}
	return text
}

func wholeNumber(v string, least, most int, into *int) string {
	if v == "" {
		return ""
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		return "A whole number from " + strconv.Itoa(least) + " to " + strconv.Itoa(most) + "."
	}
	*into = n
	return ""
}

// sentence gives a message a capital letter and a stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}

// askAdd is the form. Once it is filled in well there is no question left.
func (s *Server) askAdd(_ context.Context, c *Call) (*Question, error) {
	a := readAdding(c)
	if a.valid && c.Mistake == nil && (c.Confirmed() || c.API) {
		return nil, nil
	}
	if c.API {
		for _, in := range a.inputs {
			if in.Problem != "" {
				return nil, &Problem{Status: http.StatusUnprocessableEntity, Title: "Not added", Detail: in.Name + ": " + in.Problem, Field: in.Name}
			}
		}
	}
	ask := s.ask(c, "Add a job to "+c.Queue.Name, "Add job", "Cancel")
	ask.Inputs, ask.Big = a.inputs, true
	if c.Mistake != nil && !hasInput(a.inputs, mistakeField(c.Mistake.Field)) {
		ask.Problem = sentence(c.Mistake.Error())
	}
	q := question(ask, nil)
	q.Open = true
	return q, nil
}

func hasInput(inputs []templates.Input, name string) bool {
	for _, in := range inputs {
		if in.Name == name {
			return true
		}
	}
	return false
}

func (s *Server) add(ctx context.Context, c *Call) (Result, error) {
	a := readAdding(c)
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return Result{}, err
	}
	if a.options.ID != "" {
		if _, err := q.Job(ctx, a.options.ID); err == nil {
			return Result{}, &engine.FieldError{Field: "jobId", Problem: "There is a job with this id already."}
		}
	}
	job, err := q.Add(ctx, a.name, a.data, a.options)
	if err != nil {
		return Result{}, err
	}
	res := Result{Message: "Added job " + job.ID + ".", JobID: job.ID, Done: 1}
	if a.options.Delay > 0 {
		res.Text = "It is due " + s.when(c.Now.Add(a.options.Delay), c.Now.Add(-time.Second)).Text + "."
	}
	return res, nil
}

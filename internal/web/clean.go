package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/web/operation"
	"bullpen/internal/words"
	"bullpen/templates"
)

// cleaning is what a clean was asked to remove.
type cleaning struct {
	state keys.State
	age   time.Duration
	limit int
}

// readCleaning reads the form; the inputs say what is wrong with it.
func readCleaning(c *Call) (cl cleaning, inputs []templates.Input, ok bool) {
	cl.state, ok = keys.State(c.Values.Get("state")), true
	choice := templates.Input{Kind: "select", Name: "state", Label: "Jobs that are"}
	known := false
	for _, st := range cleanable {
		chosen := st == cl.state
		known = known || chosen
		choice.Options = append(choice.Options, templates.Option{Value: string(st), Label: stateWord(string(st)), Chosen: chosen})
	}
	if !known && cl.state != "" {
		choice.Problem, ok = "Only these can be cleaned.", false
	} else if cl.state == "" {
		cl.state = cleanable[0]
	}
	age := templates.Input{Kind: "text", Name: "age", Label: "Older than", Value: c.Values.Get("age"), Help: "Such as 30min, 12h or 7d; 0 means all of them.", Required: true}
	d, err := parseSpan(age.Value)
	if age.Value == "" {
		age.Value, ok = "0", false
	} else if err != nil {
		age.Problem, ok = err.Error(), false
	}
	cl.age = d
	limit := templates.Input{Kind: "text", Name: "limit", Label: "At most", Value: c.Values.Get("limit"), Help: "How many jobs, oldest first; empty means no bound."}
	if limit.Value != "" {
		n, err := strconv.Atoi(strings.ReplaceAll(limit.Value, ",", ""))
		if cl.limit = n; err != nil || n < 1 {
			limit.Problem, ok = "A whole number from 1 up, or nothing.", false
		}
	}
	return cl, []templates.Input{choice, age, limit}, ok
}

func (s *Server) askClean(ctx context.Context, c *Call) (*Question, error) {
	cl, inputs, ok := readCleaning(c)
	if !ok {
		a := s.ask(c, "Clean "+c.Queue.Name, "Go on…", "Cancel")
		a.Body = []string{"Removes jobs of one state by age, with their data, traces and logs. You see what it means before anything happens."}
		a.Inputs, a.Unconfirmed = inputs, true
		q := question(a, nil)
		q.Open = true
		return q, nil
	}
	eq, counts, err := s.counts(ctx, c)
	if err != nil {
		return nil, err
	}
	n := counts[cl.state]
	if cl.limit > 0 {
		n = min(n, int64(cl.limit))
	}
	if n == 0 {
		return nil, problem(http.StatusConflict, "Nothing to clean", "No job of %s is %s.", c.Queue.Name, stateWord(string(cl.state)))
	}
	title, yes := "Remove up to "+jobsIn(n, cl.state)+"?", "Remove them"
	if cl.age == 0 {
		title, yes = "Remove "+jobsIn(n, cl.state)+"?", "Remove "+words.Plural(n, "job", "jobs")
	}
	a := s.ask(c, title, yes, "Keep them")
	a.Final = true
	a.Body = []string{cleanWords(c.Queue.Name, cl) + " Jobs that come later are not touched. This cannot be undone."}
	a.Hint = "Runs as an operation you can watch and cancel"
	a.Fields = append(a.Fields, templates.Field{Name: "state", Value: string(cl.state)},
		templates.Field{Name: "age", Value: c.Values.Get("age")}, templates.Field{Name: "limit", Value: c.Values.Get("limit")})
	if n > sampleFrom && cl.age == 0 {
		if a.Samples, err = s.samples(ctx, c, eq, cl.state); err != nil {
			return nil, err
		}
		a.Big = true
	}
	if n > typeFrom {
		typed(c, &a)
	}
	return question(a, map[string]any{"atMost": n}), nil
}

func cleanWords(queue string, cl cleaning) string {
	text := "Every job of " + queue + " that is " + stateWord(string(cl.state)) + " now"
	if cl.limit > 0 {
		text = "The oldest " + words.Plural(int64(cl.limit), "job", "jobs") + " of " + queue + " that are " + stateWord(string(cl.state)) + " now"
	}
	if cl.age > 0 {
		text += " and older than " + words.Roughly(cl.age)
	}
	return text + ", with data, traces and logs."
}

func (s *Server) clean(ctx context.Context, c *Call) (Result, error) {
	cl, _, ok := readCleaning(c)
	if !ok {
		return Result{}, problem(http.StatusUnprocessableEntity, "Not accepted", "State, age or limit cannot be read.")
	}
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return Result{}, err
	}
	spec := s.spec(c, stateWord(string(cl.state))+" jobs")
	spec.Detail = cleanWords(c.Queue.Name, cl)
	left := cl.limit
	spec.Prepare = func(ctx context.Context) (int64, error) {
		counts, err := q.Counts(ctx)
		if n := counts[cl.state]; cl.limit == 0 || n < int64(cl.limit) {
			return n, err
		}
		return int64(cl.limit), err
	}
	spec.Step = func(ctx context.Context, n int) (operation.Batch, error) {
		if cl.limit > 0 {
			n = min(n, left)
		}
		// The bound stays where it was at the start, so that jobs which finish meanwhile are not touched.
		ids, err := q.Clean(ctx, cl.state, cl.age+s.o.Clock().Sub(c.Now), n)
		left -= len(ids)
		return operation.Batch{Done: int64(len(ids)), Last: err == nil && (len(ids) == 0 || cl.limit > 0 && left <= 0)}, err
	}
	return s.begin(ctx, c, spec)
}

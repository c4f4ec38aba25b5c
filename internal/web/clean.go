package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine"
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
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return nil, err
	}
	n, exact, err := cl.count(ctx, q, c.Now)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, problem(http.StatusConflict, "Nothing to clean", "No job of %s is %s%s.", c.Queue.Name, stateWord(string(cl.state)), cl.older())
	}
	samples, err := s.samplesToClean(ctx, c, q, cl)
	if err != nil {
		return nil, err
	}
	title, yes, preview := "Remove up to "+jobsIn(n, cl.state)+"?", "Remove them", map[string]any{"atMost": n, "samples": idsOf(samples)}
	if exact {
		preview = map[string]any{"matched": n, "samples": idsOf(samples)}
		title, yes = "Remove "+jobsIn(n, cl.state)+"?", "Remove "+words.Plural(n, "job", "jobs")
	}
	a := s.ask(c, title, yes, "Keep them")
	a.Final = true
	a.Body = []string{cleanWords(c.Queue.Name, cl) + " Jobs that come later are not touched" + cl.spared() + ". This cannot be undone."}
	a.Hint = "Runs as an operation you can watch and cancel"
	a.Fields = append(a.Fields, templates.Field{Name: "state", Value: string(cl.state)},
		templates.Field{Name: "age", Value: c.Values.Get("age")}, templates.Field{Name: "limit", Value: c.Values.Get("limit")})
	if n > sampleFrom {
		a.Samples, a.Big = samples, true
	}
	if n > typeFrom {
		typed(c, &a)
	}
	return question(a, preview), nil
}

// ended says that the state holds jobs by the time they ended.
func (cl cleaning) ended() bool { return cl.state == keys.Completed || cl.state == keys.Failed }

// count is how many jobs a clean at a time removes: exactly, or at most where Redis does not order them by age.
func (cl cleaning) count(ctx context.Context, q *engine.Queue, now time.Time) (n int64, exact bool, err error) {
	if cl.ended() {
		exact = true
		n, err = q.CountEnded(ctx, cl.state, time.Time{}, now.Add(-cl.age))
	} else {
		var counts map[keys.State]int64
		counts, err = q.Counts(ctx)
		n, exact = counts[cl.state], cl.age == 0
	}
	if cl.limit > 0 {
		n = min(n, int64(cl.limit))
	}
	return n, exact, err
}

// older is the bound of the age in words, "" without one.
func (cl cleaning) older() string {
	if cl.age == 0 {
		return ""
	}
	return " and older than " + words.Roughly(cl.age)
}

// spared goes on with what else is left alone.
func (cl cleaning) spared() string {
	if cl.ended() {
		return ""
	}
	return ", and next runs of schedulers stay"
}

// isOld reports whether a job is old enough to go (lifecycle 8.18).
func (cl cleaning) isOld(r engine.Row, now time.Time) bool {
	times := []time.Time{r.FinishedOn, r.ProcessedOn, r.Timestamp}
	switch cl.state {
	case keys.Delayed:
		times = times[1:]
	case keys.Prioritized:
		times = times[2:]
	}
	for _, t := range times {
		if !t.IsZero() {
			return !t.After(now.Add(-cl.age))
		}
	}
	return true
}

// samplesToClean are jobs that go, as far as those next in turn tell.
func (s *Server) samplesToClean(ctx context.Context, c *Call, q *engine.Queue, cl cleaning) ([]templates.Sample, error) {
	rows, _, err := q.Rows(ctx, cl.state, 0, jobRows-1, true)
	if err != nil {
		return nil, err
	}
	most := maxSamples
	if cl.limit > 0 {
		most = min(most, cl.limit)
	}
	var out []templates.Sample
	for _, r := range rows {
		if len(out) < most && cl.isOld(r, c.Now) {
			out = append(out, s.sample(c, cl.state, r))
		}
	}
	return out, nil
}

func cleanWords(queue string, cl cleaning) string {
	text := "Every job of " + queue + " that is " + stateWord(string(cl.state)) + " now"
	if cl.limit > 0 {
		text = "The oldest " + words.Plural(int64(cl.limit), "job", "jobs") + " of " + queue + " that are " + stateWord(string(cl.state)) + " now"
	}
	return text + cl.older() + ", with data, traces and logs."
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
		n, _, err := cl.count(ctx, q, c.Now)
		return n, err
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

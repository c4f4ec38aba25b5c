package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/web/chart"
	"bullpen/internal/web/operation"
	"bullpen/internal/words"
	"bullpen/templates"

	"github.com/labstack/echo/v4"
)

func (s *Server) operationActions() []Action {
	return []Action{{Name: "cancel", Path: "/operations/:op/cancel", Role: Operator, Do: s.cancelOperation}}
}

// mayOperation reports whether the caller may act on the operation's queue: on all of them, where it has several; to see
// it, one is enough.
func (s *Server) mayOperation(who Identity, role Role, st operation.Status) bool {
	if len(st.Queues) == 0 {
		return who.May(role, s.links.parseQueue(st.Queue))
	}
	may := func(q string) bool { return who.May(role, s.links.parseQueue(q)) }
	if role == Viewer {
		return slices.ContainsFunc(st.Queues, may)
	}
	return !slices.ContainsFunc(st.Queues, func(q string) bool { return !may(q) })
}

// seenBy is an operation as a person sees it: only the queues that are not hidden from them, and how many are. What
// jobs were refused for, and which, may be of hidden queues.
func (s *Server) seenBy(who Identity, st operation.Status) (_ operation.Status, hidden int64) {
	all := len(st.Queues)
	st.Queues = s.visibleQueues(who, st.Queues)
	if hidden = int64(all - len(st.Queues)); hidden > 0 {
		st.Reasons, st.Again = nil, nil
		if st.Error != "" {
			st.Error = "for a reason that may be about queues you may not see"
		}
	}
	return st, hidden
}

// visibleQueues leaves out the qualified names of queues that are hidden from a person.
func (s *Server) visibleQueues(who Identity, qualified []string) []string {
	var out []string
	for _, q := range qualified {
		if who.May(Viewer, s.links.parseQueue(q)) {
			out = append(out, q)
		}
	}
	return out
}

// operationOn names what an operation is on, as pages do.
func (s *Server) operationOn(st operation.Status) string {
	if n := len(st.Queues); n > 0 {
		return words.Plural(int64(n), "queue", "queues")
	}
	return s.queueName(st.Queue)
}

// findOperation finds an operation that the caller may see.
func (s *Server) findOperation(who Identity, id string) (operation.Status, error) {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		if st, ok := s.ops.Find(n); ok && s.mayOperation(who, Viewer, st) {
			return st, nil
		}
	}
	p := problem(http.StatusNotFound, "No such operation", "Operation %s is not known. The last 200 are kept, for a month.", id)
	p.Links = []templates.Link{{Label: "All operations", URL: s.links.to("/operations")}}
	return operation.Status{}, p
}

// refusalsOf are the jobs an operation left alone.
func (s *Server) refusalsOf(ctx context.Context, who Identity, st operation.Status) ([]operation.Refusal, error) {
	if _, hidden := s.seenBy(who, st); hidden > 0 {
		return nil, problem(http.StatusForbidden, "Not allowed", "Operation %d is also on %s that you may not see. The jobs it left alone are shown to those who may see all of its queues.",
			st.ID, words.Plural(hidden, "queue", "queues"))
	}
	found, err := s.ops.Refusals(ctx, st.ID)
	if err == nil && len(found) == 0 && st.Refused > 0 {
		err = problem(http.StatusNotFound, "Not kept", "The jobs that operation %d left alone were kept for a week. The reasons are still kept.", st.ID)
	}
	return found, err
}

// cancelLimit is how long an answer waits for the end of an operation.
const cancelLimit = 3 * time.Second

func (s *Server) cancelOperation(ctx context.Context, c *Call) (Result, error) {
	before, err := s.findOperation(c.Who, c.Params["op"])
	if err != nil {
		return Result{}, err
	}
	if !s.mayOperation(c.Who, Operator, before) {
		return Result{}, problem(http.StatusForbidden, "Not allowed", "This operation is on a queue you may not change.")
	}
	if before.State.Ended() {
		return Result{}, problem(http.StatusConflict, "Nothing was done", "The operation had ended already.")
	}
	ctx, cancel := context.WithTimeout(ctx, cancelLimit)
	defer cancel()
	st, _, err := s.ops.Cancel(ctx, before.ID)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return Result{}, err
	}
	res := Result{
		Message: "Cancelled.", Text: "What was done stays done: " + words.Plural(st.Done, "job", "jobs") + ".", Done: 1,
		Location: operationPath(st),
	}
	if !st.State.Ended() {
		res.Message, res.Text = "Asked it to end.", "It stops after the batch under way."
	}
	return res, nil
}

func operationPath(st operation.Status) string { return "/operations/" + strconv.FormatInt(st.ID, 10) }

// operationsPage lists what was asked of the server.
func (s *Server) operationsPage(_ context.Context, r viewRequest) (view, error) {
	v := templates.OperationList{Title: "Operations", Say: "Bulk acts run on the server; they go on when you leave the page."}
	for _, st := range s.ops.List() {
		if s.mayOperation(r.who, Viewer, st) {
			v.Rows = append(v.Rows, s.operationRow(r, st))
		}
	}
	if err := s.ops.Trouble(); err != nil {
		v.Say += " Those of other replicas cannot be read now: " + oneLine(err) + "."
	}
	if len(v.Rows) == 0 {
		v.Empty = &templates.EmptyState{Title: "No operations yet", Text: "Retry all, promote all, clean, drain and obliterate appear here."}
	}
	return view{
		title: "Operations", nav: "/operations", content: templates.OperationsView(v),
		live: []region{{"operations", templates.OperationsBody(v)}},
	}, nil
}

// operationPage shows one operation.
func (s *Server) operationPage(_ context.Context, r viewRequest) (view, error) {
	st, err := s.findOperation(r.who, r.params["op"])
	if err != nil {
		return view{}, err
	}
	may := !s.o.ReadOnly && s.mayOperation(r.who, Operator, st)
	on := s.operationOn(st)
	st, hidden := s.seenBy(r.who, st)
	look := operationLook(st)
	v := templates.OperationPage{
		Crumbs: []templates.Crumb{{Label: "Operations", URL: s.links.to("/operations")}, {Label: strconv.FormatInt(st.ID, 10)}},
		Class:  look.class, Icon: look.icon, Says: look.word, Title: operationTitle(st, on),
		Max: st.Matched, Value: st.Done + st.Refused, Percent: progressPercent(st),
		Totals: s.operationTotals(st, r.now), Pace: s.pacePlot(st), Asked: s.operationAsked(st, hidden),
	}
	if hidden == 0 && (st.Ended.IsZero() || r.now.Sub(st.Ended) < operation.RefusalsLife) {
		v.AllURL, v.AllLabel = s.links.to(operationPath(st)+"/refusals"), refusalsLabel(st.Refused)
	}
	v.Finding, v.Say = operationSay(st, r.now)
	if hidden > 0 && st.Refused > 0 {
		v.Say = strings.Replace(v.Say, ", for the reasons below.", ". Why is shown to those who may see all of its queues.", 1)
	}
	if st.State.Ended() {
		v.Max = max(st.Matched, 1)
		if st.State == operation.Done {
			v.Value = v.Max
		}
		v.Act = s.againAct(r, st)
	} else if may {
		v.Act = &templates.Act{
			Label: "Cancel the rest", Class: "bad", URL: s.links.to(operationPath(st) + "/cancel"),
			Fields: []templates.Field{{Name: "back", Value: r.self()}},
		}
	}
	for _, reason := range st.Reasons {
		which := strings.Join(reason.Sample, ", ")
		if more := reason.Count - int64(len(reason.Sample)); more > 0 {
			which += ", " + words.Count(more) + " more"
		}
		v.Refused = append(v.Refused, templates.RefusedRow{Reason: sentenceStart(reason.Text), Count: words.Count(reason.Count), Which: which})
	}
	for _, other := range s.ops.List() {
		if other.ID < st.ID && len(v.Before) < 5 && s.mayOperation(r.who, Viewer, other) {
			v.Before = append(v.Before, s.operationRow(r, other))
		}
	}
	return view{
		title: operationTabTitle(st), nav: "/operations", content: templates.OperationView(v),
		live: []region{{"operation", templates.OperationBody(v)}},
	}, nil
}

// queueName is a queue as pages name it.
func (s *Server) queueName(qualified string) string {
	q := s.links.parseQueue(qualified)
	if q.Prefix == s.o.Prefix {
		return q.Name
	}
	return qualified
}

// queueNames are queues as pages name them, at most so many.
func (s *Server) queueNames(qualified []string, most int) []string {
	var out []string
	for i, q := range qualified {
		if i == most {
			return append(out, words.Count(int64(len(qualified)-i))+" more")
		}
		out = append(out, visibleText(s.queueName(q)))
	}
	return out
}

func (s *Server) operationTotals(st operation.Status, now time.Time) []templates.Total {
	v := verbs(st.Verb)
	left := templates.Total{Label: "Left", Figure: figure(words.Count(st.Left()))}
	if rate := st.Rate(now); rate > 0 && st.Left() > 0 && !st.State.Ended() {
		left.Notes = []string{"about " + words.Duration(secondsOf(float64(st.Left())/rate))}
	}
	reasons := "none"
	if n := len(st.Reasons); n > 0 {
		reasons = words.Plural(int64(n), "reason", "reasons") + ", below"
	} else if st.Refused > 0 {
		reasons = "reasons not shown"
	}
	rate := templates.Total{Label: "Rate", Figure: figure(words.PerSecond(st.Rate(now)))}
	if st.Batches > 0 {
		rate.Notes = []string{words.Plural(st.Batches, "batch", "batches") + ", longest " + words.Exact(st.Longest)}
	}
	return []templates.Total{
		{Label: "Matched", Figure: figure(words.Count(st.Matched)), Notes: []string{"snapshot of " + st.Started.In(s.o.Zone).Format("15:04:05")}},
		{State: templates.StateOf("completed"), Label: v.past, Figure: figure(words.Count(st.Done))},
		{State: templates.StateOf("failed"), Label: "Refused", Figure: figure(words.Count(st.Refused)), Notes: []string{reasons}},
		left, rate,
	}
}

// pacePlot shows the jobs done over time; nil while there is nothing to see.
func (s *Server) pacePlot(st operation.Status) *templates.Plot {
	if len(st.Pace) < 2 {
		return nil
	}
	values := make([]float64, max(len(st.Pace), 30))
	top := 0.0
	for i, n := range st.Pace {
		values[i] = float64(n) / st.Every.Seconds()
		top = max(top, values[i])
	}
	scale := chart.Linear(top)
	p := &templates.Plot{
		Title: "Jobs per second", ViewBox: "0 0 " + strconv.Itoa(len(values)) + " 100",
		Legend: []templates.LegendItem{{Class: "s-active", Kind: "bar", Label: "done", Value: words.Number(values[len(st.Pace)-1])}},
		Story:  "Jobs per second since the start, at most " + words.Number(top),
		Paths:  []templates.PlotPath{{Class: "fill s-active", D: scale.Bars(values)[0]}},
	}
	for _, t := range scale.Ticks {
		p.Y = append(p.Y, templates.PlotTick{At: percent(t.Percent), Label: words.Tick(t.Value)})
	}
	for i, anchor := range []string{"", "mid", "e"} {
		at := st.Started.Add(time.Duration(float64(len(values)) * float64(st.Every) * float64(i) / 2)).In(s.o.Zone)
		p.X = append(p.X, templates.PlotTick{At: percent(float64(i) * 50), Label: at.Format("15:04:05"), Anchor: anchor})
	}
	return p
}

func (s *Server) operationAsked(st operation.Status, hidden int64) []templates.Detail {
	out := []templates.Detail{{Label: "Act", Value: sentenceStart(st.Verb)}}
	if st.Queue != "" {
		out = append(out, templates.Detail{Label: "Queue", Value: s.queueName(st.Queue), URL: s.links.queue(s.links.parseQueue(st.Queue))})
	}
	if len(st.Queues) > 0 {
		queues := templates.Detail{Label: "Queues", Value: strings.Join(s.queueNames(st.Queues, 20), ", ")}
		if hidden > 0 {
			queues.Small = "and " + words.Count(hidden) + " you may not see"
		}
		out = append(out, queues)
	}
	if st.Detail != "" {
		out = append(out, templates.Detail{Label: "Set", Value: st.Detail, Small: "later ones are not touched"})
	}
	return append(out,
		templates.Detail{Label: "Batches", Value: "up to 1,000 jobs and about 5 ms", Small: "after each, Redis has as long for others"},
		templates.Detail{Label: "Started by", Value: st.Who, Small: s.exact(st.Started)})
}

func (s *Server) operationRow(r viewRequest, st operation.Status) templates.OperationRow {
	on := s.operationOn(st)
	st, _ = s.seenBy(r.who, st)
	look := operationLook(st)
	row := templates.OperationRow{
		ID: strconv.FormatInt(st.ID, 10), URL: s.links.to(operationPath(st)),
		Title: sentenceStart(st.Verb) + " " + st.Subject, Queue: "in " + on, Class: look.class, Icon: look.icon, State: look.word,
		Started: s.when(st.Started, r.now), Took: words.Unknown, Done: words.Count(st.Done), Refused: words.Count(st.Refused), Who: st.Who,
	}
	switch {
	case st.State == operation.Failed:
		row.State += ": " + clip(st.Error, 60)
	case !st.State.Ended():
		row.State = progressPercent(st) + " " + row.State
	}
	if !st.Ended.IsZero() {
		row.Took = words.Exact(st.Ended.Sub(st.Started).Round(time.Millisecond))
	}
	return row
}

func refusalsLabel(n int64) string {
	if n > operation.MaxRefusals {
		return "The first " + words.Count(operation.MaxRefusals) + " of " + words.Count(n) + " as JSON lines"
	}
	return "All " + words.Count(n) + " as JSON lines"
}

// operationRefusals is every refused job, one JSON object a line.
func (s *Server) operationRefusals(c echo.Context) error {
	who, err := s.identify(c.Request())
	if err != nil {
		return err
	}
	st, err := s.findOperation(who, c.Param("op"))
	if err != nil {
		return err
	}
	refusals, err := s.refusalsOf(c.Request().Context(), who, st)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentType, ndjson)
	c.Response().Header().Set("Cache-Control", "no-store")
	enc := json.NewEncoder(c.Response())
	for _, r := range refusals {
		if err := enc.Encode(r); err != nil {
			return nil //nolint:nilerr // the reader went away
		}
	}
	return nil
}

// runningMark is the count beside "Operations" in the top bar, of those the viewer may see.
func runningMark(s *Server, who Identity) (text, class, meaning string) {
	n := int64(0)
	for _, st := range s.ops.List() {
		if !st.State.Ended() && s.mayOperation(who, Viewer, st) {
			n++
		}
	}
	if n == 0 {
		return "", "", ""
	}
	return words.Count(n), "s-active", "running"
}

package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"bullpen/internal/audit"
	"bullpen/internal/engine/keys"
	"bullpen/internal/words"
	"bullpen/templates"

	"github.com/labstack/echo/v4"
)

// maxForm bounds what a write may send: a job's data and a page full of ids.
const maxForm = 8 << 20

// gate is the one way to a write. In this order: who, where from, read-only, permission, what is asked, whether the
// state is still the one seen, whether the question was answered, the act itself. Each try is recorded, and each ends
// in words.
func (s *Server) gate(a *Action) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx := traced(c.Request())
		call, err := s.admit(c, a)
		if err != nil {
			s.recordFailure(ctx, call, err)
			return err
		}
		q, res, err := s.perform(ctx, call)
		switch {
		case err != nil:
			s.recordFailure(ctx, call, err)
			return s.explain(c, call, err)
		case q != nil:
			s.record(ctx, s.entry(call, audit.Asked, q.Title))
			return s.show(c, call, q)
		}
		e := s.entry(call, outcome(res), strings.TrimSpace(res.Message+" "+res.Text))
		e.Queues, e.Done, e.Refused, e.Operation = res.Queues, res.Done, res.Refused, res.Operation
		if res.JobID != "" {
			e.Jobs = []string{res.JobID}
		}
		s.record(ctx, e)
		s.touch()
		s.settle(ctx, call)
		return s.tell(c, call, res)
	}
}

// admit decides whether the request may write at all. The call it returns is good enough to be recorded even when
// the answer is no.
func (s *Server) admit(c echo.Context, a *Action) (*Call, error) {
	r := c.Request()
	call := &Call{Action: a, Params: map[string]string{}, Values: url.Values{}, Now: s.o.Clock(), Snap: s.o.Monitor.Snapshot(), Path: actPath(r), API: wantsJSON(r), Remote: c.RealIP()}
	for i, name := range c.ParamNames() {
		call.Params[name] = param(c.ParamValues()[i])
	}
	if segment, ok := call.Params["queue"]; ok {
		call.Queue = s.links.parseQueue(segment)
		call.Found = call.Snap.Queue(call.Queue.Prefix, call.Queue.Name)
	}
	who, err := s.identify(r)
	if err != nil {
		return call, err
	}
	call.Who = who
	if p := s.checkOrigin(r, who); p != nil {
		return call, p
	}
	if s.o.ReadOnly {
		return call, problem(http.StatusForbidden, "Read only", "This Bullpen was started with -read-only and changes nothing in Redis.")
	}
	if !who.May(a.Role, call.Queue) {
		return call, problem(http.StatusForbidden, "Not allowed", "To %s here needs the role %s; %s has the role %s.", a.Name, a.Role, who.Name, who.Role)
	}
	if call.Queue != (keys.Queue{}) && call.Found == nil {
		return call, s.noQueue(call.Queue)
	}
	if call.Found != nil && call.Found.Legacy {
		return call, problem(http.StatusConflict, "Left alone", "%s was written by Bull 3 or 4. Bullpen shows it and never writes to it.", call.Queue.Name)
	}
	call.Values, err = readValues(c, a)
	return call, err
}

// perform compares the state, asks what must be asked, and acts.
func (s *Server) perform(ctx context.Context, call *Call) (*Question, Result, error) {
	a := call.Action
	if a.State != nil && call.Seen() != "" {
		now, err := a.State(ctx, call)
		if err != nil {
			return nil, Result{}, err
		}
		if now != call.Seen() {
			return nil, Result{}, movedOn(call, now)
		}
	}
	if a.Ask != nil {
		q, err := a.Ask(ctx, call)
		if err != nil {
			return nil, Result{}, err
		}
		if q != nil && (q.Open || !call.Confirmed() || q.Type != "" && call.Values.Get("confirm") != q.Type) {
			return q, Result{}, nil
		}
	}
	res, err := a.Do(ctx, call)
	if a.Ask != nil && errors.As(err, &call.Mistake) {
		// The engine knows more about what is valid than the form; its finding goes beside the field.
		if q, askErr := a.Ask(ctx, call); askErr == nil && q != nil {
			return q, Result{}, nil
		}
	}
	if err != nil {
		return nil, res, err
	}
	res.Action = a.Name
	if call.Queue.Name != "" {
		res.Queue = call.Queue.Qualified()
	}
	return nil, res, nil
}

// movedOn says that the state is not the one the person saw.
func movedOn(call *Call, now string) *Problem {
	what := "The queue"
	if id, ok := call.Params["scheduler"]; ok && now != string(keys.Unknown) {
		return problem(http.StatusConflict, "Nothing was done", "Scheduler %s was changed by somebody else meanwhile. The page is up to date again.", visibleText(id))
	} else if ok {
		what = "Scheduler " + visibleText(id)
	}
	if id := call.Params["id"]; id != "" {
		what = "Job " + id
	}
	if now == string(keys.Unknown) {
		return problem(http.StatusConflict, "Nothing was done", "%s is gone: it is in no state any more.", what)
	}
	return problem(http.StatusConflict, "Nothing was done", "%s is no longer %s, it is %s now. The page is up to date again.",
		what, stateWord(call.Seen()), stateWord(now))
}

// stateWord is a state of a job or queue inside a sentence.
func stateWord(name string) string {
	look := templates.StateOf(name)
	if look.Label == "Unknown" {
		return name // a state that is no job's
	}
	return strings.ToLower(look.Label)
}

// explain answers a failed act: a notice on the page it came from, or a problem document.
func (s *Server) explain(c echo.Context, call *Call, err error) error {
	p := asProblem(err)
	if p.Status == http.StatusConflict {
		s.settle(c.Request().Context(), call)
	}
	if wantsJSON(c.Request()) || call.Values.Get("back") == "" {
		return err
	}
	s.flashes.put(c, templates.Notice{Class: "s-failed", Icon: "h-crit", Strong: strings.TrimSuffix(p.Title, ".") + ".", Text: p.Detail, Alert: true})
	return c.Redirect(http.StatusSeeOther, s.links.to(call.Back()))
}

// show answers with a question. The status tells programs that nothing was done yet.
func (s *Server) show(c echo.Context, call *Call, q *Question) error {
	status := http.StatusOK
	if q.Open || call.Confirmed() {
		status = http.StatusUnprocessableEntity
	}
	if wantsJSON(c.Request()) {
		s.answer(c, status, echo.MIMEApplicationJSON, questionJSON{q.Title, confirmWord(q), q.Preview})
		return nil
	}
	r := s.viewRequest(c, call.Who)
	return s.showView(c, r, view{title: q.Title, nav: navOf(call.Action), content: q.Body, status: status})
}

// confirmWord is what the value "confirm" must be.
func confirmWord(q *Question) string {
	if q.Type != "" {
		return q.Type
	}
	return "yes"
}

// tell answers with the result: on the page the button was on, or as JSON.
func (s *Server) tell(c echo.Context, call *Call, res Result) error {
	if wantsJSON(c.Request()) {
		status := http.StatusOK
		if res.Operation != "" {
			status = http.StatusAccepted
		}
		if res.Done == 0 && res.Refused > 0 {
			status = http.StatusConflict
		}
		s.answer(c, status, echo.MIMEApplicationJSON, res)
		return nil
	}
	s.flashes.put(c, res.notice(s.links))
	to := res.Location
	if to == "" {
		to = call.Back()
	}
	return c.Redirect(http.StatusSeeOther, s.links.to(to))
}

// settleLimit is how long an answer waits for figures that show its effect.
const settleLimit = 500 * time.Millisecond

// settle asks the collector for new figures and, when a page follows, waits for them a moment: without a script that
// page would show the state before.
func (s *Server) settle(ctx context.Context, call *Call) {
	if call.API {
		s.o.Monitor.Refresh()
		return
	}
	snaps, cancel := s.o.Monitor.Subscribe()
	defer cancel()
	s.o.Monitor.Refresh()
	timeout := time.NewTimer(settleLimit)
	defer timeout.Stop()
	for {
		select {
		case snap := <-snaps:
			// A pass that was under way already may have read the queue before the act.
			if snap.Err != nil || snap.At.Add(-snap.Took).After(call.Now) {
				return
			}
		case <-timeout.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func outcome(res Result) string {
	switch {
	case res.Operation != "":
		return audit.Started
	case res.Done == 0 && res.Refused > 0:
		return audit.Refused
	}
	return audit.Done
}

func (s *Server) entry(call *Call, outcome, message string) Entry {
	e := Entry{
		At: call.Now, Who: call.Who.Name, Role: call.Who.Role.String(), Action: call.Action.Name,
		Outcome: outcome, Message: message, Remote: call.Remote, Target: cmp.Or(call.Params["id"], call.Params["scheduler"], call.Params["group"]),
	}
	if call.Queue.Name != "" {
		e.Queue = call.Queue.Qualified()
	}
	if e.Target == "" {
		e.Target = call.Values.Get("state")
	}
	if !truthy(call.Values.Get("all")) {
		e.Jobs = slices.Concat(call.Values["id"], call.Values["ids"])
	}
	return e
}

func (s *Server) recordFailure(ctx context.Context, call *Call, err error) {
	p := asProblem(err)
	if p.Status == http.StatusUnauthorized {
		// Strangers must not push what people did out of the capped log.
		s.log.InfoContext(ctx, "refused", "action", call.Action.Name, "remote", call.Remote, "err", p)
		return
	}
	outcome := audit.Failed
	if p.Status < http.StatusInternalServerError {
		outcome = audit.Refused
	}
	s.record(ctx, s.entry(call, outcome, p.Error()))
}

// askView is the page of an action's question, for those who come by a link.
func (s *Server) askView(a *Action) viewFunc {
	return func(ctx context.Context, r viewRequest) (view, error) {
		call := &Call{Action: a, Who: r.who, Params: r.params, Values: r.query, Now: r.now, Snap: r.snap, Path: r.path}
		if _, ok := r.params["queue"]; ok {
			found, err := s.queueOf(r)
			if err != nil {
				return view{}, err
			}
			call.Queue, call.Found = found.Queue, found
		}
		q, err := a.Ask(ctx, call)
		if err != nil {
			return view{}, err
		}
		if q == nil {
			return view{}, problem(http.StatusNotFound, "Nothing to do", "There is nothing to %s here.", a.Name)
		}
		return view{title: q.Title, nav: navOf(a), content: q.Body}, nil
	}
}

// navOf is the entry of the navigation that the question of an act belongs to.
func navOf(a *Action) string {
	for _, n := range navigation {
		if n.path != "/" && strings.Contains(a.Path, n.path+"/") {
			return n.path
		}
	}
	return "/"
}

// actPath is the address of the act as a person reaches it, without the API's prefix.
func actPath(r *http.Request) string {
	return strings.TrimPrefix(r.URL.EscapedPath(), apiVersion)
}

// readValues reads a form or a JSON object. Members of an object that are strings count as text, arrays of strings as
// repeated values, anything else as its JSON.
func readValues(c echo.Context, a *Action) (url.Values, error) {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxForm)
	kind, _, _ := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType))
	if kind != echo.MIMEApplicationJSON {
		v, err := c.FormParams()
		if err != nil {
			return url.Values{}, badBody(err)
		}
		return v, nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return url.Values{}, badBody(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return url.Values{}, badBody(err)
	}
	values := c.QueryParams()
	for name, m := range members {
		if err := unknownMember(a, name); err != nil {
			return url.Values{}, err
		}
		values[name] = texts(name, m)
	}
	return values, nil
}

func badBody(err error) *Problem {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &Problem{Status: http.StatusRequestEntityTooLarge, Title: "Too large", Detail: "A request may have at most " + words.Bytes(large.Limit) + ".", cause: err}
	}
	return &Problem{Status: http.StatusBadRequest, Title: "The request cannot be read", Detail: err.Error(), cause: err}
}

func texts(name string, m json.RawMessage) []string {
	var one string
	if json.Unmarshal(m, &one) == nil {
		return []string{one}
	}
	var many []string
	if name != "data" && json.Unmarshal(m, &many) == nil { // a job's data may be an array of texts
		return many
	}
	return []string{string(m)}
}

package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"bullpen/internal/livepolicy"
	"bullpen/templates"
)

// policyActions are the acts on a queue's policy.
func (s *Server) policyActions() []Action {
	const path = "/queues/:queue/policy/"
	return []Action{
		{Name: "propose", Path: path + "propose", Role: Operator, State: s.policyRevision, Ask: s.askPropose, Do: s.propose},
		{Name: "approve", Path: path + "approve", Role: Operator, Do: s.approve},
		{Name: "reject", Path: path + "reject", Role: Operator, Ask: s.askReject, Do: s.reject},
		{Name: "rollback", Path: path + "rollback", Role: Operator, State: s.policyRevision, Ask: s.askRollback, Do: s.rollback},
	}
}

// changeable returns what is known of the policy of a call's queue, if it can be changed at all.
func (s *Server) changeable(ctx context.Context, c *Call) (policyState, error) {
	if s.o.Policies == nil {
		return policyState{}, problem(http.StatusNotFound, "Not possible here", "This Bullpen cannot change policies live.")
	}
	return s.policyState(ctx, c.Snap, c.Found)
}

// policyRevision is what a form about the policy was filled in against.
func (s *Server) policyRevision(ctx context.Context, c *Call) (string, error) {
	p, err := s.changeable(ctx, c)
	if err != nil {
		return "", err
	}
	return atRevision(p), nil
}

func atRevision(p policyState) string {
	return "at revision " + strconv.FormatInt(p.record.Revision, 10)
}

// undecided refuses a new proposal while another is open.
func (s *Server) undecided(c *Call, p policyState) error {
	if p.record.Open == nil {
		return nil
	}
	pr := problem(http.StatusConflict, "Another change waits", "%s proposed one; approve or reject it first.", p.record.Open.By)
	pr.Links = []templates.Link{{Label: "Policy of " + c.Queue.Name, URL: s.links.queue(c.Queue, "policy")}}
	return pr
}

// proposal reads the form of a call.
func (s *Server) proposal(ctx context.Context, c *Call) (policyState, *policyForm, error) {
	p, err := s.changeable(ctx, c)
	if err != nil {
		return p, nil, err
	}
	if err := s.undecided(c, p); err != nil {
		return p, nil, err
	}
	q, err := s.o.Queue(c.Queue)
	if err != nil {
		return p, nil, err
	}
	paused, err := q.IsPaused(ctx)
	if err != nil {
		return p, nil, err
	}
	f := readPolicyForm(c.Values, p.inForce, paused)
	return p, f, nil
}

// wantsNow reports whether the change is to be approved in the same step, which one person may do.
func (s *Server) wantsNow(c *Call) bool {
	return !s.o.Policies.TwoPeople() && truthy(c.Values.Get("apply"))
}

// whyInput is the field that every change needs.
func whyInput(c *Call, submitted bool) templates.Input {
	in := templates.Input{Kind: "text", Name: "why", Label: "Why", Value: strings.TrimSpace(c.Values.Get("why")), Help: "Stays in the history.", Required: true, Width: "wide"}
	if submitted && in.Value == "" {
		in.Problem = "Say why; whoever looks at it later will ask."
	}
	return in
}

// nowInput asks whether to approve in the same step; there is none where two people have to agree.
func (s *Server) nowInput(c *Call, submitted bool) []templates.Input {
	if s.o.Policies.TwoPeople() {
		return nil
	}
	return []templates.Input{{Kind: "check", Name: "apply", Label: "Approve it at once", Checked: !submitted || truthy(c.Values.Get("apply")), Width: "wide"}}
}

func (s *Server) askPropose(ctx context.Context, c *Call) (*Question, error) {
	p, f, err := s.proposal(ctx, c)
	if err != nil {
		return nil, err
	}
	submitted := c.Values.Has("why")
	changes := formChanges(p, f)
	if f.ok() && strings.TrimSpace(c.Values.Get("why")) != "" && len(changes) > 0 {
		return s.previewChange(c, p, f, changes), nil
	}
	a := s.policyAsk(c, "Change the policy of "+c.Queue.Name, "Go on…", "Cancel")
	a.Big, a.Unconfirmed = true, true
	a.Fields = append(a.Fields, templates.Field{Name: "seen", Value: atRevision(p)})
	a.Body = []string{"What is left as it is stays. You see what a change means before anything happens."}
	a.Inputs = append(f.inputs, whyInput(c, submitted))
	a.Inputs = append(a.Inputs, s.nowInput(c, submitted)...)
	if submitted && f.ok() && len(changes) == 0 {
		a.Problem = "Nothing would change: these are the values in force."
	}
	q := question(a, map[string]any{"problems": f.problems, "changes": changes})
	q.Open = true
	return q, nil
}

// formChanges are the settings that a form changes.
func formChanges(p policyState, f *policyForm) []livepolicy.Difference {
	changes := livepolicy.Differences(p.inForce, f.next)
	if f.pause != f.paused {
		changes = append(changes, livepolicy.Difference{Field: "paused", Before: yesNo(!f.pause), After: yesNo(f.pause)})
	}
	return changes
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// previewChange shows what the change means and asks for the last word.
func (s *Server) previewChange(c *Call, p policyState, f *policyForm, changes []livepolicy.Difference) *Question {
	values := p.record.Live.With(livepolicy.Between(p.inForce, f.next))
	_, after := p.record.Effect(values, p.file, p.found)
	yes := "Propose it"
	if s.wantsNow(c) {
		yes = "Make it live"
	}
	a := s.previewAsk(c, "Change the policy of "+c.Queue.Name+"?", yes, p, after.WithDefaults(), changes)
	for _, in := range f.inputs {
		if c.Values.Has(in.Name) {
			a.Fields = append(a.Fields, templates.Field{Name: in.Name, Value: c.Values.Get(in.Name)})
		}
	}
	a.Fields = append(a.Fields, templates.Field{Name: "why", Value: c.Values.Get("why")}, templates.Field{Name: "apply", Value: c.Values.Get("apply")})
	return question(a, map[string]any{"changes": changes, "effects": effects(p, after, changes)})
}

func (s *Server) propose(ctx context.Context, c *Call) (Result, error) {
	p, f, err := s.proposal(ctx, c)
	if err != nil {
		return Result{}, err
	}
	if !f.ok() {
		for name, text := range f.problems {
			return Result{}, &Problem{Status: http.StatusUnprocessableEntity, Title: "Not accepted", Detail: name + ": " + text, Field: name}
		}
	}
	change := livepolicy.Change{By: c.Who.Name, Why: strings.TrimSpace(c.Values.Get("why")), Values: livepolicy.Between(p.inForce, f.next)}
	if f.pause != f.paused {
		change.Pause = &f.pause
	}
	made, err := s.o.Policies.Propose(ctx, c.Queue, change)
	if err != nil {
		return Result{}, policyProblem(err)
	}
	return s.proposed(ctx, c, made)
}

// proposed goes on to approve what was proposed, if that is wanted.
func (s *Server) proposed(ctx context.Context, c *Call, made *livepolicy.Proposal) (Result, error) {
	if s.wantsNow(c) {
		return s.decide(ctx, c, made.Number)
	}
	return Result{
		Message: "Proposed a change to the policy of " + c.Queue.Name + ".", Text: changeWords(made.Changes) + " It waits for approval.", Done: 1,
	}, nil
}

// decide approves a proposal.
func (s *Server) decide(ctx context.Context, c *Call, number int64) (Result, error) {
	r, err := s.o.Policies.Approve(ctx, c.Queue, number, c.Who.Name)
	if err != nil {
		return Result{}, policyProblem(err)
	}
	return Result{
		Message: "Changed the policy of " + c.Queue.Name + ".", Text: changeWords(r.Past[0].Changes) + " Live as revision " + strconv.FormatInt(r.Revision, 10) + "; every replica follows within a second.",
		Done: 1,
	}, nil
}

// number reads which proposal a call is about.
func proposalNumber(c *Call) (int64, error) {
	n, err := strconv.ParseInt(c.Values.Get("number"), 10, 64)
	if err != nil {
		return 0, &Problem{Status: http.StatusUnprocessableEntity, Title: "Not accepted", Detail: "number: which proposal is meant is missing.", Field: "number"}
	}
	return n, nil
}

func (s *Server) approve(ctx context.Context, c *Call) (Result, error) {
	if _, err := s.changeable(ctx, c); err != nil {
		return Result{}, err
	}
	n, err := proposalNumber(c)
	if err != nil {
		return Result{}, err
	}
	return s.decide(ctx, c, n)
}

func (s *Server) askReject(ctx context.Context, c *Call) (*Question, error) {
	p, err := s.changeable(ctx, c)
	if err != nil {
		return nil, err
	}
	if p.record.Open == nil {
		return nil, problem(http.StatusConflict, "Nothing to reject", "No change of the policy of %s waits.", c.Queue.Name)
	}
	a := s.policyAsk(c, "Reject the change of "+c.Queue.Name+"?", "Reject it", "Leave it open")
	a.Body = []string{"Nothing changes. The proposal of " + p.record.Open.By + " goes into the history."}
	a.Lists = []templates.AskList{{Title: "What was proposed", Items: changeItems(p.record.Open.Changes)}}
	a.Fields = append(a.Fields, templates.Field{Name: "number", Value: strconv.FormatInt(p.record.Open.Number, 10)})
	a.Inputs = []templates.Input{{Kind: "text", Name: "note", Label: "Why not", Value: c.Values.Get("note"), Width: "wide"}}
	return question(a, p.record.Open), nil
}

func (s *Server) reject(ctx context.Context, c *Call) (Result, error) {
	n, err := proposalNumber(c)
	if err != nil {
		return Result{}, err
	}
	r, err := s.o.Policies.Reject(ctx, c.Queue, n, c.Who.Name, strings.TrimSpace(c.Values.Get("note")))
	if err != nil {
		return Result{}, policyProblem(err)
	}
	return Result{Message: "Rejected the change of " + c.Queue.Name + ".", Text: "Nothing changed: " + changeWords(r.Past[0].Changes), Done: 1}, nil
}

// rollbackTo reads which revision a call wants back.
func rollbackTo(c *Call, p policyState) (int64, error) {
	n, err := strconv.ParseInt(c.Values.Get("to"), 10, 64)
	if err == nil {
		if _, ok := p.record.At(n); ok {
			return n, nil
		}
	}
	return 0, &Problem{Status: http.StatusUnprocessableEntity, Title: "Not accepted", Detail: "to: which revision is meant, 0 for the file; the history lists those that are known.", Field: "to"}
}

func (s *Server) askRollback(ctx context.Context, c *Call) (*Question, error) {
	p, err := s.changeable(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := s.undecided(c, p); err != nil {
		return nil, err
	}
	to, err := rollbackTo(c, p)
	if err != nil {
		return nil, err
	}
	values, _ := p.record.At(to)
	before, after := p.record.Effect(values, p.file, p.found)
	changes := livepolicy.Differences(before, after)
	a := s.previewAsk(c, "Roll "+c.Queue.Name+" back to "+revisionName(to)+"?", "Roll back", p, after.WithDefaults(), changes)
	submitted := c.Confirmed()
	a.Fields = append(a.Fields, templates.Field{Name: "to", Value: strconv.FormatInt(to, 10)})
	a.Inputs = append([]templates.Input{whyInput(c, submitted)}, s.nowInput(c, submitted)...)
	q := question(a, map[string]any{"changes": changes, "effects": effects(p, after, changes)})
	q.Open = a.Inputs[0].Value == ""
	return q, nil
}

func (s *Server) rollback(ctx context.Context, c *Call) (Result, error) {
	p, err := s.changeable(ctx, c)
	if err != nil {
		return Result{}, err
	}
	to, err := rollbackTo(c, p)
	if err != nil {
		return Result{}, err
	}
	made, err := s.o.Policies.Rollback(ctx, c.Queue, c.Who.Name, strings.TrimSpace(c.Values.Get("why")), to)
	if err != nil {
		return Result{}, policyProblem(err)
	}
	return s.proposed(ctx, c, made)
}

// policyProblem finds the words for what kept a policy from being changed.
func policyProblem(err error) error {
	var invalid *livepolicy.InvalidError
	status, title, detail := http.StatusConflict, "Nothing was done", ""
	switch {
	case errors.As(err, &invalid):
		p := invalid.Problems[0]
		return &Problem{Status: http.StatusUnprocessableEntity, Title: "Not accepted", Detail: invalid.Error(), Field: inputOf(p.Field), cause: err}
	case errors.Is(err, livepolicy.ErrNoReason):
		return &Problem{Status: http.StatusUnprocessableEntity, Title: "Not accepted", Detail: "why: a change needs a reason.", Field: "why", cause: err}
	case errors.Is(err, livepolicy.ErrSamePerson):
		status, title, detail = http.StatusForbidden, "Not allowed", "Two people have to agree: whoever proposed a change cannot approve it."
	case errors.Is(err, livepolicy.ErrOpen):
		detail = "Another change waits for approval; approve or reject it first."
	case errors.Is(err, livepolicy.ErrNotOpen):
		detail = "That proposal was decided meanwhile. The page is up to date again."
	case errors.Is(err, livepolicy.ErrNoChange):
		detail = "Nothing would change: these are the values in force."
	case errors.Is(err, livepolicy.ErrNoRevision):
		detail = "The history does not reach back that far."
	default:
		return err
	}
	return &Problem{Status: status, Title: title, Detail: detail, cause: err}
}

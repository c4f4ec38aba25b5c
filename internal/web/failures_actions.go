package web

import (
	"context"
	"net/http"
	"slices"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/failures"
	"bullpen/internal/fold"
	"bullpen/internal/search"
	"bullpen/internal/web/operation"
	"bullpen/internal/words"
	"bullpen/templates"
)

// groupActions are the acts on a group of failed jobs or of dead letters, across queues.
func (s *Server) groupActions() []Action {
	var out []Action
	for _, of := range []grouping{s.failedGrouping(), s.letterGrouping()} {
		out = append(out, Action{
			Name: of.verb, Path: of.path + "/:group/" + of.verb, Role: Operator,
			Ask: func(ctx context.Context, c *Call) (*Question, error) { return s.askRunGroup(ctx, c, of) },
			Do:  func(ctx context.Context, c *Call) (Result, error) { return s.onGroup(ctx, c, of, of.act(c)) },
		}, Action{
			Name: "remove", Path: of.path + "/:group/remove", Role: Operator,
			Ask: func(ctx context.Context, c *Call) (*Question, error) { return s.askRemoveGroup(ctx, c, of) },
			Do:  func(ctx context.Context, c *Call) (Result, error) { return s.onGroup(ctx, c, of, removing) },
		})
	}
	return out
}

// groupCall is a group as the caller may act on it.
type groupCall struct {
	failures.Group
	of    grouping
	query *search.Query
	// queues are those it was seen in and that may be changed; total is how many jobs of the sort these have.
	queues []*engine.Queue
	total  int64
	// complete says that every job of the sort in these queues was counted; closed counts jobs in queues that may not be
	// changed.
	complete bool
	closed   int64
}

// groupCall finds the group of a call. An act is for the queues the group was seen in, for all of its jobs there,
// also those that are older than what was counted.
func (s *Server) groupCall(ctx context.Context, c *Call, of grouping) (groupCall, error) {
	rep := of.report(ctx, c.Snap)
	groups := rep.Groups(func(q keys.Queue) bool { return c.Who.May(Viewer, q) })
	i := slices.IndexFunc(groups, func(g failures.Group) bool { return g.ID == c.Params["group"] })
	if i < 0 {
		p := problem(http.StatusNotFound, "No such group", "None of the %s that were counted is of it; they may have run again or been removed.", of.many)
		p.Links = []templates.Link{{Label: "All groups", URL: s.links.to(of.path)}}
		return groupCall{}, p
	}
	g := groupCall{Group: groups[i], of: of, complete: true}
	var err error
	if g.query, err = search.Parse(of.key+":"+g.ID, s.searchOptions(c.Now)); err != nil {
		return g, err
	}
	whole := whole(rep)
	for _, q := range rep.Queues {
		j := slices.IndexFunc(g.Queues, func(x failures.Share) bool { return x.Queue == q.Queue })
		if j < 0 {
			continue
		}
		found := c.Snap.Queue(q.Queue.Prefix, q.Queue.Name)
		if !c.Who.May(Operator, q.Queue) || found == nil || found.Legacy {
			g.closed += g.Queues[j].Count
			continue
		}
		eq, err := s.o.Queue(q.Queue)
		if err != nil {
			return g, err
		}
		g.queues, g.total, g.complete = append(g.queues, eq), g.total+q.Total, g.complete && whole[q.Queue]
	}
	if len(g.queues) == 0 {
		return g, problem(http.StatusForbidden, "Not allowed", "To %s this group needs the role %s in one of its queues.", c.Action.Name, Operator)
	}
	return g, nil
}

// where names the queue, or counts them.
func (g groupCall) where(s *Server) string {
	if len(g.queues) == 1 {
		return visibleText(s.queueName(g.queues[0].Qualified()))
	}
	return words.Plural(int64(len(g.queues)), "queue", "queues")
}

// typeName is what must be typed before an act on very many.
func (g groupCall) typeName(c *Call) string {
	if len(g.queues) == 1 {
		return g.queues[0].Name
	}
	return c.Action.Name
}

func (s *Server) askRunGroup(ctx context.Context, c *Call, of grouping) (*Question, error) {
	g, err := s.groupCall(ctx, c, of)
	if err != nil {
		return nil, err
	}
	if g.complete && g.Count-g.closed <= sampleFrom {
		return nil, nil // few enough for one click
	}
	return s.askGroup(ctx, c, g, sentenceStart(of.verb), of.what, false)
}

func (s *Server) askRemoveGroup(ctx context.Context, c *Call, of grouping) (*Question, error) {
	g, err := s.groupCall(ctx, c, of)
	if err != nil {
		return nil, err
	}
	return s.askGroup(ctx, c, g, "Remove", of.removal, true)
}

func (s *Server) askGroup(ctx context.Context, c *Call, g groupCall, verb, what string, final bool) (*Question, error) {
	var lists []search.List
	for _, q := range g.queues {
		lists = append(lists, search.List{Queue: q, State: g.of.state, Until: c.Now})
	}
	m, err := s.preview(ctx, c, g.query, lists, g.total)
	if err != nil {
		return nil, err
	}
	if m.Found == 0 && m.Next == nil {
		return nil, problem(http.StatusConflict, "Nothing to do", "None of this group's %s is there any more.", g.of.many)
	}
	title, yes := verb+" "+g.of.count(m.Found)+"?", verb+" "+words.Plural(m.Found, "job", "jobs")
	if m.Next != nil {
		title, yes = verb+" at least "+g.of.count(m.Found)+"?", verb+" all of them"
	}
	a := s.ask(c, title, yes, "Cancel")
	if c.Values.Get("back") == "" {
		a.NoURL, a.Fields[0].Value = s.links.to(g.of.path), g.of.path
	}
	a.Final = final
	m.fill(&a, c, "All "+g.of.many+" of "+g.where(s)+" named "+orNoName(g.Name)+" that failed with “"+visibleText(orNoReason(g.Error))+"”.", what, g.typeName(c))
	if g.closed > 0 {
		a.LeftOut = append(a.LeftOut, templates.Sample{Text: "In queues that you may not change", End: words.Count(g.closed)})
	}
	return question(a, m.forAPI()), nil
}

func orNoName(name string) string {
	if name == "" {
		return "(no name)"
	}
	return visibleText(name)
}

func orNoReason(folded string) string {
	if folded == "" {
		return "no reason given"
	}
	return folded
}

// onGroup starts the operation on a group. It leads back to the groups, which show how far it is.
func (s *Server) onGroup(ctx context.Context, c *Call, of grouping, act func(*engine.Queue, keys.State) batchAct) (Result, error) {
	g, err := s.groupCall(ctx, c, of)
	if err != nil {
		return Result{}, err
	}
	spec := operation.Spec{
		Verb: c.Action.Name, Subject: of.many, Group: g.ID,
		Detail: "every job named " + orNoName(g.Name) + " that failed with “" + clip(visibleText(orNoReason(g.Error)), fold.MaxLength) + "”",
	}
	var targets []target
	for _, q := range g.queues {
		targets = append(targets, target{q, of.state, act(q, of.state)})
		spec.Queues = append(spec.Queues, q.Qualified())
	}
	if len(targets) == 1 {
		spec.Queue, spec.Queues = spec.Queues[0], nil
	}
	res, err := s.begin(ctx, c, s.overMatching(spec, c, g.query, targets))
	if err != nil {
		return res, err
	}
	res.Queues = spec.Queues
	res.Message, res.Location = verbs(c.Action.Name).doing+" "+of.count(g.Count-g.closed)+".", ""
	return res, nil
}

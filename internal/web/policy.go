package web

import (
	"context"

	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/internal/monitor"
	"bullpen/internal/words"
	"bullpen/templates"
)

// policyState is what is known of a queue's policy: what was set, where, and what it has to cope with.
type policyState struct {
	q *monitor.Queue
	// workers are those of the queue, Bullpen's and others'.
	workers []monitor.Worker
	file    policy.Policy // as the configuration has it, unset fields unset
	source  string        // names the configuration
	record  *livepolicy.Record
	found   livepolicy.Found
	inForce policy.Policy // with defaults
	load    monitor.Load
	size    monitor.Sizing
}

// policyState reads the record of a queue's policy and judges it by the last figures.
func (s *Server) policyState(ctx context.Context, snap *monitor.Snapshot, q *monitor.Queue) (policyState, error) {
	p := policyState{q: q, file: s.o.Monitor.Policy(q.Queue), source: "configuration", record: &livepolicy.Record{}}
	for _, w := range snap.Workers {
		if w.Queue == q.Queue {
			p.workers = append(p.workers, w)
		}
	}
	var err error
	if s.o.Policies != nil {
		p.file, p.source = s.o.Policies.File(q.Queue)
		var r *livepolicy.Record
		if r, err = s.o.Policies.Read(ctx, q.Queue); err == nil {
			p.record = r
			p.found, err = s.o.Policies.Found(ctx, q.Queue)
		}
	}
	if err != nil || s.o.Policies == nil {
		p.found.Concurrency = q.GlobalConcurrency
	}
	p.inForce = livepolicy.InForce(p.record.Live.Over(p.file), p.found).WithDefaults()
	p.load = monitor.Measured(q, p.inForce)
	p.size = p.load.Size()
	return p, err
}

// bullpen are the workers that announced themselves.
func (p policyState) bullpen() (own []monitor.Worker) {
	for _, w := range p.workers {
		if w.Bullpen {
			own = append(own, w)
		}
	}
	return own
}

// policyPage shows a queue's policy against what is really happening.
func (s *Server) policyPage(ctx context.Context, r viewRequest) (view, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return view{}, err
	}
	p, err := s.policyState(ctx, r.snap, q)
	v := templates.PolicyPage{
		Crumbs: []templates.Crumb{{Label: "Overview", URL: s.links.to("/")}, {Label: q.Name, URL: s.links.queue(q.Queue)}, {Label: "Policy"}},
		Rates:  policyRates(p), Helps: policyHelps(p), Budget: policyBudget(p), Ceiling: policyCeiling(p), Limiter: s.limiterPlot(p, r),
		Settings: policySettings(p), Warnings: policyWarnings(p), Fleet: policyFleet(p),
		Sizing: s.policySizing(r, p), History: s.policyHistory(r, p), Proposal: s.openProposal(r, p),
	}
	if err != nil {
		v.Trouble = &templates.Notice{Class: "s-failed", Icon: "h-crit", Strong: "What was changed live cannot be read.", Text: oneLine(err) + ". The values below are the file's."}
	}
	policyFinding(p, &v)
	if s.mayChange(r, q) && p.record.Open == nil {
		v.Acts = []templates.Act{{Label: "Edit limits", Icon: "i-edit", URL: s.links.queue(q.Queue, "policy", "propose") + r.asking()}}
	}
	return view{
		title: "Policy of " + q.Name, nav: "/", content: templates.PolicyView(v),
		live: []region{
			{"head", templates.PolicyHead(v)},
			{"proposal", templates.PolicyProposal(v)},
			{"load", templates.PolicyLoad(v)},
			{"history", templates.PolicyHistory(v.History)},
			{"side", templates.PolicySide(v)},
		},
	}, nil
}

// policyPattern is the route of a queue's policy.
const policyPattern = "/queues/:queue/policy"

// twoPeople reports whether a change takes two: the page then depends on who looks at it.
func (s *Server) twoPeople() bool { return s.o.Policies != nil && s.o.Policies.TwoPeople() }

// mayChange reports whether buttons that change the policy make sense for this viewer; the gate decides again.
func (s *Server) mayChange(r viewRequest, q *monitor.Queue) bool {
	return s.o.Policies != nil && s.mayAct(r, q)
}

// policyFinding says in a sentence how the policy holds.
func policyFinding(p policyState, v *templates.PolicyPage) {
	l, z, name := p.load, p.size, p.q.Name
	v.Health = healthLook(monitor.Healthy)
	perSecond := func(f float64) string { return words.Number(f) }
	switch {
	case p.q.Counts == nil || !p.q.Rate.Known:
		v.Health, v.Title, v.Say = healthLook(monitor.UnknownHealth), "Policy of "+name, "Its rates are known once Bullpen has watched it for a while."
		return
	case l.Ceiling == 0 && (l.Backlog > 0 || l.Arrival > 0):
		v.Health, v.Title = healthLook(monitor.NeedsAttention), "Nobody works on "+name
		v.Say, v.Strong = perSecond(l.Arrival)+" new jobs a second arrive.", "Without a worker all of them wait."
		return
	case z.LeftOver > 0.005 && z.Bound == "limiter" && l.Arrival <= l.Limit:
		v.Title = "Retries fill the limiter of " + name
	case z.LeftOver > 0.005 && z.Bound == "limiter":
		v.Title = "More arrives at " + name + " than its limiter lets start"
	case z.LeftOver > 0.005:
		v.Title = "The workers of " + name + " cannot keep up"
	case l.Arrival == 0 && l.Backlog == 0:
		v.Health, v.Title, v.Say = healthLook(monitor.Quiet), "Nothing arrives at "+name, "No job was added in the last minute and none waits."
		return
	case max(z.LimiterUse, z.CeilingUse) > 0.9:
		v.Health, v.Title = healthLook(monitor.Watch), name+" has little room left"
	default:
		v.Title = name + " has room"
	}
	v.Say = perSecond(l.Arrival) + " new jobs a second become " + perSecond(z.Wanted) + " starts" + policyBounds(p)
	switch {
	case z.LeftOver > 0.005:
		v.Health = healthLook(monitor.NeedsAttention)
		v.Say += ", and"
		v.Strong = perSecond(z.LeftOver) + " a second are left over: waiting grows by " + words.Number(z.LeftOver*60) + " a minute."
	case l.Backlog > 0 && z.Drains:
		v.Say += "."
		v.Strong = words.Plural(l.Backlog, "waiting job drains", "waiting jobs drain") + " in " + words.Duration(z.Drain) + "."
	default:
		v.Say += "."
	}
	switch {
	case z.LeftOver > 0.005 && z.Bound == "limiter" && z.Capacity > 0:
		v.More = "Workers are not the limit, they could run " + perSecond(z.Capacity) + "."
	case z.LeftOver <= 0.005 && l.FailingShare > 2*p.inForce.AttemptFailure:
		v.More = words.Percent(l.FailingShare) + " of the attempts fail; there is still room for their retries."
	}
}

// policyBounds says what the limiter and the workers allow.
func policyBounds(p policyState) string {
	text := ""
	if p.load.Limit > 0 {
		text += ", the limiter lets " + words.Number(p.load.Limit) + " through"
	}
	if p.size.Capacity > 0 && p.size.Bound != "limiter" {
		text += ", the workers could run " + words.Number(p.size.Capacity)
	}
	return text
}

// policyWarnings are what the policy itself and its figures warn of.
func policyWarnings(p policyState) []templates.PolicyWarning {
	facts := policy.Facts{Queue: p.q.Name, RunTime: p.load.MeanRun}
	if p.q.CeilingKnown {
		facts.Ceiling = int(p.q.Ceiling)
	}
	if p.q.Rate.Known {
		facts.Arrival = p.load.Arrival
	}
	var out []templates.PolicyWarning
	for _, w := range p.inForce.ValidateWith(facts) {
		out = append(out, templates.PolicyWarning{Field: w.Field, Text: w.Text})
	}
	if p.q.Rate.Known && p.size.UsedUp > p.inForce.FailedBudget && p.load.FailingShare > 0 {
		out = append(out, templates.PolicyWarning{Field: "failed_budget", Text: "at " + words.Percent(p.load.FailingShare) + " failing attempts, " +
			words.Percent(p.size.UsedUp) + " of the jobs use up all " + words.Plural(int64(p.load.Attempts), "attempt", "attempts") + "; the policy tolerates " + rarely(p.inForce.FailedBudget)})
	}
	return out
}

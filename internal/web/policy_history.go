package web

import (
	"strconv"

	"bullpen/internal/livepolicy"
	"bullpen/internal/web/jsonview"
	"bullpen/templates"
)

// openProposal is the change that waits for a decision; nil when there is none.
func (s *Server) openProposal(r viewRequest, p policyState) *templates.Proposal {
	open := p.record.Open
	if open == nil {
		return nil
	}
	_, after := p.record.Effect(open.Values, p.file, p.found)
	out := &templates.Proposal{
		Title: "A change waits for approval", Why: jsonview.Visible(open.Why), By: jsonview.Visible(open.By), When: s.when(open.At, r.now),
		Changes: changeRows(open.Changes), Effects: effects(p, after, open.Changes),
	}
	if open.RollbackTo != nil {
		out.Title = "A rollback to " + revisionName(*open.RollbackTo) + " waits for approval"
	}
	if !s.mayChange(r, p.q) {
		return out
	}
	number := strconv.FormatInt(open.Number, 10)
	approve := templates.Act{
		Label: "Approve", Icon: "s-completed", Class: "go", URL: s.links.queue(p.q.Queue, "policy", "approve"),
		Fields: []templates.Field{{Name: "number", Value: number}, {Name: "back", Value: r.self()}},
	}
	if s.o.Policies.TwoPeople() {
		out.Note = "Two people have to agree: whoever proposed it cannot approve it."
		approve.Disabled = open.By == r.who.Name
		approve.Why = "You proposed it; somebody else has to approve."
	}
	out.Acts = []templates.Act{approve, {Label: "Reject…", Asks: true, URL: s.links.queue(p.q.Queue, "policy", "reject") + r.asking("number", number)}}
	return out
}

func revisionName(revision int64) string {
	if revision == 0 {
		return "the file"
	}
	return "revision " + strconv.FormatInt(revision, 10)
}

// policyHistory lists the decided proposals, newest first, with the way back.
func (s *Server) policyHistory(r viewRequest, p policyState) templates.History {
	h := templates.History{Note: "The policy was never changed live; the file decides."}
	may := s.mayChange(r, p.q) && p.record.Open == nil
	if s.o.Policies == nil {
		h.Note = "Policies cannot be changed live here."
	}
	for _, d := range p.record.Past {
		h.Note = ""
		row := templates.HistoryRow{
			Class: "s-completed", Icon: "s-completed", Title: "Revision " + strconv.FormatInt(d.Revision, 10), When: s.when(d.DecidedAt, r.now),
			By: decidedBy(d), Why: jsonview.Visible(d.Why), Changes: changeRows(d.Changes),
		}
		switch {
		case d.Outcome == livepolicy.Rejected:
			row.Class, row.Icon, row.Title = "s-failed", "s-failed", "Rejected"
			if d.Note != "" {
				row.Why += " – rejected: " + jsonview.Visible(d.Note)
			}
		case d.RollbackTo != nil:
			row.Title += ", back to " + revisionName(*d.RollbackTo)
		}
		if may && d.Outcome == livepolicy.Approved && d.Revision != p.record.Revision {
			row.Act = s.rollbackAct(r, p, d.Revision)
		}
		h.Rows = append(h.Rows, row)
	}
	if may && !p.record.Live.Empty() {
		h.Rows = append(h.Rows, templates.HistoryRow{
			Class: "s-paused", Icon: "s-paused", Title: sentenceStart(p.source), By: "before all of this", Why: "What is configured, without any live value.", Act: s.rollbackAct(r, p, 0),
		})
	}
	return h
}

func decidedBy(d livepolicy.Decision) string {
	by, proposer := jsonview.Visible(d.DecidedBy), jsonview.Visible(d.By)
	if by == proposer {
		return by
	}
	return proposer + ", decided by " + by
}

func (s *Server) rollbackAct(r viewRequest, p policyState, revision int64) *templates.Act {
	return &templates.Act{
		Label: "Roll back to " + revisionName(revision) + "…", Class: "quiet", Icon: "i-retry",
		URL: s.links.queue(p.q.Queue, "policy", "rollback") + r.asking("to", strconv.FormatInt(revision, 10)),
	}
}

package web

import (
	"context"
	"fmt"
	"net/http"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/search"
	"bullpen/internal/web/operation"
	"bullpen/internal/words"
	"bullpen/templates"
)

// maxMatched bounds the ids an operation holds.
const maxMatched = 1_000_000

// matched is what an act on all jobs that match would be done to.
type matched struct {
	search.Outcome
	total   int64 // jobs in the lists that were looked through
	samples []templates.Sample
	// missing and held are those that will be refused: without a record, in the hands of a worker.
	missing, held int64
}

// atMost is how many jobs can match: those found and all that were not looked at.
func (m matched) atMost() int64 {
	if m.Next == nil {
		return m.Found
	}
	return m.Found + max(m.total-m.Looked, 0)
}

// preview looks for jobs that match, as far as a question may take.
func (s *Server) preview(ctx context.Context, c *Call, q *search.Query, lists []search.List, total int64) (matched, error) {
	m := matched{total: total}
	found, err := s.scans.look(ctx, q, lists, nil, previewLimits)
	if err != nil {
		return m, err
	}
	m.Outcome = found.Outcome
	for _, j := range found.jobs {
		if len(m.samples) < maxSamples {
			m.samples = append(m.samples, s.sample(c, j.State, j.Row))
		}
		if j.Missing {
			m.missing++
		}
		if j.Locked && j.State == keys.Active {
			m.held++
		}
	}
	return m, nil
}

// leftOut lists what an act will refuse or not see, with the reason.
func (m matched) leftOut() []templates.Sample {
	var out []templates.Sample
	for _, x := range []struct {
		text string
		n    int64
	}{
		{"Their record is gone from Redis", m.missing},
		{"Held by a worker", m.held},
		{"Payload over " + words.Bytes(payloadLimit) + ", not looked into", m.Unread},
	} {
		if x.n > 0 {
			out = append(out, templates.Sample{Text: x.text, End: words.Count(x.n)})
		}
	}
	return out
}

// forAPI is the preview as a program reads it.
func (m matched) forAPI() map[string]any {
	left := map[string]int64{"missing": m.missing, "held": m.held, "payloadTooLarge": m.Unread}
	return map[string]any{"matched": m.Found, "complete": m.Next == nil, "looked": m.Looked, "samples": idsOf(m.samples), "leftOut": left}
}

// fill sizes a question to what would be done. everything says in a sentence which jobs are meant.
func (m matched) fill(a *templates.Ask, c *Call, everything, what, name string) {
	a.Body = []string{everything + " " + what}
	a.Hint = "Runs as an operation you can watch and cancel"
	a.Samples, a.LeftOut, a.Big = m.samples, m.leftOut(), true
	if m.Next != nil {
		a.Note = "This preview looked at " + words.Count(m.Looked) + " of about " + words.Plural(m.total, "job", "jobs") + "; the operation looks at all of them."
	}
	if m.atMost() > typeFrom {
		final := a.Final
		a.Type, a.Grave = name, true
		a.Mistyped = c.Confirmed() && c.Values.Get("confirm") != a.Type
		a.Final = final
	}
}

// askMatching is the question before an act on all jobs of a state that match a query.
func (s *Server) askMatching(ctx context.Context, c *Call, sel selection, query *search.Query, verb, what string, final bool) (*Question, error) {
	q, counts, err := s.counts(ctx, c)
	if err != nil {
		return nil, err
	}
	m, err := s.preview(ctx, c, query, []search.List{{Queue: q, State: sel.state}}, counts[sel.state])
	if err != nil {
		return nil, err
	}
	if m.Found == 0 && m.Next == nil {
		return nil, problem(http.StatusConflict, "Nothing to do", "No %s job of %s matches.", stateWord(string(sel.state)), c.Queue.Name)
	}
	title, yes := verb+" "+jobsIn(m.Found, sel.state)+"?", verb+" "+words.Plural(m.Found, "job", "jobs")
	if m.Next != nil {
		title, yes = verb+" at least "+jobsIn(m.Found, sel.state)+"?", verb+" all that match"
	}
	a := s.ask(c, title, yes, "Cancel")
	a.Final = final
	a.Fields = append(a.Fields, templates.Field{Name: "state", Value: string(sel.state)}, templates.Field{Name: "all", Value: "1"},
		templates.Field{Name: "q", Value: query.String()})
	are := stateWord(string(sel.state))
	if c.Found != nil && sel.state == keys.Waiting && c.Found.PausedList > 0 {
		are += " or paused"
	}
	m.fill(&a, c, "Every job of "+c.Queue.Name+" that is "+are+" now and matches "+visibleText(query.String())+".", what, c.Queue.Name)
	return question(a, m.forAPI()), nil
}

// target is the jobs of one state of a queue that an operation is for, and the act.
type target struct {
	queue *engine.Queue
	state keys.State
	do    batchAct
}

// overMatching runs acts over every job of the targets that matches the query now. The set is taken first and held;
// jobs that come later are not touched, and each batch checks again.
func (s *Server) overMatching(spec operation.Spec, c *Call, query *search.Query, targets []target) operation.Spec {
	return overHeld(spec, targets, func(ctx context.Context, t target, most int64) ([]string, error) { return hold(ctx, c, query, t, most) })
}

// overHeld runs acts over the jobs of the targets whose ids take returns, at most most of each; they are held.
func overHeld(spec operation.Spec, targets []target, take func(ctx context.Context, t target, most int64) ([]string, error)) operation.Spec {
	ids := make([][]string, len(targets))
	spec.Prepare = func(ctx context.Context) (int64, error) {
		total := int64(0)
		for i, t := range targets {
			held, err := take(ctx, t, maxMatched-total)
			if err != nil {
				return 0, err
			}
			ids[i], total = held, total+int64(len(held))
		}
		return total, nil
	}
	at := 0
	spec.Step = func(ctx context.Context, n int) (operation.Batch, error) {
		for at < len(ids) && len(ids[at]) == 0 {
			at++
		}
		if at == len(ids) {
			return operation.Batch{Last: true}, nil
		}
		batch := ids[at][:min(n, len(ids[at]))]
		done, refused, err := targets[at].do(ctx, batch)
		b := operation.Batch{Done: int64(len(done))}
		for _, r := range refused {
			b.Refused = append(b.Refused, operation.Refusal{ID: r.ID, Reason: reason(r.Err, targets[at].state)})
		}
		// What was neither done nor refused, because Redis failed in between, has its turn again.
		ids[at] = ids[at][min(len(done)+len(refused), len(batch)):]
		return b, err
	}
	return spec
}

// hold returns the ids of a target that match, at most most.
func hold(ctx context.Context, c *Call, query *search.Query, t target, most int64) ([]string, error) {
	list := search.List{Queue: t.queue, State: t.state, Until: c.Now}
	if t.state != keys.Completed && t.state != keys.Failed {
		ids, err := snapshotIDs(ctx, t.queue, t.state)
		if err != nil {
			return nil, err
		}
		list.IDs = append([]string{}, ids...)
	}
	var held []string
	for from := (*search.Cursor)(nil); ; {
		limits := search.Limits{Payload: payloadLimit, Bytes: batchBytes, Found: most + 1 - int64(len(held)), Rest: true}
		out, err := query.Scan(ctx, []search.List{list}, from, limits, func(j *search.Job) { held = append(held, j.ID) })
		switch {
		case err != nil:
			return nil, err
		case int64(len(held)) > most:
			return nil, fmt.Errorf("more than %s jobs match; narrow the filter", words.Count(maxMatched))
		case out.Next == nil:
			return held, nil
		}
		from = out.Next
	}
}

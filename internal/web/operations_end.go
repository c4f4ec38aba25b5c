package web

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bullpen/internal/audit"
	"bullpen/internal/web/operation"
	"bullpen/internal/words"
	"bullpen/templates"
)

// endOf is the entry of the activity for an operation that has ended.
func (s *Server) endOf(st operation.Status) Entry {
	e := Entry{
		At: st.Ended, Who: st.Who, Action: st.Verb, Queue: st.Queue, Queues: st.Queues, Target: st.Group, Outcome: audit.Failed,
		Message: operationTitle(st, s.operationOn(st)) + ".", Done: st.Done, Refused: st.Refused, Operation: strconv.FormatInt(st.ID, 10),
	}
	switch st.State {
	case operation.Done:
		e.Outcome = audit.Done
	case operation.Cancelled:
		e.Outcome = audit.Cancelled
	case operation.Interrupted:
		e.Outcome = audit.Interrupted
	}
	if st.Error != "" {
		e.Message += " " + sentence(st.Error)
	}
	for i, r := range st.Reasons {
		if i == 0 {
			e.Message += " " + words.Plural(st.Refused, "job was", "jobs were") + " left alone."
		}
		e.Message += " " + sentenceStart(r.Text) + ": " + words.Count(r.Count) + "."
	}
	return e
}

// lost records the end of an operation whose process is gone.
func (s *Server) lost(st operation.Status) { s.record(context.Background(), s.endOf(st)) }

// maxAgain bounds what is kept of a request that started an operation, in bytes.
const maxAgain = 4 << 10

// again is the request of a call without the answers to its questions.
func again(c *Call) *operation.Again {
	values := maps.Clone(c.Values)
	for _, name := range []string{"confirm", "seen", "back"} {
		values.Del(name)
	}
	if len(values.Encode()) > maxAgain {
		return nil
	}
	return &operation.Again{Path: c.Path, Values: values}
}

// againAct starts an operation again that did not come to its end. It asks like the first time.
func (s *Server) againAct(r viewRequest, st operation.Status) *templates.Act {
	if st.State == operation.Done || st.Again == nil || s.o.ReadOnly || !s.mayOperation(r.who, Operator, st) {
		return nil
	}
	act := &templates.Act{Label: "Start again…", Icon: "i-retry", URL: s.links.to(safeBack(st.Again.Path)), Asks: true}
	for _, name := range slices.Sorted(maps.Keys(st.Again.Values)) {
		for _, v := range st.Again.Values[name] {
			act.Fields = append(act.Fields, templates.Field{Name: name, Value: v})
		}
	}
	return act
}

// interruptedAt says how far an operation came whose process ended.
func interruptedAt(st operation.Status) string {
	return strings.TrimSpace("Interrupted at " + words.Count(st.Done+st.Refused) + " of " + words.Count(st.Matched) + ".")
}

package web

import (
	"context"
	"fmt"
	"strconv"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/words"
	"bullpen/templates"
)

// kindLink leads to a page of the children of one kind.
func (s *Server) kindLink(label string, q keys.Queue, id string, kind engine.ChildKind, from uint64) templates.Link {
	url := s.links.job(q, id) + "?flow=" + string(kind)
	if from > 0 {
		url += "&from=" + strconv.FormatUint(from, 10)
	}
	return templates.Link{Label: label, URL: url + "#flow"}
}

// childrenPage lists a part of the children of one kind, for flows that are too large to be drawn.
func (s *Server) childrenPage(ctx context.Context, r viewRequest, q *monitor.Queue, j *engine.Peek, kind engine.ChildKind) templates.FlowTree {
	from, _ := strconv.ParseUint(r.query.Get("from"), 10, 64) // anything odd is the beginning
	found, next, err := j.DependenciesPage(ctx, kind, from, flowPart)
	if err != nil {
		return flowTrouble(err)
	}
	items, err := s.childItems(ctx, kind, found)
	if err != nil {
		return flowTrouble(err)
	}
	d := flowDrawing{s, r, &flow{root: &engine.FlowItem{}, here: q.Queue, id: j.ID}}
	part := &templates.FlowPart{Title: "Children that are " + string(kind) + ", in no order"}
	if kind == engine.ChildFailed {
		part.Title = "Children that are " + string(kind) + ", first failed first"
	}
	for _, i := range items {
		part.Rows = append(part.Rows, d.node(i, keys.Queue{}))
	}
	if from > 0 {
		part.Links = append(part.Links, s.kindLink("From the beginning", q.Queue, j.ID, kind, 0))
	}
	if next > 0 {
		part.Links = append(part.Links, s.kindLink("More", q.Queue, j.ID, kind, next))
	}
	return templates.FlowTree{
		Part: part, Note: words.Plural(int64(len(items)), "child", "children") + " on this page.",
		Links: []templates.Link{{Label: "The flow as a tree", URL: s.links.job(q.Queue, j.ID) + "#flow"}},
	}
}

// childItems reads the jobs of some children, in any queues.
func (s *Server) childItems(ctx context.Context, kind engine.ChildKind, found []engine.Child) ([]*engine.FlowItem, error) {
	ids := map[keys.Queue][]string{}
	var queues []keys.Queue
	for _, c := range found {
		q, id, ok := keys.SplitJobKey(c.Key)
		if !ok {
			continue
		}
		if ids[q] == nil {
			queues = append(queues, q)
		}
		ids[q] = append(ids[q], id)
	}
	var items []*engine.FlowItem
	for _, id := range queues {
		q, err := s.o.Queue(id)
		if err != nil {
			return nil, err
		}
		rows, err := q.RowsByID(ctx, ids[id])
		if err != nil {
			return nil, err
		}
		states, err := q.States(ctx, ids[id])
		if err != nil {
			return nil, err
		}
		if len(rows) != len(states) {
			return nil, fmt.Errorf("children of %s: %d rows and %d states", id.Name, len(rows), len(states))
		}
		for i, row := range rows {
			items = append(items, &engine.FlowItem{Queue: id, Row: row, State: states[i], Kind: kind})
		}
	}
	return items, nil
}

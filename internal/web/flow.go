package web

import (
	"context"
	"slices"
	"strings"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

const (
	// flowBelow is the value of "flow" in a job's address that draws what is below it, with more children per job.
	flowBelow = "below"
	// flowJobs is how many jobs of a flow are drawn, belowChildren how many children of each kind below one job.
	flowJobs, belowChildren = 200, 90
	// flowPart is about how many children a page of one kind shows.
	flowPart = 50
)

// flow is the part of a flow that was read for one of its jobs.
type flow struct {
	root *engine.FlowItem
	here keys.Queue
	id   string
	// apart says that the job was not among those read from the root, so that the tree begins with it.
	apart bool
	// top is the root of the whole flow.
	top   keys.Queue
	topID string
	// orphan says that the job's parent is gone.
	orphan bool
}

// related reports whether a job has a parent or children.
func related(j *engine.Peek) bool {
	return j.ParentKey != "" || j.Pending+j.Processed+j.Ignored+j.Unsuccessful > 0
}

// readFlow reads the flow of a job from its root, or from the job itself if below is wanted or it is out of reach.
func (s *Server) readFlow(ctx context.Context, j *engine.Peek, below bool) (*flow, error) {
	q := j.Queue()
	f := &flow{here: q.Queue, id: j.ID, top: q.Queue, topID: j.ID}
	limits := engine.FlowLimits{Jobs: flowJobs}
	var err error
	if f.top, f.topID, err = q.FlowRoot(ctx, j.ID); err != nil {
		return nil, err
	}
	alone := f.top == q.Queue && f.topID == j.ID
	f.orphan = alone && j.ParentKey != ""
	if !below && !alone {
		top, err := s.o.Queue(f.top)
		if err != nil {
			return nil, err
		}
		if f.root, err = top.FlowView(ctx, f.topID, limits); err != nil {
			return nil, err
		}
		if f.find(f.root) {
			return f, nil
		}
		f.apart = true
	}
	if below {
		limits.Children, limits.Depth = belowChildren, 3
	}
	f.root, err = q.FlowView(ctx, j.ID, limits)
	return f, err
}

// find reports whether the job is at or below i.
func (f *flow) find(i *engine.FlowItem) bool {
	return f.is(i) || slices.ContainsFunc(i.Children, f.find)
}

func (f *flow) is(i *engine.FlowItem) bool { return i.Queue == f.here && i.ID == f.id }

// jobFlow is the flow a job belongs to, as its page draws it.
func (s *Server) jobFlow(ctx context.Context, r viewRequest, q *monitor.Queue, j *engine.Peek) templates.FlowTree {
	if !related(j) {
		return templates.FlowTree{}
	}
	asked := r.query.Get("flow")
	if kind := engine.ChildKind(asked); slices.Contains(engine.ChildKinds, kind) {
		return s.childrenPage(ctx, r, q, j, kind)
	}
	f, err := s.readFlow(ctx, j, asked == flowBelow)
	if err != nil {
		return flowTrouble(err)
	}
	d := flowDrawing{s, r, f}
	t := templates.FlowTree{Root: d.node(f.root, keys.Queue{})}
	t.Finding, t.FindingURL = d.finding()
	d.leftOut(&t, j, asked == flowBelow)
	return t
}

func flowTrouble(err error) templates.FlowTree {
	return templates.FlowTree{Note: "The flow cannot be read: " + oneLine(err) + "."}
}

// flowDrawing turns what was read into what is drawn, for one reader.
type flowDrawing struct {
	s *Server
	r viewRequest
	*flow
}

func (d flowDrawing) may(i *engine.FlowItem) bool { return d.r.who.May(Viewer, i.Queue) }

// node draws a job and the jobs below it. A job in a queue that the reader may not see is there without its name.
func (d flowDrawing) node(i *engine.FlowItem, above keys.Queue) *templates.FlowNode {
	n := &templates.FlowNode{Blocking: i.Blocking, Here: d.is(i)}
	if d.may(i) {
		d.describe(n, i, above)
	} else {
		n.State = templates.State{Label: "Hidden", Class: "s-paused", Icon: "h-unknown"}
		n.Label, n.Note = "Hidden", "in a queue that you may not see"
	}
	holds := i.Blocking
	children := slices.Clone(i.Children)
	slices.SortStableFunc(children, func(a, b *engine.FlowItem) int { // what is waited for longest comes first
		switch {
		case a.Blocking == b.Blocking:
			return 0
		case a.Blocking:
			return -1
		}
		return 1
	})
	for _, c := range children {
		n.Children = append(n.Children, d.node(c, i.Queue))
		holds = holds && !c.Blocking
	}
	if holds && i != d.root {
		n.Hold = "waited for"
		if stuck(i) {
			n.Hold = "holds it up"
		}
	}
	if more := i.Hidden(); more > 0 && d.may(i) {
		n.More = &templates.Link{Label: words.Count(more) + " more", URL: d.s.links.job(i.Queue, i.ID) + "?flow=" + flowBelow + "#flow"}
	}
	return n
}

// describe fills in what a reader may know of a job.
func (d flowDrawing) describe(n *templates.FlowNode, i *engine.FlowItem, above keys.Queue) {
	n.State, n.Label, n.Note = flowState(i)
	n.ID, n.Name = jsonview.Visible(i.ID), jsonview.Visible(i.Name)
	if !n.Here && !gone(i) {
		n.URL = d.s.links.job(i.Queue, i.ID)
	}
	if i.Queue != above && !(n.Here && i == d.root) {
		n.Queue = d.queue(i.Queue)
	}
	if counts := countsInWords(i.Counts); counts != "" {
		n.Note = strings.TrimPrefix(n.Note+", "+counts, ", ")
	}
}

// queue names a queue; the prefix is told where it is not that of the job whose page it is.
func (d flowDrawing) queue(q keys.Queue) string {
	if q.Prefix == d.here.Prefix {
		return jsonview.Visible(q.Name)
	}
	return jsonview.Visible(q.Qualified())
}

// stuck reports whether a job that is waited for does not end by itself.
func stuck(i *engine.FlowItem) bool {
	return i.State == keys.Failed || i.State == keys.Completed || i.State == keys.Unknown
}

// gone reports whether nothing is left of a job but its parent's memory.
func gone(i *engine.FlowItem) bool { return i.Missing && i.State == keys.Unknown }

// flowState is how a job of a flow looks, in which word, and what else there is to say. Of one that is gone its parent
// may still know how it ended.
func flowState(i *engine.FlowItem) (look templates.State, label, note string) {
	look = templates.StateOf(string(i.State))
	if gone(i) {
		switch i.Kind {
		case engine.ChildProcessed:
			look = templates.StateOf(string(keys.Completed))
			return look, look.Label, "no longer kept"
		case engine.ChildFailed, engine.ChildIgnored:
			look = templates.StateOf(string(keys.Failed))
			return look, look.Label, "no longer kept"
		}
		return look, "Gone", "its record is missing, and its parent waits for it all the same"
	}
	switch {
	case i.Missing:
		note = "data missing"
	case i.Kind == engine.ChildIgnored:
		note = "failure ignored"
	case i.State == keys.Failed && i.FailedReason != "":
		note = jsonview.Visible(firstLineOf(i.FailedReason, 100))
	}
	return look, look.Label, note
}

// countsInWords are the children of a job by how they stand, in BullMQ's words.
func countsInWords(c engine.DependencyCounts) string {
	if c.All() == 0 {
		return ""
	}
	var parts []string
	for _, kind := range engine.ChildKinds {
		if n := c.Of(kind); n > 0 {
			parts = append(parts, words.Count(n)+"\u00a0"+string(kind))
		}
	}
	return words.Plural(c.All(), "child", "children") + ": " + strings.Join(parts, ", ")
}

// holder is the end of the path that holds the root up, nil if nothing does.
func (f *flow) holder() *engine.FlowItem {
	i := f.root
	for {
		next := slices.IndexFunc(i.Children, func(c *engine.FlowItem) bool { return c.Blocking })
		if next < 0 {
			break
		}
		i = i.Children[next]
	}
	if i == f.root {
		return nil
	}
	return i
}

// finding says what the root waits for.
func (d flowDrawing) finding() (text, url string) {
	i := d.holder()
	switch {
	case i == nil:
		return "", ""
	case !d.may(i):
		return "Waits for a job in a queue that you may not see.", ""
	}
	text = "Waits for " + jsonview.Visible(i.ID)
	if stuck(i) {
		text = "Held up by " + jsonview.Visible(i.ID)
	}
	if !d.is(i) && !gone(i) {
		url = d.s.links.job(i.Queue, i.ID)
	}
	switch i.State {
	case keys.Failed:
		text += ", which failed: until it is retried or removed nothing moves."
	case keys.Active:
		text += ", which runs."
	case keys.Delayed:
		text += ", which is delayed."
	case keys.Waiting, keys.Prioritized:
		text += ", which waits for a worker."
	case keys.Completed:
		text += ", which completed without telling its parent."
	default:
		text += ", whose record is gone."
	}
	return text, url
}

// leftOut says what the tree does not show, and leads there.
func (d flowDrawing) leftOut(t *templates.FlowTree, j *engine.Peek, below bool) {
	whole := templates.Link{Label: "The whole flow", URL: d.s.links.job(d.top, d.topID) + "#flow"}
	switch {
	case d.orphan:
		t.Note = "Its parent is gone from Redis."
		if q, id, ok := keys.SplitJobKey(j.ParentKey); ok && d.r.who.May(Viewer, q) {
			t.Note = "Its parent, " + jsonview.Visible(id) + " in " + d.queue(q) + ", is gone from Redis."
		}
	case d.apart:
		t.Note = "This job is not among the first " + words.Count(flowJobs) + " of its flow, so the tree begins with it."
		if d.r.who.May(Viewer, d.top) {
			t.Links = append(t.Links, whole)
		}
	}
	if !below {
		return
	}
	if d.top != d.here || d.topID != d.id {
		if d.r.who.May(Viewer, d.top) {
			t.Links = append(t.Links, whole)
		}
	}
	t.Root.More = nil
	for _, kind := range engine.ChildKinds {
		drawn := int64(0)
		for _, c := range d.root.Children {
			if c.Kind == kind {
				drawn++
			}
		}
		if n := d.root.Counts.Of(kind); n > drawn {
			t.Links = append(t.Links, d.s.kindLink("All "+words.Count(n)+" "+string(kind), d.here, d.id, kind, 0))
		}
	}
}

package web

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"html"
	"net/url"
	"strings"
	"sync"
	"time"

	"bullpen/internal/monitor"
	"bullpen/templates"

	"github.com/a-h/templ"
)

const (
	// drawBudget is how long one view may take to be drawn for its stream.
	drawBudget = 3 * time.Second
	// drawAtOnce is how many views are drawn at the same time.
	drawAtOnce = 4
	maxStreams = 2000
	// warnEvery is how often readers are told how old the figures are, while no new ones come.
	warnEvery = 5 * time.Second
)

// hub draws each live view once per snapshot, for everybody who looks at it. It runs while anybody does.
type hub struct {
	s    *Server
	seed maphash.Seed
	wg   sync.WaitGroup

	mu      sync.Mutex
	seq     int64 // grows with every pass
	topics  map[string]*topic
	streams map[*stream]struct{}
	stop    context.CancelFunc // of the loop; nil while it does not run
	snap    *monitor.Snapshot
}

func newHub(s *Server) *hub {
	return &hub{s: s, seed: maphash.MakeSeed(), topics: map[string]*topic{}, streams: map[*stream]struct{}{}}
}

// topic is one live view, as one kind of viewer sees it.
type topic struct {
	address string
	who     Identity
	view    viewFunc
	request viewRequest // without snapshot and time
	readers int
	parts   map[string]part
}

// part is a region as it was last drawn; seq is the pass in which it last changed.
type part struct {
	sum  uint64
	html string
	seq  int64
}

// stream is one reader: a browser's tab.
type stream struct {
	topics []*topic
	wake   chan struct{} // has room for one
}

// topicKey tells viewers apart who may see different things.
func topicKey(address string, who Identity) string {
	return fmt.Sprintf("%d %q %s", who.Role, who.Queues, address)
}

// join adds a reader of the given views and draws those that nobody has read so far.
func (h *hub) join(ctx context.Context, addresses []string, who Identity) (*stream, error) {
	st := &stream{wake: make(chan struct{}, 1)}
	var fresh []*topic
	for _, a := range addresses {
		t, err := h.s.topicAt(a, who)
		if err != nil {
			return nil, err
		}
		st.topics = append(st.topics, t)
	}
	h.mu.Lock()
	if len(h.streams) >= maxStreams {
		h.mu.Unlock()
		return nil, problem(503, "Too many live views", "This Bullpen serves %d already; the page still works without.", maxStreams)
	}
	for i, t := range st.topics {
		key := topicKey(t.address, who)
		if known := h.topics[key]; known != nil {
			st.topics[i] = known
		} else {
			h.topics[key] = t
			fresh = append(fresh, t)
		}
		st.topics[i].readers++
	}
	h.streams[st] = struct{}{}
	if h.stop == nil {
		h.start()
	}
	h.mu.Unlock()
	h.draw(ctx, fresh, h.s.o.Monitor.Snapshot())
	return st, nil
}

// leave forgets a reader, its views if it was the last, and ends the loop when nobody is left.
func (h *hub) leave(st *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range st.topics {
		if t.readers--; t.readers == 0 {
			delete(h.topics, topicKey(t.address, t.who))
		}
	}
	delete(h.streams, st)
	if len(h.streams) == 0 && h.stop != nil {
		h.stop()
		h.stop = nil
	}
}

// start runs the loop; the lock is held.
func (h *hub) start() {
	ctx, cancel := context.WithCancel(context.Background())
	h.stop = cancel
	snaps, unsubscribe := h.s.o.Monitor.Subscribe()
	h.wg.Go(func() {
		defer unsubscribe()
		old := time.NewTimer(h.s.staleAfter())
		defer old.Stop()
		for {
			select {
			case snap := <-snaps:
				h.pass(ctx, snap)
				old.Reset(h.s.staleAfter())
			case <-old.C:
				h.warn(h.s.o.Monitor.Snapshot())
				old.Reset(warnEvery)
			case <-ctx.Done():
				return
			}
		}
	})
}

// warn tells every reader that no new figures have come. It asks Redis nothing.
func (h *hub) warn(snap *monitor.Snapshot) {
	markup, err := renderText(context.Background(), templates.Banners(h.s.warnings(snap, h.s.o.Clock())))
	if err != nil {
		h.s.log.Error("render warnings", "err", err)
		return
	}
	h.mu.Lock()
	h.seq++
	for _, t := range h.topics {
		t.keep(h.seed, h.seq, map[string]string{"banners": markup})
	}
	h.mu.Unlock()
	h.wakeAll(snap)
}

// pass draws every view for a snapshot and wakes the readers.
func (h *hub) pass(ctx context.Context, snap *monitor.Snapshot) {
	h.mu.Lock()
	all := make([]*topic, 0, len(h.topics))
	for _, t := range h.topics {
		all = append(all, t)
	}
	h.mu.Unlock()
	h.draw(ctx, all, snap)
	h.wakeAll(snap)
}

// wakeAll tells the readers that there is something to send.
func (h *hub) wakeAll(snap *monitor.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.snap = snap
	for st := range h.streams {
		select {
		case st.wake <- struct{}{}:
		default: // it has not read the last one yet and will read both at once
		}
	}
}

// draw renders views and keeps the parts that changed.
func (h *hub) draw(ctx context.Context, topics []*topic, snap *monitor.Snapshot) {
	if len(topics) == 0 {
		return
	}
	h.mu.Lock()
	h.seq++
	seq := h.seq
	h.mu.Unlock()
	var wg sync.WaitGroup
	slots := make(chan struct{}, drawAtOnce)
	for _, t := range topics {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			drawn := h.s.drawTopic(ctx, t, snap)
			h.mu.Lock()
			defer h.mu.Unlock()
			t.keep(h.seed, seq, drawn)
		})
	}
	wg.Wait()
}

// keep stores the parts that differ; the hub's lock is held.
func (t *topic) keep(seed maphash.Seed, seq int64, drawn map[string]string) {
	if t.parts == nil {
		t.parts = map[string]part{}
	}
	for name, markup := range drawn {
		sum := fingerprint(seed, markup)
		if old, ok := t.parts[name]; !ok || old.sum != sum {
			t.parts[name] = part{sum: sum, html: markup, seq: seq}
		}
	}
}

// since returns the parts of a reader's views that changed after a pass, and the present pass.
func (h *hub) since(st *stream, after int64) (changed []update, now int64, snap *monitor.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range st.topics {
		for name, p := range t.parts {
			if p.seq > after {
				changed = append(changed, update{Topic: t.address, Region: name, HTML: p.html})
			}
		}
	}
	return changed, h.seq, h.snap
}

// update is a changed part, as the stream sends it.
type update struct {
	Topic  string `json:"topic"`
	Region string `json:"region"`
	HTML   string `json:"html"`
}

// wait returns when the loop has ended.
func (h *hub) wait() { h.wg.Wait() }

// topicAt finds the view at an address.
func (s *Server) topicAt(address string, who Identity) (*topic, error) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(address, "/") || len(address) > 4096 {
		return nil, problem(400, "Not a view", "%q is not the address of a page.", clip(address, 100))
	}
	path := u.EscapedPath()
	pattern, params := s.match(path)
	if pattern == "" {
		return nil, problem(404, "Not a view", "No page is at %s.", clip(path, 100))
	}
	return &topic{
		address: address, who: who, view: s.views[pattern],
		request: viewRequest{who: who, path: path, params: params, query: u.Query()},
	}, nil
}

// match finds the view whose pattern fits a path; of several the one with more literal segments.
func (s *Server) match(path string) (pattern string, params map[string]string) {
	segments := strings.Split(path, "/")
	best := -1
	for p := range s.views {
		parts := strings.Split(p, "/")
		if len(parts) != len(segments) {
			continue
		}
		found, literal := map[string]string{}, 0
		fits := true
		for i, part := range parts {
			switch name, isParam := strings.CutPrefix(part, ":"); {
			case isParam && segments[i] != "":
				found[name] = param(segments[i])
			case part == segments[i]:
				literal++
			default:
				fits = false
			}
		}
		if fits && literal > best {
			pattern, params, best = p, found, literal
		}
	}
	return pattern, params
}

// drawTopic renders every live part of a view.
func (s *Server) drawTopic(ctx context.Context, t *topic, snap *monitor.Snapshot) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, drawBudget)
	defer cancel()
	r := t.request
	r.snap, r.now = snap, s.o.Clock()
	warnings := s.warnings(snap, r.now)
	v, err := s.safely(ctx, t.view, r)
	slow := err != nil && ctx.Err() != nil // the readers keep what they have
	if err != nil && !slow {
		p := asProblem(err)
		warnings = append(warnings, templates.Notice{Class: "s-failed", Icon: "h-crit", Strong: strings.TrimSuffix(p.Title, ".") + ".", Text: p.Detail})
	}
	if err != nil {
		v = view{}
	}
	regions := append([]region{{"banners", templates.Banners(warnings)}}, v.live...)
	if err == nil {
		regions = append(regions, region{"nav", templates.Nav(s.nav(v.nav))})
	}
	out := make(map[string]string, len(regions)+1)
	for _, reg := range regions {
		markup, err := renderText(context.WithoutCancel(ctx), reg.component)
		if err != nil {
			s.log.Error("render live part", "path", t.address, "region", reg.name, "err", err)
			continue
		}
		out[reg.name] = markup
	}
	if v.title != "" {
		out["title"] = html.EscapeString(v.title)
	}
	return out
}

// safely turns a panic of a view into an error: one bad page must not end everybody's stream.
func (s *Server) safely(ctx context.Context, f viewFunc, r viewRequest) (v view, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic in live view", "path", r.path, "err", p)
			err = problem(500, "Bullpen made a mistake", "This page cannot be kept up to date. The log has the details.")
		}
	}()
	return f(ctx, r)
}

func renderText(ctx context.Context, c templ.Component) (string, error) {
	var b bytes.Buffer
	err := c.Render(ctx, &b)
	return b.String(), err
}

// fingerprint is a hash of markup without the words inside <time>: those change every second, and the script keeps
// them true by itself.
func fingerprint(seed maphash.Seed, markup string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for {
		i := strings.Index(markup, "<time")
		if i < 0 {
			break
		}
		open := strings.IndexByte(markup[i:], '>')
		if open < 0 {
			break
		}
		_, _ = h.WriteString(markup[:i+open])
		end := strings.Index(markup[i:], "</time>")
		if end < 0 {
			markup = ""
			break
		}
		markup = markup[i+end:]
	}
	_, _ = h.WriteString(markup)
	return h.Sum64()
}

package web

import (
	"context"
	"hash/maphash"
	"net/http"
	"sync"
	"time"

	"bullpen/internal/monitor"
	"bullpen/templates"
)

const (
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

// stream is one reader: a browser's tab.
type stream struct {
	topics []*topic
	wake   chan struct{} // has room for one
}

// join adds a reader of the given views, as s shows them, and draws those that nobody has read so far.
func (h *hub) join(ctx context.Context, s *Server, addresses []string, who Identity) (*stream, error) {
	st := &stream{wake: make(chan struct{}, 1)}
	var fresh []*topic
	for _, a := range addresses {
		t, err := s.topicAt(a, who)
		if err != nil {
			return nil, err
		}
		st.topics = append(st.topics, t)
	}
	h.mu.Lock()
	if len(h.streams) >= maxStreams {
		h.mu.Unlock()
		return nil, problem(http.StatusServiceUnavailable, "Too many live views", "This Bullpen serves %d already; the page still works without.", maxStreams)
	}
	for i, t := range st.topics {
		key := t.key()
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
			delete(h.topics, t.key())
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
	h.mu.Lock()
	h.seq++
	for _, t := range h.topics {
		markup, err := renderText(context.Background(), templates.Banners(t.server.warnings(snap, h.s.o.Clock())))
		if err != nil {
			h.s.log.Error("render warnings", "err", err)
			continue
		}
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
			drawn := t.server.drawTopic(ctx, t, snap)
			h.mu.Lock()
			defer h.mu.Unlock()
			t.keep(h.seed, seq, drawn)
		})
	}
	wg.Wait()
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

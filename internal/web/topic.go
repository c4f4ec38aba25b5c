package web

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"html"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bullpen/internal/monitor"
	"bullpen/templates"

	"github.com/a-h/templ"
)

// drawBudget is how long one view may take to be drawn for its stream.
const drawBudget = 3 * time.Second

// topic is one live view, as one kind of viewer sees it.
type topic struct {
	server  *Server // the one of the viewer's time zone
	address string
	who     Identity
	view    viewFunc
	request viewRequest // without snapshot and time
	// personal says that the view depends on the viewer's name too.
	personal bool
	readers  int
	parts    map[string]part
}

// part is a region as it was last drawn; seq is the pass in which it last changed.
type part struct {
	sum  uint64
	html string
	seq  int64
}

// key tells viewers apart who may see different things.
func (t *topic) key() string {
	name := ""
	if t.personal {
		name = t.who.Name
	}
	return fmt.Sprintf("%q %d %q %q %s %s", name, t.who.Role, t.who.Queues, t.who.More, t.server.o.Zone, t.address)
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

// topicAt finds the view at an address.
func (s *Server) topicAt(address string, who Identity) (*topic, error) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(address, "/") || len(address) > 4096 {
		return nil, problem(http.StatusBadRequest, "Not a view", "%q is not the address of a page.", clip(address, 100))
	}
	path := u.EscapedPath()
	pattern, params := s.match(path)
	if pattern == "" {
		return nil, problem(http.StatusNotFound, "Not a view", "No page is at %s.", clip(path, 100))
	}
	return &topic{
		server: s, address: address, who: who, view: s.views[pattern], personal: pattern == policyPattern && s.twoPeople(),
		request: viewRequest{who: who, path: path, params: params, query: u.Query(), stream: true, kept: &keptList{}, keptJob: &keptJob{}},
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
		regions = append(regions, region{"nav", templates.Nav(s.nav(v.nav, r.who))})
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
			err = problem(http.StatusInternalServerError, "Bullpen made a mistake", "This page cannot be kept up to date. The log has the details.")
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

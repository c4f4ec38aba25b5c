package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/templates"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
)

// viewFunc turns an address and the last snapshot into a page. It serves the page itself and, for everybody who looks
// at the same address, its live updates; so it must not depend on anything that is not in the request.
type viewFunc func(ctx context.Context, r viewRequest) (view, error)

// viewRequest is what a view may depend on.
type viewRequest struct {
	snap *monitor.Snapshot
	now  time.Time
	who  Identity
	// path is the address without base path and query, as escaped; params are its unescaped segments by name.
	path   string
	params map[string]string
	query  url.Values
	// stream says that only the live parts are wanted.
	stream bool
	// kept is what a live view remembers of its list; nil when the page itself is served.
	kept *keptList
	// keptJob is the same for the page of a job.
	keptJob *keptJob
}

// self is the address of the view without the base path; every form on it gives it back as "back".
func (r viewRequest) self() string { return withQuery(r.path, r.query) }

// asking is the query of a link to a question: what it is about, and the view to return to.
func (r viewRequest) asking(about ...string) string {
	v := url.Values{"back": {r.self()}}
	for i := 0; i+1 < len(about); i += 2 {
		v.Set(about[i], about[i+1])
	}
	return withQuery("", v)
}

// with is the address of the same view with some of its query changed; an empty value drops the key.
func (r viewRequest) with(base string, pairs ...string) string {
	q := url.Values{}
	for k, v := range r.query {
		q[k] = v
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		} else {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return withQuery(base+r.path, q)
}

// view is a page without its frame.
type view struct {
	title string
	// nav is the path of the page in the top bar this view belongs to: "/", "/failures".
	nav     string
	content templ.Component
	// live are the parts that the event stream renews; none means the page stands still.
	live []region
	// find is what stands in the search box.
	find string
	// status defaults to 200.
	status int
}

// region is a named part of a page, drawn by the same component on the page and in the stream.
type region struct {
	name      string
	component templ.Component
}

// serve is the echo handler of a view.
func (s *Server) serve(f viewFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := s.identify(c.Request())
		if err != nil {
			return err
		}
		s.renew(c)
		r := s.viewRequest(c, who)
		v, err := f(c.Request().Context(), r)
		if err != nil {
			return err
		}
		return s.showView(c, r, v)
	}
}

func (s *Server) viewRequest(c echo.Context, who Identity) viewRequest {
	r := viewRequest{
		snap: s.o.Monitor.Snapshot(), now: s.o.Clock(), who: who,
		path: c.Request().URL.EscapedPath(), query: c.QueryParams(), params: map[string]string{},
	}
	for i, name := range c.ParamNames() {
		if values := c.ParamValues(); i < len(values) {
			r.params[name] = param(values[i])
		}
	}
	return r
}

// param is the text of one segment of the path: ours by "~" escapes, or somebody's percent escapes.
func param(segment string) string {
	if u, err := url.PathUnescape(segment); err == nil {
		segment = u
	}
	return unescapeSegment(segment)
}

func (s *Server) showView(c echo.Context, r viewRequest, v view) error {
	p := s.page(c, r, v)
	status := v.status
	if status == 0 {
		status = http.StatusOK
	}
	return s.render(c, status, templates.Layout(p), v.content)
}

// queueOf finds the queue of an address in the snapshot and checks that the viewer may see it.
func (s *Server) queueOf(r viewRequest) (*monitor.Queue, error) {
	q := s.links.parseQueue(r.params["queue"])
	found := r.snap.Queue(q.Prefix, q.Name)
	if found == nil || !r.who.May(Viewer, q) {
		return nil, s.noQueue(q)
	}
	return found, nil
}

func (s *Server) noQueue(q keys.Queue) *Problem {
	p := problem(http.StatusNotFound, "No queue named "+q.Name,
		"Redis %s has no keys under %s. A queue appears with its first job.", s.o.Alias, q.Base())
	p.Links = []templates.Link{{Label: "All queues", URL: s.links.to("/")}}
	return p
}

// engineOf returns the engine's queue.
func (s *Server) engineOf(q keys.Queue) (*engine.Queue, error) {
	return s.o.Queue(q)
}

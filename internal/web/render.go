package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/static"
	"bullpen/templates"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
)

// staleTicks is how many missed passes make figures old.
const staleTicks = 3

// render writes a component, with children inside it, as a page. It renders to memory first, so that a failure can
// still become an error page.
func (s *Server) render(c echo.Context, status int, frame, content templ.Component) error {
	var buf bytes.Buffer
	// A page about a request that took too long is still written, so its context does not count here.
	ctx := templ.WithChildren(context.WithoutCancel(c.Request().Context()), content)
	if err := frame.Render(ctx, &buf); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	// Ids and what was typed stand in fields as they are, and need not be UTF-8.
	return c.HTMLBlob(status, bytes.ToValidUTF8(buf.Bytes(), []byte("\uFFFD")))
}

// page fills the frame around a view.
func (s *Server) page(c echo.Context, r viewRequest, v view) templates.Page {
	p := templates.Page{
		Title: v.title,
		Base:  s.o.BasePath,
		Style: s.asset(static.Style), Script: s.asset(static.Script), Icon: s.asset(static.Icon),
		Flash: s.flash(c),
	}
	if r.who.Role == NoRole {
		p.Foot.Version, p.Foot.Zone = s.o.Version, s.o.Zone.String()
		return p
	}
	p.Where = s.o.Alias + ", " + s.o.Prefix
	p.Nav = s.nav(v.nav, r.who)
	p.Query = v.find
	p.Status = s.status(r.snap, r.now)
	p.Notices = s.warnings(r.snap, r.now)
	p.Foot = s.foot(r)
	p.User = s.user(r.who)
	if s.has("/search") {
		p.Find = s.links.to("/search")
	}
	if len(v.live) > 0 {
		p.Topic = r.self()
	}
	return p
}

func (s *Server) asset(name string) string { return s.links.to("/static/" + s.files.Name(name)) }

// nav lists the pages that exist; current is the path of the one shown, who the viewer.
func (s *Server) nav(current string, who Identity) []templates.NavLink {
	var out []templates.NavLink
	for _, n := range navigation {
		if !s.has(n.path) {
			continue
		}
		l := templates.NavLink{Label: n.label, URL: s.links.to(n.path), Current: n.path == current, Key: n.key}
		if n.mark != nil {
			l.Mark, l.Class, l.Meaning = n.mark(s, who)
		}
		out = append(out, l)
	}
	return out
}

func (s *Server) status(snap *monitor.Snapshot, now time.Time) templates.Status {
	st := templates.Status{Tick: s.o.Tick.Milliseconds()}
	if snap.At.IsZero() {
		st.Text, st.Stale = "No figures yet", true
		return st
	}
	age := snap.Age(now)
	st.At = snap.At.UTC().Format(time.RFC3339Nano)
	st.Stale = s.stale(snap, now)
	st.Text = "Read " + words.Duration(age.Truncate(time.Second)) + " ago"
	if st.Stale {
		st.Text = words.Duration(age.Truncate(time.Second)) + " old"
		if snap.Err != nil {
			st.Text += ", not answering"
		}
	}
	return st
}

func (s *Server) stale(snap *monitor.Snapshot, now time.Time) bool {
	return snap.Age(now) > s.staleAfter()
}

// staleAfter is the age from which figures are old; a pass may be a little late.
func (s *Server) staleAfter() time.Duration { return staleTicks*s.o.Tick + s.o.Tick/2 }

// warnings are what every page says about the figures it shows.
func (s *Server) warnings(snap *monitor.Snapshot, now time.Time) []templates.Notice {
	var out []templates.Notice
	switch {
	case snap.At.IsZero() && snap.Err != nil:
		out = append(out, templates.Notice{
			Class: "s-failed", Icon: "h-crit", Strong: "Redis does not answer.",
			Text: "No figures have been read yet: " + oneLine(snap.Err) + ". Bullpen tries again every few seconds.",
		})
	case snap.At.IsZero():
		out = append(out, templates.Notice{
			Class: "s-delayed", Icon: "h-warn", Strong: "The first figures are being read.",
			Text: "This page shows them as soon as they are there.",
		})
	case s.stale(snap, now):
		n := templates.Notice{
			Class: "s-delayed", Icon: "h-warn",
			Strong: "These figures are " + words.Duration(snap.Age(now).Truncate(time.Second)) + " old.",
			Text:   "The last good read was at " + snap.At.In(s.o.Zone).Format("15:04:05") + ". Bullpen tries again every few seconds.",
		}
		if snap.Err != nil {
			n.Text = "Redis does not answer (" + oneLine(snap.Err) + "). " + n.Text
		}
		out = append(out, n)
	}
	if s.o.ReadOnly {
		out = append(out, templates.Notice{Class: "s-paused", Icon: "s-paused", Strong: "Read only.", Text: "This Bullpen changes nothing in Redis."})
	}
	return out
}

func (s *Server) foot(r viewRequest) templates.Foot {
	f := templates.Foot{Zone: s.o.Zone.String(), ZoneURL: s.zoneURL(r), Version: s.o.Version}
	if !r.snap.At.IsZero() {
		f.Read = s.clock(r.snap.At)
		f.Took = words.Exact(r.snap.Took)
	}
	return f
}

// when writes t relative to now; the zero time is unknown.
func (s *Server) when(t, now time.Time) templates.When {
	if t.IsZero() {
		return templates.When{}
	}
	w := templates.When{ISO: t.UTC().Format(time.RFC3339Nano), Exact: s.exact(t)}
	switch d := now.Sub(t); {
	case d < 0:
		w.Text = "in " + ago(-d)
	default:
		w.Text = ago(d) + " ago"
	}
	return w
}

// ago is a span as lists show it: seconds up to two minutes, then the leading unit.
func ago(d time.Duration) string {
	if d < 2*time.Minute {
		return words.Count(int64(d/time.Second)) + "\u00a0s"
	}
	return words.Roughly(d)
}

// clock writes t as a clock shows it.
func (s *Server) clock(t time.Time) templates.When {
	return templates.When{ISO: t.UTC().Format(time.RFC3339Nano), Text: t.In(s.o.Zone).Format("15:04:05"), Exact: s.exact(t)}
}

func (s *Server) exact(t time.Time) string {
	return t.In(s.o.Zone).Format("2 January 2006, 15:04:05 MST")
}

// fail answers any error: problem+json under /api, a page with words elsewhere.
func (s *Server) fail(err error, c echo.Context) {
	p := asProblem(err)
	if p.Status >= http.StatusInternalServerError {
		s.log.Error("request failed", "path", c.Request().URL.Path, "err", err)
	}
	if c.Response().Committed {
		return
	}
	if p.Status == http.StatusUnauthorized && s.askToSignIn(c) {
		return
	}
	if wantsJSON(c.Request()) {
		s.answer(c, p.Status, "application/problem+json", p)
		return
	}
	who, _ := s.identify(c.Request()) // a stranger gets a page that says no more than the error
	r := s.viewRequest(c, who)
	title, detail := jsonview.Visible(p.Title), jsonview.Visible(p.Detail)
	v := view{title: title, status: p.Status, content: templates.ErrorPage(templates.Failure{Title: title, Detail: detail, Links: p.Links, Home: s.links.to("/")})}
	if err := s.showView(c, r, v); err != nil {
		s.log.Error("show error page", "err", err)
		_ = c.String(http.StatusInternalServerError, p.Title)
	}
}

// answer writes v as JSON.
func (s *Server) answer(c echo.Context, status int, contentType string, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		s.log.Error("encode answer", "err", err)
		status, b = http.StatusInternalServerError, []byte(`{"status":500,"title":"The answer could not be encoded"}`)
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	_ = c.Blob(status, contentType, append(b, '\n'))
}

// wantsJSON reports whether a program rather than a person asks: a stream has no use for the sign-in page.
func wantsJSON(r *http.Request) bool {
	return r.URL.Path == "/live" || strings.HasPrefix(r.URL.Path, "/api/") || strings.Contains(r.Header.Get("Accept"), "application/json")
}

// oneLine is an error's first line, bounded.
func oneLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "") + "…"
	}
	return line
}

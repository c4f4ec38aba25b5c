package web

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// requestBudget is how long any request may take. Longer work is an operation.
const requestBudget = 10 * time.Second

// answerSlack is how long after its work an answer may take to leave.
const answerSlack = 2 * time.Second

// slowestReader is how many bytes a second somebody who downloads must take.
const slowestReader = 128 << 10

// allow gives a download as long as a slow reader needs for its next bytes, from now on; the event stream does the same
// for each of its events.
func allow(c echo.Context, bytes int64) {
	wait := requestBudget + answerSlack + time.Duration(bytes)*time.Second/slowestReader
	// Not every connection of a test has deadlines; a real one does.
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(wait))
}

// contentPolicy allows our own files and nothing inline, so that text of jobs can never run.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// topSegments are the first segments of our own paths; stripBase needs them where the base path looks like one.
var topSegments = map[string]bool{
	"": true, "queues": true, "failures": true, "search": true, "schedulers": true, "workers": true, "redis": true,
	"alerts": true, "operations": true, "activity": true, "api": true, "metrics": true, "healthz": true, "readyz": true,
	"static": true, "live": true, "callback": true, "runbooks": true, "login": true, "logout": true, "oidc": true,
	"favicon.ico": true, "zone": true,
}

// stripBase removes the base path, so that routes are the same behind proxies that strip it and proxies that do not.
func (s *Server) stripBase(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		u := c.Request().URL
		if base := s.o.BasePath; base != "" && s.underBase(u.Path) {
			u.Path = "/" + strings.TrimPrefix(strings.TrimPrefix(u.Path, base), "/")
			if u.RawPath != "" {
				u.RawPath = "/" + strings.TrimPrefix(strings.TrimPrefix(u.RawPath, base), "/")
			}
		}
		if len(u.Path) > 1 && strings.HasSuffix(u.Path, "/") {
			u.Path = strings.TrimRight(u.Path, "/")
			u.RawPath = strings.TrimRight(u.RawPath, "/")
			if u.Path == "" {
				u.Path, u.RawPath = "/", ""
			}
		}
		return next(c)
	}
}

// underBase reports whether path carries the base path. Where what is left would be none of our addresses, the base
// path was stripped already and the path only looks like it.
func (s *Server) underBase(path string) bool {
	rest, ok := strings.CutPrefix(path, s.o.BasePath)
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	return topSegments[first]
}

// secure sets the headers that keep a browser from doing more than the pages need.
func (s *Server) secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		// Not no-referrer: it would make browsers send "Origin: null" with our own forms.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		return next(c)
	}
}

// recover turns a panic into an error, and so into an error page.
func (s *Server) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way
				panic(p)
			}
			s.log.Error("panic in handler", "path", c.Path(), "err", p, "stack", string(debug.Stack()))
			err = &Problem{
				Status: http.StatusInternalServerError, Title: "Bullpen made a mistake",
				Detail: "The log has the details. Nothing else is affected.", cause: fmt.Errorf("panic: %v", p),
			}
		}()
		return next(c)
	}
}

// logRequests writes one line per request: writes and failures at info, the rest at debug.
func (s *Server) logRequests(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		if err := next(c); err != nil {
			c.Error(err) // answers now, so that the status is known
		}
		log := s.log.Debug
		if c.Request().Method != http.MethodGet && c.Request().Method != http.MethodHead {
			log = s.log.Info
		}
		log("request", "method", c.Request().Method, "path", c.Request().URL.Path, "status", c.Response().Status,
			"took", time.Since(start))
		s.o.Answered(s.routeOf(c), c.Request().Method, c.Response().Status, s.tookOf(c, start))
		return nil
	}
}

// compress sends text compressed. Streams go out event by event, embedded files are compressed already.
func (s *Server) compress() echo.MiddlewareFunc {
	return middleware.GzipWithConfig(middleware.GzipConfig{
		MinLength: 1024,
		Skipper: func(c echo.Context) bool {
			p := c.Request().URL.Path
			return p == "/live" || p == "/metrics" || strings.HasPrefix(p, "/static/")
		},
	})
}

// budget ends the work of a request after requestBudget.
func budget(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().URL.Path == "/live" {
			return next(c)
		}
		ctx, cancel := context.WithTimeout(c.Request().Context(), requestBudget)
		defer cancel()
		c.SetRequest(c.Request().WithContext(ctx))
		return next(c)
	}
}

// routeOf is the pattern a request matched. What none matches is one route, or anybody could make up any number.
func (s *Server) routeOf(c echo.Context) string {
	if s.patterns[c.Path()] {
		return c.Path()
	}
	return "other"
}

// tookOf is how long an answer took; 0 for the event stream, which lasts as long as somebody looks.
func (s *Server) tookOf(c echo.Context, start time.Time) time.Duration {
	if c.Path() == "/live" {
		return 0
	}
	return time.Since(start)
}

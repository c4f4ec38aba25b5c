package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// navigation is the top bar, in order. A page shows up when its view exists.
var navigation = []struct {
	label, path, key string
	// mark, if set, is a count beside the label with its class and meaning, for a viewer; "" shows none.
	mark func(*Server, Identity) (text, class, meaning string)
}{
	{label: "Overview", path: "/", key: "o"},
	{label: "Failures", path: "/failures", key: "f"},
	{label: "Schedulers", path: "/schedulers", key: "s"},
	{label: "Workers", path: "/workers", key: "w"},
	{label: "Redis", path: "/redis", key: "r"},
	{label: "Alerts", path: "/alerts", key: "t", mark: firingMark},
	{label: "Operations", path: "/operations", key: "p", mark: runningMark},
	{label: "Activity", path: "/activity", key: "a"},
}

// pages are the views by route pattern. A page that is not in here has no route and no link.
func (s *Server) pages() map[string]viewFunc {
	pages := map[string]viewFunc{
		"/":              s.overview,
		"/queues/:queue": s.queuePage,

		"/queues/:queue/jobs/:id": s.jobPage,
		policyPattern:             s.policyPage,

		"/schedulers":                          s.schedulersPage,
		"/queues/:queue/schedulers":            s.queueSchedulers,
		"/queues/:queue/schedulers/:scheduler": s.schedulerPage,

		"/failures":         s.failuresPage,
		"/failures/letters": s.lettersPage,
		"/search":           s.searchPage,

		"/workers":         s.workersPage,
		"/redis":           s.redisPage,
		"/alerts":          s.alertsPage,
		"/runbooks/:alert": s.runbookPage,

		"/operations":     s.operationsPage,
		"/operations/:op": s.operationPage,
	}
	if s.o.Audit != nil {
		pages["/activity"] = s.activityPage
	}
	return pages
}

// routes builds the router: pages, acts, the API, and what machines read.
func (s *Server) routes() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler, e.IPExtractor = s.fail, s.clientAddress
	e.Logger.SetLevel(7) // off: errors are logged by fail, requests by logRequests
	e.Pre(s.stripBase)
	e.Use(s.recover, s.secure, s.logRequests, s.checkHost, s.compress(), budget)

	for pattern, f := range s.pages() {
		s.views[pattern] = f
		e.GET(pattern, s.serve(f))
	}
	s.acts = s.actions()
	for i := range s.acts {
		a := &s.acts[i]
		e.POST(a.Path, s.gate(a))
		e.POST(apiVersion+a.Path, s.gate(a))
		if a.Ask != nil && s.views[a.Path] == nil {
			e.GET(a.Path, s.serve(s.askView(a)))
		}
	}
	for _, read := range s.apiReads() {
		h := read.raw
		if h == nil {
			h = s.serveAPI(read.do)
		}
		e.GET(apiVersion+read.path, h)
	}
	e.GET("/operations/:op/refusals", s.operationRefusals)
	e.GET("/queues/:queue/export", s.export)
	for _, field := range jobFiles {
		e.GET("/queues/:queue/jobs/:id/"+field, s.jobFile(field))
	}
	s.signInRoutes(e)
	e.GET("/zone", s.zonePage)
	e.POST("/zone", s.chooseZone)
	e.GET("/live", s.live)
	e.GET("/static/:name", s.static)
	e.GET("/favicon.ico", s.favicon)
	e.GET("/healthz", s.healthz)
	e.GET("/readyz", s.readyz)
	if s.o.Metrics != nil {
		e.GET("/metrics", echo.WrapHandler(s.o.Metrics))
	}
	if s.o.Callback != nil {
		e.GET("/callback/:token", echo.WrapHandler(s.o.Callback))
		e.GET("/callback/:token/children", echo.WrapHandler(s.o.Callback))
		e.POST("/callback/:token", echo.WrapHandler(s.o.Callback))
	}
	return e
}

// Routes lists every route as "METHOD /path", so that tests can tell that they know all of them.
func (s *Server) Routes() (out []string) {
	for _, r := range s.echo.Routes() {
		out = append(out, r.Method+" "+r.Path)
	}
	return out
}

func (s *Server) static(c echo.Context) error {
	if !s.files.Serve(c.Response(), c.Request(), c.Param("name")) {
		return echo.ErrNotFound
	}
	return nil
}

func (s *Server) favicon(c echo.Context) error {
	if !s.files.Serve(c.Response(), c.Request(), "icon.svg") {
		return echo.ErrNotFound
	}
	return nil
}

// healthz says that the process answers; it does not need Redis.
func (s *Server) healthz(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// readyz says whether the process can do its work.
func (s *Server) readyz(c echo.Context) error {
	if s.o.Ready != nil {
		if err := s.o.Ready(); err != nil {
			return c.String(http.StatusServiceUnavailable, "not ready: "+oneLine(err)+"\n")
		}
	}
	return c.String(http.StatusOK, "ready\n")
}

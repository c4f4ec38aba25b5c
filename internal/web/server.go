package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"bullpen/internal/failures"
	"bullpen/internal/web/operation"
	"bullpen/static"

	"github.com/labstack/echo/v4"
)

// Server is the dashboard. New makes one, Serve runs it until Shutdown.
type Server struct {
	o       Options
	log     *slog.Logger
	links   links
	files   *static.Files
	public  *url.URL // nil when there is none
	flashes flashBox
	views   map[string]viewFunc // by route pattern
	acts    []Action
	ops     *operation.Manager
	scans   *scans
	// failures and letters count failed jobs and dead letters by kind for all viewers.
	failures, letters *failures.Collector
	hub               *hub
	zones             *zones
	boot              string          // names this process in event ids
	apiText           json.RawMessage // the API\'s document
	echo              *echo.Echo
	patterns          map[string]bool // of all routes
	http              *http.Server
	// stopping is closed when Shutdown begins; every event stream selects on it.
	stopping chan struct{}
}

// New validates o and builds the routes. It starts nothing.
func New(o Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	files, err := static.Load()
	if err != nil {
		return nil, fmt.Errorf("web: load static files: %w", err)
	}
	s := &Server{
		o: o, log: o.Logger.With("component", "web"), files: files,
		links:   links{base: o.BasePath, prefix: o.Prefix},
		flashes: newFlashBox(o.BasePath, strings.HasPrefix(o.PublicURL, "https:")), views: map[string]viewFunc{}, stopping: make(chan struct{}),
	}
	s.ops = operation.New(operation.Options{Book: o.Operations, Lost: s.lost, Clock: o.Clock, Logger: s.log})
	s.scans = newScans()
	s.hub, s.boot = newHub(s), rand.Text()[:8]
	s.zones = &zones{home: o.Zone, by: map[string]*Server{}}
	if s.failures, err = failures.New(failures.Options{Queue: o.Queue, Clock: o.Clock}); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if s.letters, err = failures.New(failures.Options{Queue: o.Queue, List: failures.Letters, Clock: o.Clock}); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if o.PublicURL != "" {
		s.public, _ = url.Parse(o.PublicURL) // validate has parsed it
	}
	s.echo, s.patterns = s.routes(), map[string]bool{}
	for _, r := range s.echo.Routes() {
		s.patterns[r.Path] = true
	}
	if s.apiText, err = s.document(); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	s.http = &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: requestBudget,
		// Whoever sends a body or takes an answer a byte at a time holds a request no longer than one that does not.
		ReadTimeout:  requestBudget,
		WriteTimeout: requestBudget + answerSlack,
		IdleTimeout:  2 * time.Minute,
		ErrorLog:     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.http.RegisterOnShutdown(sync.OnceFunc(func() { close(s.stopping) }))
	return s, nil
}

// Handler serves one request; for tests and for callers with a server of their own.
func (s *Server) Handler() http.Handler {
	return headAsGet(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.forReader(r).echo.ServeHTTP(w, r) }))
}

// headAsGet answers HEAD like GET, except for the stream, which would never end; net/http leaves the body out.
func headAsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && !strings.HasSuffix(r.URL.Path, "/live") {
			r = r.Clone(r.Context())
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

// Serve answers requests on l until Shutdown; it then returns nil.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("web: serve: %w", err)
	}
	return nil
}

// Shutdown ends the event streams, waits for requests under way until ctx ends, and stops what runs in the background.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	s.ops.Close()
	s.hub.wait()
	if err != nil {
		return fmt.Errorf("web: shutdown: %w", err)
	}
	return nil
}

// has reports whether a page exists, so that nothing links to one that does not.
func (s *Server) has(pattern string) bool { return s.views[pattern] != nil }

// identify tells who sends a request.
func (s *Server) identify(r *http.Request) (Identity, error) {
	auth := s.o.Auth
	if auth == nil {
		auth = everybody{}
	}
	who, err := auth.Identify(r)
	if p := (*Problem)(nil); errors.As(err, &p) {
		return Identity{}, p
	}
	if err != nil {
		return Identity{}, &Problem{Status: http.StatusUnauthorized, Title: "Please sign in", Detail: err.Error(), cause: err}
	}
	return who, nil
}

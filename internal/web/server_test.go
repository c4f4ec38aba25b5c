package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
)

func TestOptionsAreChecked(t *testing.T) {
	m := newFakeMonitor()
	queue := func(keys.Queue) (*engine.Queue, error) { return nil, nil }
	for name, o := range map[string]Options{
		"Monitor":   {Queue: queue},
		"Queue":     {Monitor: m},
		"BasePath":  {Monitor: m, Queue: queue, BasePath: "/a?b"},
		"PublicURL": {Monitor: m, Queue: queue, PublicURL: "ops.example"},
	} {
		_, err := New(o)
		require.ErrorContains(t, err, name)
	}
}

func TestHeaders(t *testing.T) {
	b := newBench(t)
	a := b.get("/")
	require.Equal(t, http.StatusOK, a.status)
	csp := a.header.Get("Content-Security-Policy")
	require.Contains(t, csp, "script-src 'self'")
	require.NotContains(t, csp, "unsafe")
	require.Equal(t, "nosniff", a.header.Get("X-Content-Type-Options"))
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	hasNot(t, a.body, "<style")
	hasNot(t, a.body, " style=")
	require.NotRegexp(t, regexp.MustCompile(`\son[a-z]+="`), a.body, "no inline handlers")
	require.NotRegexp(t, regexp.MustCompile(`(src|href)="(https?:)?//`), a.body, "nothing from outside")
}

func TestStaticFiles(t *testing.T) {
	b := newBench(t)
	page := b.get("/").body
	for _, ext := range []string{"css", "js", "svg"} {
		m := regexp.MustCompile(`"(/static/[a-z]+\.[0-9a-f]{10}\.` + ext + `)"`).FindStringSubmatch(page)
		require.NotNil(t, m, ext)
		a := b.get(m[1])
		require.Equal(t, http.StatusOK, a.status)
		require.Contains(t, a.header.Get("Cache-Control"), "immutable")
		require.NotEmpty(t, a.body)
	}
	require.Equal(t, "no-cache", b.get("/favicon.ico").header.Get("Cache-Control"))
	require.Equal(t, http.StatusNotFound, b.get("/static/nope.css").status)
	r := httptest.NewRequest(http.MethodGet, "/static/bullpen.css", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	require.Equal(t, "gzip", b.do(r).header.Get("Content-Encoding"))
}

func TestHealthAndReady(t *testing.T) {
	ready := errors.New("redis does not answer")
	b := newBench(t, func(o *Options) {
		o.Ready = func() error { return ready }
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("bullmq_up 1\n")) })
	})
	require.Equal(t, http.StatusOK, b.get("/healthz").status)
	a := b.get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	has(t, a.body, "redis does not answer")
	ready = nil
	require.Equal(t, http.StatusOK, b.get("/readyz").status)
	require.Equal(t, "bullmq_up 1\n", b.get("/metrics").body)
}

func TestHead(t *testing.T) {
	server := newBench(t).serveLive()
	for path, want := range map[string]int{"/": 200, "/healthz": 200, "/nope": 404, "/live?topics=/": 405} {
		res, err := server.Client().Head(server.URL + path)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode, path)
	}
}

func TestErrorsHaveWords(t *testing.T) {
	b := newBench(t)
	page := b.get("/nope")
	require.Equal(t, http.StatusNotFound, page.status)
	has(t, page.body, "No such page")
	has(t, b.get("/queues/nope").body, "No queue named nope")
	has(t, b.get("/queues/email?state=odd").body, "No such state")
	api := b.get("/api/v1/queues/nope")
	require.Equal(t, http.StatusNotFound, api.status)
	require.Equal(t, "application/problem+json", api.header.Get("Content-Type"))
	has(t, api.body, `"status": 404`)
}

func TestPanicBecomesAPage(t *testing.T) {
	b := newBench(t)
	b.echo.GET("/panic", func(echo.Context) error { panic("oh") })
	a := b.get("/panic")
	require.Equal(t, http.StatusInternalServerError, a.status)
	has(t, a.body, "Bullpen made a mistake")
	hasNot(t, a.body, "oh<", "the cause stays in the log")
}

func TestBudget(t *testing.T) {
	b := newBench(t)
	b.echo.GET("/slow", func(c echo.Context) error {
		deadline, ok := c.Request().Context().Deadline()
		require.True(t, ok)
		require.WithinDuration(t, time.Now().Add(requestBudget), deadline, time.Second)
		return context.DeadlineExceeded
	})
	a := b.get("/slow")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	has(t, a.body, "more than 10 s")
}

// TestBasePath asks with the path stripped by a proxy and not, and follows every address on the page.
func TestBasePath(t *testing.T) {
	for _, base := range []string{"", "/ops", "/ops/queues", "/queues"} {
		t.Run("base"+base, func(t *testing.T) {
			b := newBench(t, func(o *Options) { o.BasePath = base })
			b.add(1, engine.JobOptions{})
			b.recount()
			for _, path := range []string{base, base + "/", "/"} {
				if path == "" {
					continue
				}
				a := b.get(path)
				require.Equal(t, http.StatusOK, a.status, path)
				has(t, a.body, "<h1>1\u00a0queue keeps up", path)
			}
			for _, path := range []string{"/queues/email", "/queues/email/", "/operations", "/api/v1/queues", "/healthz"} {
				require.Equal(t, http.StatusOK, b.get(base+path).status, base+path)
				require.Equal(t, http.StatusOK, b.get(path).status, "stripped: "+path)
			}
			addresses := regexp.MustCompile(`(?:href|src|action|formaction)="(/[^"]*)"`)
			for _, m := range addresses.FindAllStringSubmatch(b.get(base+"/queues/email").body, -1) {
				require.True(t, strings.HasPrefix(m[1], base+"/"), "%s leaves the base path", m[1])
			}
			a := b.post(base+"/queues/email/pause", map[string][]string{"back": {"/queues/email"}})
			require.Equal(t, base+"/queues/email", a.header.Get("Location"))
			require.Contains(t, a.header.Get("Set-Cookie"), "Path="+base+"/")
		})
	}
}

func TestHostileNames(t *testing.T) {
	b := newBench(t)
	prefix := b.o.Prefix
	var queues []*monitor.Queue
	for _, name := range hostile {
		if strings.Contains(name, ":") {
			continue // no queue is named so
		}
		queues = append(queues, &monitor.Queue{Queue: keys.Queue{Prefix: prefix, Name: name}, Reason: name, Counts: map[keys.State]int64{keys.Waiting: 1}, Health: monitor.NeedsAttention, Field: "waiting"})
	}
	b.monitor.publish(&monitor.Snapshot{At: time.Now(), Queues: queues})
	overview := b.get("/").body
	hasNot(t, overview, "<script>alert")
	for _, q := range queues {
		q.Counts = map[keys.State]int64{}
		eq, err := b.o.Queue(q.Queue)
		require.NoError(t, err)
		for _, id := range []string{"x<script>alert(1)</script>", `a"b`, "..", "1/2", "50%"} {
			_, err := eq.Add(t.Context(), id, map[string]string{"a": id}, engine.JobOptions{ID: id})
			require.NoError(t, err)
		}
		a := b.get(b.links.queue(q.Queue) + "?state=waiting")
		require.Equal(t, http.StatusOK, a.status, q.Name)
		hasNot(t, a.body, "<script>alert")
		hrefs := regexp.MustCompile(`href="(/queues/[^"?]*/jobs/[^"]*)"`).FindAllStringSubmatch(a.body, -1)
		require.NotEmpty(t, hrefs, q.Name)
		for _, m := range hrefs {
			require.Equal(t, http.StatusOK, b.get(m[1]).status, m[1])
		}
		gone := b.post(b.links.job(q.Queue, "..", "remove"), map[string][]string{"confirm": {"yes"}, "back": {"/"}})
		require.Equal(t, http.StatusSeeOther, gone.status, gone.body)
		st, err := eq.State(t.Context(), "..")
		require.NoError(t, err)
		require.Equal(t, keys.Unknown, st)
	}
}

func TestStaleAndDown(t *testing.T) {
	b := newBench(t)
	snap := *b.monitor.Snapshot()
	snap.At = time.Now().Add(-18 * time.Second)
	snap.Err = errors.New("dial unix: connection refused")
	b.monitor.publish(&snap)
	page := b.get("/").body
	has(t, page, "These figures are 18\u00a0s old.")
	has(t, page, "connection refused")
	has(t, page, `class="live stale`)

	b.monitor.publish(&monitor.Snapshot{Err: errors.New("dial: no such host")})
	page = b.get("/").body
	has(t, page, "Redis does not answer.")
	has(t, page, "No figures yet")
}

func TestFlashCannotBeForged(t *testing.T) {
	b := newBench(t)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: flashCookie, Value: "eyJTdHJvbmciOiJPd25lZCJ9.AAAA"})
	hasNot(t, b.do(r).body, "Owned")
	for _, back := range []string{"//evil.example", "https://evil.example", `/\evil`, "/a\r\nb", "evil"} {
		require.Equal(t, "/", safeBack(back), back)
	}
	require.Equal(t, "/queues/x?state=failed", safeBack("/queues/x?state=failed"))
}

func TestServeAndShutdownWithAStreamOpen(t *testing.T) {
	b := newBench(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- b.Serve(l) }()
	res, err := http.Get("http://" + l.Addr().String() + "/live?topics=/")
	require.NoError(t, err)
	defer res.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, b.Shutdown(ctx))
	require.NoError(t, <-served)
	http.DefaultClient.CloseIdleConnections()
}

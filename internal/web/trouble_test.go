package web

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bullpen/internal/audit"
	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web/operation/book"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// slowness is how late each reply of a slow Redis comes.
const slowness = 2 * time.Second

// slowSocket is a socket whose replies come late.
func slowSocket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "slow")
	require.NoError(t, err)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	var wg sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
		_ = os.RemoveAll(dir)
	})
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", redisServer.Socket)
			if err != nil {
				_ = in.Close()
				continue
			}
			wg.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
			wg.Go(func() {
				defer func() { _ = in.Close() }()
				buf := make([]byte, 1<<20)
				for {
					n, err := out.Read(buf)
					if err != nil {
						return
					}
					time.Sleep(slowness)
					if _, err := in.Write(buf[:n]); err != nil {
						return
					}
				}
			})
		}
	})
	return filepath.Join(dir, "s")
}

// TestPagesWhileRedisIsInTrouble walks every page and every read of the API while Redis is down, slow, or lets us do little:
// each answers within the budget of a request, with what is known and in words.
func TestPagesWhileRedisIsInTrouble(t *testing.T) {
	for name, tt := range map[string]struct {
		client func(t *testing.T) *redis.Options
		// worst is the worst status that a page may have.
		worst int
	}{
		"down": {func(*testing.T) *redis.Options { return &redis.Options{Network: "unix", Addr: "/nowhere"} }, http.StatusServiceUnavailable},
		"slow": {func(t *testing.T) *redis.Options { return &redis.Options{Network: "unix", Addr: slowSocket(t)} }, http.StatusServiceUnavailable},
		"restricted": {func(t *testing.T) *redis.Options {
			require.NoError(t, redisServer.Client(t).Do(t.Context(), "ACL", "SETUSER", "few", "on", "nopass", "~*", "&*", "+@all", "-client", "-config", "-info").Err())
			o := redisServer.Options()
			o.Username, o.Password = "few", "x"
			return o
		}, http.StatusUnprocessableEntity},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := redis.NewClient(tt.client(t))
			t.Cleanup(func() { _ = c.Close() })
			b := newBench(t, func(o *Options) {
				o.Queue = func(q keys.Queue) (*engine.Queue, error) {
					return engine.NewQueue(engine.QueueOptions{Client: c, Prefix: q.Prefix, Name: q.Name})
				}
				l, err := audit.New(audit.Options{Client: c})
				require.NoError(t, err)
				o.Audit, o.Operations = l, book.New(c, false)
			})
			good, err := engine.NewQueue(engine.QueueOptions{Client: b.client, Prefix: b.queue.Prefix, Name: "email"})
			require.NoError(t, err)
			job, err := good.Add(t.Context(), "send", nil, engine.JobOptions{Delay: time.Hour})
			require.NoError(t, err)
			snap := *b.monitor.Snapshot()
			q := *snap.Queues[0]
			q.Counts = map[keys.State]int64{keys.Delayed: 1, keys.Failed: 1}
			snap.Queues[0] = &q
			if name == "restricted" {
				snap.WorkersErr, snap.Redis.Known, snap.Redis.Err = "CLIENT LIST is refused: it needs +client|list", false, "INFO is refused: it needs +info"
			} else {
				snap.At, snap.Err = time.Now().Add(-time.Minute), errors.New("redis does not answer")
			}
			b.monitor.publish(&snap)
			b.walkInTrouble(job.ID, name, tt.worst)
		})
	}
}

// walkInTrouble asks everything at once.
func (b *bench) walkInTrouble(id, name string, worst int) {
	var wg sync.WaitGroup
	for _, route := range b.Routes() {
		method, path, _ := strings.Cut(route, " ")
		if method != http.MethodGet || path == "/live" || path == "/readyz" {
			continue
		}
		wg.Go(func() {
			began := time.Now()
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, FillIn(b.t, path, id), nil)
			r.Host = "127.0.0.1:8080"
			b.Handler().ServeHTTP(w, r)
			body := w.Body.String()
			if took := time.Since(began); took > 2*requestBudget {
				b.t.Errorf("%s took %s", path, took)
			}
			if w.Code > worst || w.Code == http.StatusInternalServerError {
				b.t.Errorf("%s: %d %s", path, w.Code, clip(body, 500))
			}
			if _, page := b.views[path]; !page {
				return
			}
			if !strings.Contains(body, "</html>") {
				b.t.Errorf("%s is no page: %s", path, clip(body, 300))
			}
			want := "These figures are"
			switch {
			case name != "restricted":
			case path == "/workers":
				want = "client|list"
			case path == "/redis":
				want = "INFO is refused"
			default:
				want = "<main"
			}
			if !strings.Contains(body, want) && !strings.Contains(body, "Redis does not answer") {
				b.t.Errorf("%s does not say %q", path, want)
			}
		})
	}
	wg.Wait()
}

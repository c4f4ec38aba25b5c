package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"

	"github.com/stretchr/testify/require"
)

// listening runs a server on a port of its own.
func (b *bench) listening() string {
	b.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b.t, err)
	served := make(chan error, 1)
	go func() { served <- b.Serve(l) }()
	b.t.Cleanup(func() {
		_ = b.http.Close()
		require.NoError(b.t, <-served)
	})
	return l.Addr().String()
}

// TestABodyThatNeverComesEnds: a request ends although its sender keeps it open.
func TestABodyThatNeverComesEnds(t *testing.T) {
	for _, path := range []string{"/login", "/zone", "/queues/email/pause", "/nowhere"} {
		b := newBench(t)
		require.LessOrEqual(t, b.http.ReadTimeout, requestBudget)
		require.NotZero(t, b.http.ReadTimeout)
		b.http.ReadTimeout = 50 * time.Millisecond
		at := b.listening()
		c, err := net.Dial("tcp", at)
		require.NoError(t, err)
		require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
		_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nname=", path, at)
		require.NoError(t, err)
		said, err := io.ReadAll(c)
		require.NoError(t, err, "%s: the connection ends", path)
		require.True(t, strings.HasPrefix(string(said), "HTTP/1.1 4"), "%s: %.300s", path, said)
		_ = c.Close()
	}
}

// TestAStreamOutlivesTheTimeForAnswers: only what has an end is cut.
func TestAStreamOutlivesTheTimeForAnswers(t *testing.T) {
	b := newBench(t)
	require.LessOrEqual(t, b.http.WriteTimeout, requestBudget+answerSlack)
	require.NotZero(t, b.http.WriteTimeout)
	b.http.ReadTimeout, b.http.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond
	res, err := http.Get("http://" + b.listening() + "/live?topics=/")
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
		found := false
		for !found && lines.Scan() {
			found = lines.Text() == "event: beat"
		}
		require.True(t, found, "the stream goes on")
		b.recount()
	}
}

// deadlines notes the last deadline for an answer.
type deadlines struct {
	*httptest.ResponseRecorder
	last time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.last = at
	return nil
}

// TestADownloadHasTimeForItsSize: a slow line gets all of a long payload.
func TestADownloadHasTimeForItsSize(t *testing.T) {
	b := newBench(t)
	id := b.add(1, engine.JobOptions{})[0]
	require.NoError(t, b.client.HSet(t.Context(), b.queue.JobKey(id), "data", `"`+strings.Repeat("x", 30<<20)+`"`).Err())
	for path, atLeast := range map[string]time.Duration{"/queues/email/jobs/" + id + "/data": 4 * time.Minute, "/queues/email/export?state=waiting": 12 * time.Second} {
		d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "127.0.0.1"
		start := time.Now()
		b.Handler().ServeHTTP(d, r)
		require.Equal(t, http.StatusOK, d.Code)
		require.GreaterOrEqual(t, d.last.Sub(start), atLeast, path)
	}
}

package interop

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/testbullpen"

	"github.com/stretchr/testify/require"
)

// buildBinary builds the product once.
var buildBinary = sync.OnceValues(testbullpen.Build)

const binaryConfig = `listen: 127.0.0.1:0
redis: {url: "unix://%s"}
shutdown_grace: %s
queues:
  q:
    policy: {concurrency: 3, lock_duration: 1s, stalled_interval: 1s, max_stalled: 10}
    worker: {name: %s, http: {url: "%s", timeout: 30s}}
`

// startBinary runs the product with one HTTP worker; it is killed when the test ends, if it still runs.
func startBinary(w *world, name, url, grace string) *testbullpen.Process {
	w.t.Helper()
	path, err := buildBinary()
	require.NoError(w.t, err)
	config := filepath.Join(w.t.TempDir(), "bullpen.yaml")
	text := fmt.Sprintf(binaryConfig, w.server.Socket, grace, name, url)
	require.NoError(w.t, os.WriteFile(config, []byte(text), 0o600))
	return testbullpen.Start(w.t, testbullpen.Options{Path: path, Args: []string{"-config", config}})
}

// gate is a server whose answers wait until they are let go.
type gate struct {
	*httptest.Server
	tally *tally
	open  chan struct{}
}

func newGate(t *testing.T) *gate {
	g := &gate{tally: newTally(), open: make(chan struct{})}
	g.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, end := g.tally.begin(r.Header.Get("Bullpen-Job-Id"))
		defer end()
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client has gone
		select {
		case <-g.open:
			rw.WriteHeader(http.StatusNoContent)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(g.Close)
	return g
}

// awaitRunning waits until n jobs are with the server: one may be active before.
func (w *world) awaitRunning(g *gate, n int) {
	w.t.Helper()
	w.await(fmt.Sprintf("%d jobs run", n), func() bool { return g.tally.running() == n })
}

func (w *world) awaitCounts(state string, n int) {
	w.t.Helper()
	w.await(fmt.Sprintf("%d jobs are %s", n, state), func() bool { return w.counts()[state] == n })
}

// addPlain has Node add n jobs.
func (w *world) addPlain(n int) (ids []string) {
	w.t.Helper()
	w.ask(reference, "addMany", map[string]any{"count": n}, &ids)
	return ids
}

// TestBinaryKilledInMidJob kills the product while it runs jobs that Node added; another process of it finishes them.
func TestBinaryKilledInMidJob(t *testing.T) {
	w := newWorld(t)
	g := newGate(t)
	ids := w.addPlain(5)
	first := startBinary(w, "first", g.URL, "10s")
	w.awaitRunning(g, 3)
	first.Kill()
	close(g.open)
	startBinary(w, "second", g.URL, "10s")
	w.awaitCounts("completed", 5)
	w.sound()
	recovered := 0
	for _, id := range ids {
		j, err := w.q.Job(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, "second", j.ProcessedBy)
		require.Equal(t, 1, j.AttemptsMade)
		recovered += j.StalledCount
	}
	require.Equal(t, 3, recovered)
}

// TestBinaryTerminated ends the product with SIGTERM: what runs is finished, nothing more is taken, the exit is clean.
func TestBinaryTerminated(t *testing.T) {
	w := newWorld(t)
	g := newGate(t)
	w.addPlain(5)
	b := startBinary(w, "only", g.URL, "20s")
	w.awaitRunning(g, 3)
	b.Signal(syscall.SIGTERM)
	time.AfterFunc(500*time.Millisecond, func() { close(g.open) })
	require.Zero(t, b.Exit())
	counts := w.counts()
	require.Equal(t, []int{3, 2, 0}, []int{counts["completed"], counts["waiting"], counts["active"]})
	w.sound()
}

// TestBinaryOutOfGrace ends the product while a job hangs: it is handed back to waiting at once, no attempt consumed, and
// the exit says so.
func TestBinaryOutOfGrace(t *testing.T) {
	w := newWorld(t)
	g := newGate(t)
	ids := w.addPlain(1)
	b := startBinary(w, "only", g.URL, "300ms")
	w.awaitRunning(g, 1)
	require.Equal(t, 1, b.Terminate())
	require.Contains(t, b.Said(), ids[0])
	j, err := w.q.Job(t.Context(), ids[0])
	require.NoError(t, err)
	require.Zero(t, j.AttemptsMade)
	state, err := w.q.State(t.Context(), ids[0])
	require.NoError(t, err)
	require.Equal(t, keys.Waiting, state)
	w.sound()
}

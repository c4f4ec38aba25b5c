package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// logLines collects what is logged.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logLines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// count is how many lines contain a text.
func (l *logLines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// testLogger shows a worker's log when the test fails.
func testLogger(t testing.TB) *slog.Logger {
	l := &logLines{}
	t.Cleanup(func() {
		if t.Failed() {
			l.mu.Lock()
			defer l.mu.Unlock()
			t.Logf("log:\n%s", l.buf.String())
		}
	})
	return l.logger()
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

// TestTelemetry has a collector receive the run of a job whose HTTP worker was told of the same trace.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var received bytes.Buffer
	traceparent := ""
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/v1/traces" {
			_, _ = io.Copy(&received, r.Body)
		}
	}))
	defer collector.Close()
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		traceparent = r.Header.Get("Traceparent")
	}))
	defer hook.Close()

	srv := testredis.Start(t)
	p := start(t, testbullpen.Environ(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL), "-config", file(t, fmt.Sprintf(`
redis: {url: "unix://%s"}
queues:
  hooks: {worker: {http: {url: "%s"}}}
`, srv.Socket, hook.URL)))
	p.awaitReady(http.StatusOK)
	added := run(t, testbullpen.Environ(t), "", "add", "hooks", "hello", "-redis", "unix://"+srv.Socket)
	require.Equal(t, exitFine, added.code, added.err)
	eventually(t, func() (bool, string) {
		mu.Lock()
		defer mu.Unlock()
		return traceparent != "", "no request with a trace"
	})
	p.terminate()
	mu.Lock()
	defer mu.Unlock()
	parts := strings.Split(traceparent, "-")
	require.Len(t, parts, 4, traceparent)
	for _, text := range []string{"process hooks", "complete hooks", "bullmq.job.id", "service.version"} {
		require.Contains(t, received.String(), text)
	}
	var trace []byte
	_, err := fmt.Sscanf(parts[1], "%x", &trace)
	require.NoError(t, err)
	require.True(t, bytes.Contains(received.Bytes(), trace), "the trace that the worker was told of was exported")
}

// TestTelemetryWithoutCollector must neither fail nor hang.
func TestTelemetryWithoutCollector(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	p := start(t, testbullpen.Environ(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"), "-redis", "unix://"+srv.Socket)
	p.awaitReady(http.StatusOK)
	p.terminate()
}

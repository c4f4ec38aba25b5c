package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAddedJobsCarryTheTrace: who asks with a trace finds the job in it.
func TestAddedJobsCarryTheTrace(t *testing.T) {
	b := newBench(t)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for header, want := range map[string]string{
		parent:             `{"traceparent":"` + parent + `","tracestate":"a=b"}`,
		"00-nonsense-01":   "",
		parent + `","x":"`: "",
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/queues/email/jobs", strings.NewReader(`{"name":"send"}`))
		r.Host = "127.0.0.1:8080"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", "http://127.0.0.1:8080")
		r.Header.Set("Traceparent", header)
		r.Header.Set("Tracestate", "a=b")
		a := b.do(r)
		require.Equal(t, http.StatusOK, a.status, a.body)
		e := b.audit.take()
		j, err := b.queue.Job(t.Context(), e[len(e)-1].Jobs[0])
		require.NoError(t, err)
		require.Equal(t, want, j.Opts.TelemetryContext)
	}
}

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

// TestAlarm starts with a webhook and a Prometheus: the end of an alert that an older version told reaches the one, and
// the alerts page shows what the other says. Neither address is in the log.
func TestAlarm(t *testing.T) {
	t.Parallel()
	var got atomic.Value
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			got.Store(string(body))
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(other.Close)
	srv := testredis.Start(t)
	told := `{"labels":{"alertname":"BullMQGone","severity":"critical","redis":"main"},"annotations":{},"starts_at":"2026-01-01T00:00:00Z"}`
	require.NoError(t, srv.Client(t).HSet(t.Context(), "bullpen:notify:main", "f00", told).Err())
	p := start(t, testbullpen.Environ(t), "-config", file(t, fmt.Sprintf(`
redis: {url: "unix://%s", alias: main}
public_url: https://bullpen.example
notify: {webhook: "%s/s3cret"}
prometheus_url: %s
`, srv.Socket, other.URL, strings.Replace(other.URL, "//", "//ada:s3cret@", 1))))
	eventually(t, func() (bool, string) {
		text, _ := got.Load().(string)
		return strings.Contains(text, `"status":"resolved","labels":{"alertname":"BullMQGone"`) &&
			strings.Contains(text, `"externalURL":"https://bullpen.example"`), text
	})
	eventually(t, func() (bool, string) {
		_, page := p.Get("alerts")
		return strings.Contains(page, "it answers 418 I&#39;m a teapot") && strings.Contains(page, "The last message was taken"), page
	})
	p.terminate()
	require.NotContains(t, p.Said(), "s3cret")
}

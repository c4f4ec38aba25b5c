package alerting

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// receiver takes what the Alertmanager sends, as somebody's pager would.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex
	status map[string]string // the last of an alert, by its name and severity
	began  time.Time
	t      *testing.T
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, status: map[string]string{}, began: time.Now()}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP takes one message.
func (r *receiver) ServeHTTP(_ http.ResponseWriter, req *http.Request) {
	var message struct {
		Alerts []struct {
			Status      string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
	if err := json.NewDecoder(req.Body).Decode(&message); err != nil {
		r.t.Errorf("the Alertmanager sends what is no message: %v", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range message.Alerts {
		key := a.Labels["alertname"] + " " + a.Labels["severity"]
		if r.status[key] != a.Status && a.Labels["severity"] != "none" {
			r.t.Logf("%4.1f s %s: %s is %s: %s", time.Since(r.began).Seconds(), req.URL.Path, key, a.Status, a.Annotations["description"])
		}
		r.status[key] = a.Status
	}
}

// of returns the last status that was sent of an alert.
func (r *receiver) of(alert string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status[alert]
}

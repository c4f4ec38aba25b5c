package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// downstream is the service the workers post to.
type downstream struct {
	*httptest.Server

	mu sync.Mutex
	// answer decides about a request; nil answers 200 at once.
	answer   func(w http.ResponseWriter, r *http.Request)
	calls    map[string]int // by idempotency key
	inFlight int
	most     int
	busy     time.Duration // summed over all requests
}

func newDownstream(t *testing.T, answer func(http.ResponseWriter, *http.Request)) *downstream {
	t.Helper()
	d := &downstream{answer: answer, calls: map[string]int{}}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

// ServeHTTP counts a request and answers it.
func (d *downstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	began := time.Now()
	d.mu.Lock()
	d.calls[r.Header.Get("Idempotency-Key")]++
	d.inFlight++
	d.most = max(d.most, d.inFlight)
	answer := d.answer
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.inFlight--
		d.busy += time.Since(began)
	}()
	if answer != nil {
		answer(w, r)
	}
}

// running is how many requests are being answered now.
func (d *downstream) running() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.inFlight
}

// forget starts counting anew and returns what was the most at once.
func (d *downstream) forget() (most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	most = d.most
	d.most = d.inFlight
	return most
}

// takes makes an answer that takes a time.
func takes(d time.Duration) func(http.ResponseWriter, *http.Request) {
	return func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
}

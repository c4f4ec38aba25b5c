package metrics

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes is how many scrapes are answered at once; the rest get 503.
const maxScrapes = 4

// Handler serves the metrics. With a token, a request must carry it as a bearer token.
func (m *Metrics) Handler(token string) http.Handler {
	h := &scrapes{
		m: m, answers: map[wanted]*answer{}, slots: make(chan struct{}, maxScrapes),
		binary: promhttp.HandlerFor(m, promhttp.HandlerOpts{
			ErrorLog: scrapeLog{m}, ErrorHandling: promhttp.ContinueOnError, CoalesceGather: true,
		}),
	}
	if token == "" {
		return h
	}
	return requireToken(h, token)
}

// requireToken compares hashes, so that the time it takes tells nothing of the token.
func requireToken(h http.Handler, token string) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(given))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
			http.Error(w, "The metrics need a bearer token.", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// scrapeLog logs and counts what goes wrong in a scrape.
type scrapeLog struct{ *Metrics }

// Println implements promhttp.Logger.
func (l scrapeLog) Println(v ...any) {
	l.failures.Inc()
	l.o.Logger.Warn("a scrape is incomplete", "component", "metrics", "err", fmt.Sprint(v...))
}

package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requests counts what our own server answers. Every label has few values: routes are patterns, never addresses.
type requests struct {
	all      *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newRequests() *requests {
	return &requests{
		all: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bullpen_http_requests_total", Help: "Requests answered, by route, method and class of status." + processHelp,
		}, []string{"route", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "bullpen_http_request_duration_seconds", Help: "Time to answer a request, by route. Event streams are left out." + processHelp,
			Buckets: []float64{0.01, 0.05, 0.25, 1, 5},
		}, []string{"route"}),
	}
}

// Request records one answered request. took is 0 for an event stream, which lasts as long as somebody looks.
func (m *Metrics) Request(route, method string, code int, took time.Duration) {
	switch method {
	case "GET", "HEAD", "POST":
	default:
		method = "other"
	}
	m.requests.all.WithLabelValues(route, method, strconv.Itoa(code/100)+"xx").Inc()
	if took > 0 {
		m.requests.duration.WithLabelValues(route).Observe(took.Seconds())
	}
}

package metrics

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"

	"github.com/prometheus/common/expfmt"
)

// scrapes answers scrapes. Those that ask for the same at the same time get one answer.
type scrapes struct {
	m      *Metrics
	binary http.Handler // for protobuf, which carries native histograms
	slots  chan struct{}

	mu      sync.Mutex
	answers map[wanted]*answer // under way
}

// wanted is the form of an answer.
type wanted struct {
	format expfmt.Format
	gzip   bool
}

// answer is one being made: body is there when done is closed.
type answer struct {
	done chan struct{}
	body []byte
	err  error
}

// ServeHTTP implements http.Handler.
func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		http.Error(w, "Too many scrapes at once. Try again later.", http.StatusServiceUnavailable)
		return
	}
	want := wanted{negotiate(r.Header), takesGzip(r.Header)}
	switch want.format.FormatType() {
	case expfmt.TypeTextPlain, expfmt.TypeOpenMetrics:
	default:
		s.binary.ServeHTTP(w, r)
		return
	}
	a := s.answer(want)
	if a.err != nil {
		scrapeLog{s.m}.Println(a.err)
		http.Error(w, "The metrics could not be written: "+a.err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", string(want.format))
	h.Add("Vary", "Accept-Encoding")
	if want.gzip {
		h.Set("Content-Encoding", "gzip")
	}
	_, _ = w.Write(a.body)
}

// answer makes an answer, or waits for the one that is being made.
func (s *scrapes) answer(want wanted) *answer {
	s.mu.Lock()
	a := s.answers[want]
	if a != nil {
		s.mu.Unlock()
		<-a.done
		return a
	}
	a = &answer{done: make(chan struct{})}
	s.answers[want] = a
	s.mu.Unlock()
	a.body, a.err = s.m.render(want)
	s.mu.Lock()
	delete(s.answers, want)
	s.mu.Unlock()
	close(a.done)
	return a
}

// render writes all metrics. What cannot be gathered is logged and left out.
func (m *Metrics) render(want wanted) ([]byte, error) {
	families, err := m.Gather()
	if err != nil {
		scrapeLog{m}.Println(err)
	}
	var body bytes.Buffer
	e := exposition{w: &body, open: want.format.FormatType() == expfmt.TypeOpenMetrics}
	if !want.gzip {
		err := e.write(families)
		return body.Bytes(), err
	}
	// The text repeats itself so much that more effort gains little.
	z, _ := gzip.NewWriterLevel(&body, gzip.BestSpeed) // the level is one there is
	e.w = z
	if err := e.write(families); err != nil {
		return nil, err
	}
	err = z.Close()
	return body.Bytes(), err
}

// negotiate chooses the format of an answer.
func negotiate(h http.Header) expfmt.Format {
	return expfmt.NegotiateAccept(h, expfmt.DefaultOpenMetricsAcceptedFormats()...)
}

// takesGzip reports whether a request accepts an answer in gzip.
func takesGzip(h http.Header) bool {
	for part := range strings.SplitSeq(h.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(part, ";")
		if strings.TrimSpace(coding) == "gzip" {
			return strings.ReplaceAll(quality, " ", "") != "q=0"
		}
	}
	return false
}

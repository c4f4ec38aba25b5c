package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/monitor"
	"bullpen/internal/words"

	"github.com/labstack/echo/v4"
)

const (
	heartbeat = 15 * time.Second
	// writeLimit is how long one event may take to leave; a reader that is gone is noticed by it.
	writeLimit = 10 * time.Second
	maxTopics  = 8
)

// beat is the event that comes with every snapshot: how old the figures are.
type beat struct {
	// At is when they were read, Now the server's clock, so that a browser's wrong clock does no harm.
	At    string `json:"at,omitempty"`
	Now   string `json:"now"`
	Took  string `json:"took"`
	Clock string `json:"clock"`
	// Down says that the last pass failed.
	Down bool `json:"down"`
}

// live is the event stream of one browser tab: /live?topics=<address of a view>, repeated for several.
func (s *Server) live(c echo.Context) error {
	topics := c.QueryParams()["topics"]
	if len(topics) == 0 || len(topics) > maxTopics {
		return problem(http.StatusBadRequest, "Not a stream", "Name one to %d views in topics.", maxTopics)
	}
	who, err := s.identify(c.Request())
	if err != nil {
		return err
	}
	slices.Sort(topics)
	ctx := c.Request().Context()
	st, err := s.hub.join(ctx, s, slices.Compact(topics), who)
	if err != nil {
		return err
	}
	defer s.hub.leave(st)
	w := newEventWriter(c)
	after := s.resumeAt(cmp.Or(c.Request().Header.Get("Last-Event-ID"), c.QueryParam("after")))
	if after, err = s.send(w, st, after, s.o.Monitor.Snapshot()); err != nil {
		return nil //nolint:nilerr // the reader went away
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.stopping:
			return nil
		case <-tick.C:
			if _, err := s.identify(c.Request()); err != nil {
				return nil //nolint:nilerr // the session has ended, and so does its view
			}
			err = w.write([]byte(": still here\n\n"))
		case <-st.wake:
			after, err = s.send(w, st, after, nil)
		}
		if err != nil {
			return nil //nolint:nilerr // the reader went away
		}
	}
}

// send writes what changed after a pass, and the beat.
func (s *Server) send(w eventWriter, st *stream, after int64, snap *monitor.Snapshot) (int64, error) {
	changed, now, last := s.hub.since(st, after)
	if snap == nil {
		snap = last
	}
	var b bytes.Buffer
	slices.SortFunc(changed, func(a, b update) int { return strings.Compare(a.Topic+a.Region, b.Topic+b.Region) })
	for _, u := range changed {
		event(&b, "", "region", u)
	}
	if snap != nil {
		// The id goes on the last event, so that a connection cut in between reads everything again.
		event(&b, s.eventID(now), "beat", s.beat(snap))
	}
	return now, w.write(b.Bytes())
}

func (s *Server) beat(snap *monitor.Snapshot) beat {
	b := beat{Now: s.o.Clock().UTC().Format(time.RFC3339Nano), Down: snap.Err != nil}
	if !snap.At.IsZero() {
		b.At = snap.At.UTC().Format(time.RFC3339Nano)
		b.Took, b.Clock = words.Exact(snap.Took), snap.At.In(s.o.Zone).Format("15:04:05")
	}
	return b
}

// eventID names a pass of this process.
func (s *Server) eventID(seq int64) string { return s.boot + "." + strconv.FormatInt(seq, 10) }

// resumeAt is the pass a reconnecting reader has seen; 0 when it was another process's.
func (s *Server) resumeAt(id string) int64 {
	boot, seq, _ := strings.Cut(id, ".")
	if boot != s.boot {
		return 0
	}
	n, err := strconv.ParseInt(seq, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// event appends one server-sent event. The encoder writes one line, which ends the data.
func event(b *bytes.Buffer, id, name string, data any) {
	if id != "" {
		fmt.Fprintf(b, "id: %s\n", id)
	}
	fmt.Fprintf(b, "event: %s\ndata: ", name)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false) // a stream is no page; escapes would triple the markup in it
	_ = enc.Encode(data)     // strings and bools, into memory
	b.WriteByte('\n')
}

// eventWriter writes to a stream, each time with a deadline of its own: the server's is for answers that end.
type eventWriter struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func newEventWriter(c echo.Context) eventWriter {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	c.Response().WriteHeader(http.StatusOK)
	return eventWriter{w: c.Response(), rc: http.NewResponseController(c.Response())}
}

func (e eventWriter) write(p []byte) error {
	// Not every connection of a test has deadlines; a real one does.
	_ = e.rc.SetWriteDeadline(time.Now().Add(writeLimit))
	if _, err := e.w.Write(p); err != nil {
		return err
	}
	return e.rc.Flush()
}

package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/templates"

	"github.com/stretchr/testify/require"
)

// sse reads one stream.
type sse struct {
	t      *testing.T
	events chan sseEvent
	cancel context.CancelFunc
	header http.Header
}

type sseEvent struct{ id, name, data string }

// open starts a stream of views; it ends with the test.
func (b *bench) open(server *httptest.Server, lastID string, topics ...string) *sse {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/live?"+url.Values{"topics": topics}.Encode(), nil)
	require.NoError(b.t, err)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := server.Client().Do(req)
	require.NoError(b.t, err)
	require.Equal(b.t, http.StatusOK, res.StatusCode)
	s := &sse{t: b.t, events: make(chan sseEvent, 1000), cancel: cancel, header: res.Header}
	go func() {
		defer res.Body.Close()
		defer close(s.events)
		scan := bufio.NewScanner(res.Body)
		scan.Buffer(nil, 10<<20)
		var e sseEvent
		for scan.Scan() {
			switch line := scan.Text(); {
			case line == "":
				if e.name != "" {
					s.events <- e
				}
				e = sseEvent{}
			case strings.HasPrefix(line, "id: "):
				e.id = line[4:]
			case strings.HasPrefix(line, "event: "):
				e.name = line[7:]
			case strings.HasPrefix(line, "data: "):
				e.data = line[6:]
			}
		}
	}()
	b.t.Cleanup(cancel)
	return s
}

// pass reads up to the next beat: the regions that came before it and the beat's id.
func (s *sse) pass() (regions map[string]string, id string) {
	s.t.Helper()
	regions = map[string]string{}
	for {
		select {
		case e, ok := <-s.events:
			require.True(s.t, ok, "the stream ended")
			if e.name == "beat" {
				return regions, e.id
			}
			var u update
			require.NoError(s.t, json.Unmarshal([]byte(e.data), &u))
			regions[u.Region] = u.HTML
		case <-time.After(10 * time.Second):
			s.t.Fatal("no event")
		}
	}
}

func (b *bench) serveLive() *httptest.Server {
	server := httptest.NewServer(b.Handler())
	b.t.Cleanup(server.Close)
	return server
}

// next publishes a snapshot with other counts.
func (b *bench) next(waiting int64) {
	snap := *b.monitor.Snapshot()
	q := *snap.Queues[0]
	q.Counts = map[keys.State]int64{keys.Waiting: waiting}
	snap.Queues, snap.At = []*monitor.Queue{&q}, time.Now()
	b.monitor.publish(&snap)
}

func TestStreamSendsWhatChanged(t *testing.T) {
	b := newBench(t)
	server := b.serveLive()
	s := b.open(server, "", "/")
	require.Equal(t, "text/event-stream", s.header.Get("Content-Type"))
	require.Equal(t, "no", s.header.Get("X-Accel-Buffering"))
	first, _ := s.pass()
	require.Contains(t, first, "queues")
	require.Contains(t, first, "finding")
	require.Contains(t, first, "nav")
	require.Equal(t, "1\u00a0queue keeps up", first["title"])

	b.next(7)
	changed, id := s.pass()
	has(t, changed["queues"], ">7</a>")
	require.NotContains(t, changed, "finding", "what is the same is not sent")
	require.NotContains(t, changed, "nav")

	b.next(7)
	same, _ := s.pass()
	require.Empty(t, same)

	s.cancel()
	b.next(8) // nobody may be listening now
	resumed := b.open(server, id, "/")
	again, _ := resumed.pass()
	if again["queues"] == "" { // it came back before the new figures were drawn
		again, _ = resumed.pass()
	}
	has(t, again["queues"], ">8</a>")
	other := b.open(server, "otherproc.5", "/")
	whole, _ := other.pass()
	require.Contains(t, whole, "finding", "the id of another process says nothing")
}

func TestResumeSendsOnlyWhatIsNew(t *testing.T) {
	b := newBench(t)
	server := b.serveLive()
	keep := b.open(server, "", "/") // so that the topic lives on
	keep.pass()
	b.next(3)
	_, id := keep.pass()
	s := b.open(server, id, "/")
	got, _ := s.pass()
	require.Empty(t, got)
}

func TestOneDrawingServesAll(t *testing.T) {
	var drawn atomic.Int64
	b := newBench(t)
	b.views["/counted"] = func(context.Context, viewRequest) (view, error) {
		return view{title: fmt.Sprint(drawn.Add(1)), live: []region{{"x", templates.Banners(nil)}}}, nil
	}
	server := b.serveLive()
	var streams []*sse
	for range 20 {
		s := b.open(server, "", "/counted")
		s.pass()
		streams = append(streams, s)
	}
	require.Equal(t, int64(1), drawn.Load())
	b.next(1)
	for _, s := range streams {
		got, _ := s.pass()
		require.Equal(t, "2", got["title"])
	}
	require.Equal(t, int64(2), drawn.Load())
}

func TestStreamOfAQueueShowsNewJobs(t *testing.T) {
	b := newBench(t)
	b.recount()
	s := b.open(b.serveLive(), "", "/queues/email?state=waiting")
	first, _ := s.pass()
	has(t, first["jobs"], "No jobs wait")
	ids := b.add(1, engine.JobOptions{})
	b.recount()
	got, _ := s.pass()
	has(t, got["jobs"], ids[0])
	has(t, got["tabs"], "<span>1</span>")
}

func TestStreamTellsTroubleAndGoesOn(t *testing.T) {
	b := newBench(t)
	s := b.open(b.serveLive(), "", "/queues/email")
	s.pass()
	gone := *b.monitor.Snapshot()
	keep := gone.Queues
	gone.Queues, gone.At = nil, time.Now()
	b.monitor.publish(&gone)
	got, _ := s.pass()
	has(t, got["banners"], "No queue named email")
	down := gone
	down.Queues, down.Err, down.At = keep, errors.New("connection refused"), time.Now().Add(-time.Minute)
	b.monitor.publish(&down)
	got, _ = s.pass()
	has(t, got["banners"], "These figures are")
}

func TestPanickingViewDoesNotEndStreams(t *testing.T) {
	b := newBench(t)
	b.views["/bad"] = func(context.Context, viewRequest) (view, error) { panic("bad page") }
	s := b.open(b.serveLive(), "", "/bad", "/")
	got, _ := s.pass()
	has(t, got["banners"]+got["finding"], "queue keeps up")
	b.next(4)
	s.pass()
}

func TestStreamRefusesWhatIsNoView(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/live", "/live?topics=nope", "/live?topics=/metrics", "/live?topics=https://evil.example/", "/live?topics=/" + strings.Repeat("a", 5000)} {
		require.GreaterOrEqual(t, b.get(path).status, 400, clip(path, 40))
	}
}

func TestFingerprintIgnoresTime(t *testing.T) {
	seed := maphash.MakeSeed()
	a := `<td><time datetime="x" data-rel>70 s ago</time></td>`
	require.Equal(t, fingerprint(seed, a), fingerprint(seed, strings.Replace(a, "70 s", "71 s", 1)))
	require.NotEqual(t, fingerprint(seed, a), fingerprint(seed, strings.Replace(a, `"x"`, `"y"`, 1)))
	require.NotEqual(t, fingerprint(seed, a), fingerprint(seed, a+"!"))
	require.NotPanics(t, func() { fingerprint(seed, "<time") })
	require.NotPanics(t, func() { fingerprint(seed, "<time>") })
}

func TestMatchPrefersLiterals(t *testing.T) {
	b := newBench(t)
	b.views["/queues/:queue/policy"] = b.views["/"]
	b.views["/queues/:queue/:other"] = b.views["/"]
	pattern, params := b.match("/queues/a~2Fb/policy")
	require.Equal(t, "/queues/:queue/policy", pattern)
	require.Equal(t, map[string]string{"queue": "a/b"}, params)
	pattern, _ = b.match("/nope/x/y/z")
	require.Empty(t, pattern)
	pattern, _ = b.match("/queues/")
	require.Empty(t, pattern)
}

// TestSilenceIsTold: a collector that is stuck publishes nothing, and readers hear that the figures get old.
func TestSilenceIsTold(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Tick = 20 * time.Millisecond })
	s := b.open(b.serveLive(), "", "/")
	s.pass()
	for {
		got, _ := s.pass()
		if strings.Contains(got["banners"], "These figures are") {
			require.NotContains(t, got, "queues", "nothing else was drawn")
			return
		}
	}
}

// TestSlowViewsKeepTheirPage: a view that Redis holds up leaves the page as it is, and the warning still comes.
func TestSlowViewsKeepTheirPage(t *testing.T) {
	b := newBench(t)
	slow := make(chan struct{})
	b.views["/slow"] = func(ctx context.Context, _ viewRequest) (view, error) {
		select {
		case <-slow:
			<-ctx.Done()
			return view{}, ctx.Err()
		default:
			return view{title: "fine", live: []region{{"x", templates.Banners([]templates.Notice{{Strong: "here"}})}}}, nil
		}
	}
	s := b.open(b.serveLive(), "", "/slow")
	first, _ := s.pass()
	has(t, first["x"], "here")
	close(slow)
	snap := *b.monitor.Snapshot()
	snap.Err, snap.At = errors.New("i/o timeout"), time.Now().Add(-time.Minute)
	b.monitor.publish(&snap)
	got, _ := s.pass()
	has(t, got["banners"], "i/o timeout")
	require.NotContains(t, got, "x")
}

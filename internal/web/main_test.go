package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bullpen/internal/audit"
	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor"
	"bullpen/internal/monitor/alerting"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var redisServer *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &redisServer)) }

// fakeMonitor is a collector whose snapshots a test makes. Counts come from Redis when read is called.
type fakeMonitor struct {
	mu        sync.Mutex
	snap      *monitor.Snapshot
	subs      map[chan *monitor.Snapshot]bool
	refreshed int
	policies  map[keys.Queue]policy.Policy
	statuses  []alerting.Status
	readings  map[int]alerting.Reading
}

func newFakeMonitor(queues ...*monitor.Queue) *fakeMonitor {
	return &fakeMonitor{
		subs: map[chan *monitor.Snapshot]bool{}, policies: map[keys.Queue]policy.Policy{},
		snap: &monitor.Snapshot{At: time.Now(), Took: 2 * time.Millisecond, Queues: queues, Redis: monitor.Redis{Known: true, Up: true}},
	}
}

func (f *fakeMonitor) Snapshot() *monitor.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.snap
}

func (f *fakeMonitor) Subscribe() (<-chan *monitor.Snapshot, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan *monitor.Snapshot, 1)
	f.subs[ch] = true
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, ch)
	}
}

func (f *fakeMonitor) Policy(q keys.Queue) policy.Policy { return f.policies[q].WithDefaults() }

func (f *fakeMonitor) Alerts() []alerting.Status { return f.statuses }

func (f *fakeMonitor) AlertReading(i int) (alerting.Reading, bool) {
	r, ok := f.readings[i]
	return r, ok
}

func (f *fakeMonitor) Refresh() {
	f.mu.Lock()
	f.refreshed++
	snap := *f.snap
	f.mu.Unlock()
	snap.At = time.Now().Add(snap.Took + time.Millisecond)
	f.publish(&snap)
}

// publish makes snap the last one and sends it to all.
func (f *fakeMonitor) publish(snap *monitor.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.snap = snap
	for ch := range f.subs {
		select {
		case <-ch:
		default:
		}
		ch <- snap
	}
}

// recorder is an Auditor that keeps what it is told.
type recorder struct {
	mu      sync.Mutex
	entries []Entry
}

func (r *recorder) Record(_ context.Context, e Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
}

func (r *recorder) Read(context.Context, audit.Query) (audit.Page, error) { return audit.Page{}, nil }

func (r *recorder) take() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.entries
	r.entries = nil
	return out
}

// fixed is an Authenticator that knows one person.
type fixed struct{ who Identity }

func (f fixed) Identify(*http.Request) (Identity, error) { return f.who, nil }

// noQueues is for servers that are not asked for any.
func noQueues(keys.Queue) (*engine.Queue, error) { return nil, errors.New("no queues here") }

// bench is a server with one queue on a real Redis.
type bench struct {
	*Server
	t       *testing.T
	monitor *fakeMonitor
	audit   *recorder
	client  *redis.Client
	queue   *engine.Queue
}

// newBench makes a server whose snapshot has the queue "email" under a prefix of its own.
func newBench(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, audit: &recorder{}, client: redisServer.Client(t)}
	prefix := redisServer.Prefix()
	b.monitor = newFakeMonitor(&monitor.Queue{Queue: keys.Queue{Prefix: prefix, Name: "email"}, Health: monitor.Healthy, Reason: "Keeps up", Counts: map[keys.State]int64{}})
	o := Options{Monitor: b.monitor, Audit: b.audit, Prefix: prefix, Queue: func(q keys.Queue) (*engine.Queue, error) {
		return engine.NewQueue(engine.QueueOptions{Client: b.client, Prefix: q.Prefix, Name: q.Name})
	}}
	for _, c := range change {
		c(&o)
	}
	s, err := New(o)
	require.NoError(t, err)
	b.Server = s
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
	})
	b.queue, err = o.Queue(keys.Queue{Prefix: prefix, Name: "email"})
	require.NoError(t, err)
	return b
}

// recount puts the queue's counts in Redis into the snapshot.
func (b *bench) recount() {
	b.t.Helper()
	counts, err := b.queue.Counts(b.t.Context())
	require.NoError(b.t, err)
	paused, err := b.queue.IsPaused(b.t.Context())
	require.NoError(b.t, err)
	snap := *b.monitor.Snapshot()
	q := *snap.Queues[0]
	q.Counts, q.Paused = counts, paused
	snap.Queues = slices.Clone(snap.Queues)
	snap.Queues[0], snap.At = &q, time.Now()
	b.monitor.publish(&snap)
}

// add adds jobs named "send" and returns their ids.
func (b *bench) add(n int, o engine.JobOptions) []string {
	b.t.Helper()
	specs := make([]engine.JobSpec, n)
	for i := range specs {
		specs[i] = engine.JobSpec{Name: "send", Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)), Options: o}
	}
	jobs, err := b.queue.AddBulk(b.t.Context(), specs)
	require.NoError(b.t, err)
	ids := make([]string, n)
	for i, j := range jobs {
		ids[i] = j.ID
	}
	return ids
}

// fail adds n jobs and runs a worker until they have failed.
func (b *bench) fail(n int) []string {
	b.t.Helper()
	ids := b.add(n, engine.JobOptions{})
	w, err := engine.NewWorker(engine.WorkerOptions{
		Queue: b.queue, Concurrency: 50,
		Handler: func(context.Context, *engine.Job) (any, error) { return nil, fmt.Errorf("no such <b>host</b>") },
		Blocking: func(name string) redis.UniversalClient {
			o := redisServer.Options()
			o.ClientName, o.MaxRetries, o.ReadTimeout = name, -1, 20*time.Second
			return redis.NewClient(o)
		},
	})
	require.NoError(b.t, err)
	require.NoError(b.t, w.Start(b.t.Context()))
	require.Eventually(b.t, func() bool { return b.count(keys.Failed) >= int64(n) }, 20*time.Second, 5*time.Millisecond)
	_, err = w.Stop(b.t.Context())
	require.NoError(b.t, err)
	b.recount()
	return ids
}

func (b *bench) count(st keys.State) int64 {
	b.t.Helper()
	counts, err := b.queue.Counts(b.t.Context())
	require.NoError(b.t, err)
	return counts[st]
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (b *bench) do(r *http.Request) answer {
	b.t.Helper()
	if r.Host == "example.com" { // httptest's; without a login it is refused
		r.Host = "127.0.0.1:8080"
	}
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, r)
	res := w.Result()
	body, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	a := answer{res.StatusCode, res.Header, string(body)}
	b.holds(r, a)
	return a
}

func (b *bench) get(path string) answer {
	b.t.Helper()
	return b.do(httptest.NewRequest(http.MethodGet, path, nil))
}

// post sends a form as a browser does from one of our own pages.
func (b *bench) post(path string, form url.Values) answer {
	b.t.Helper()
	return b.do(formRequest(path, form))
}

func formRequest(path string, form url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

// call sends JSON to the API as a program does.
func (b *bench) call(path, body string) answer {
	b.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://127.0.0.1:8080")
	return b.do(r)
}

// notice is the text of the notice that the next page would show.
func (b *bench) notice(a answer) string {
	b.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	res := http.Response{Header: a.header}
	for _, c := range res.Cookies() {
		r.AddCookie(c)
	}
	page := b.do(r).body
	i := strings.Index(page, `id="flash"`)
	require.Positive(b.t, i)
	j := strings.Index(page[i:], `data-live="banners"`)
	return page[i : i+j]
}

// dump is everything the queue has in Redis.
func (b *bench) dump() map[string]string {
	b.t.Helper()
	out := map[string]string{}
	ctx := b.t.Context()
	found, err := b.client.Keys(ctx, b.queue.Prefix+":*").Result()
	require.NoError(b.t, err)
	for _, k := range found {
		out[k], err = b.client.Dump(ctx, k).Result()
		require.NoError(b.t, err)
	}
	return out
}

// has wants text on a page; unlike require.Contains it does not print the page.
func has(t *testing.T, page, want string, about ...any) {
	t.Helper()
	if !strings.Contains(page, want) {
		t.Fatalf("%q is missing %v in %d bytes: …%s…", want, about, len(page), clip(page[strings.Index(page, "<main")+1:], 600))
	}
}

// hasNot wants text to be absent.
func hasNot(t *testing.T, page, unwanted string, about ...any) {
	t.Helper()
	if i := strings.Index(page, unwanted); i >= 0 {
		t.Fatalf("%q is there %v: …%s…", unwanted, about, page[max(0, i-100):min(len(page), i+200)])
	}
}

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// faulty is a queue with producers and workers on a Redis that is going to have a bad time.
type faulty struct {
	t      *testing.T
	server *testredis.Server
	proxy  *proxy
	direct *redis.Client // past the proxy
	q      *engine.Queue // through the proxy
	ids    []string
	by     map[string]plan
	done   atomic.Int64 // handlers that returned
	lines  lines
}

// The workers of the fault tests notice a dead one soon, and a job may be recovered as often as it takes.
const (
	faultLock    = time.Second
	faultStalled = 500 * time.Millisecond
)

var faultStalls = 1000

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	// With everysec Redis may answer before it has written, and a kill takes back what a client was told.
	f := &faulty{t: t, server: testredis.Start(t, "--appendfsync", "always"), by: map[string]plan{}}
	f.proxy = startProxy(t, f.server.Socket)
	f.direct = f.server.Client(t)
	f.q = f.queue(f.client(), time.Now)
	require.NoError(t, f.direct.HSet(t.Context(), f.q.Meta(), "opts.maxLenEvents", 1_000_000).Err())
	return f
}

// client goes through the proxy. Its timeout is short, so that a stalled connection is noticed within the test.
func (f *faulty) client() *redis.Client {
	o := f.proxy.options()
	o.ReadTimeout = 3 * time.Second
	c := redis.NewClient(o)
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (f *faulty) queue(c *redis.Client, clock func() time.Time) *engine.Queue {
	f.t.Helper()
	q, err := engine.NewQueue(engine.QueueOptions{Client: c, Name: "q", Clock: clock})
	require.NoError(f.t, err)
	return q
}

// worker starts a worker of the queue through the proxy.
func (f *faulty) worker(name string, clock func() time.Time) {
	f.t.Helper()
	w, err := engine.NewWorker(engine.WorkerOptions{
		Queue: f.queue(f.client(), clock), Name: name, Concurrency: 5, DrainDelay: time.Second,
		LockDuration: faultLock, StalledInterval: faultStalled, MaxStalledCount: &faultStalls,
		Logger: slog.New(&f.lines),
		Blocking: func(connection string) redis.UniversalClient {
			o := f.proxy.options()
			o.ClientName, o.MaxRetries = connection, -1
			return redis.NewClient(o)
		},
		Handler: func(ctx context.Context, j *engine.Job) (any, error) {
			defer f.done.Add(1)
			return asNode(ctx, j)
		},
	})
	require.NoError(f.t, err)
	require.NoError(f.t, w.Start(f.t.Context()))
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, _ = w.Stop(ctx)
	})
}

// faultPlans are the jobs of the fault tests, in turn.
var faultPlans = []plan{
	{name: "ok", data: `{"n":1}`, want: "completed", made: 1},
	{name: "slow", data: `{"ms":20}`, want: "completed", made: 1},
	{name: "ok", data: `{}`, opts: `{"priority":2}`, want: "completed", made: 1},
	{name: "ok", data: `{}`, opts: `{"delay":150}`, want: "completed", made: 1},
	{name: "flaky", data: `{"failures":1}`, opts: `{"attempts":2}`, want: "completed", made: 2},
	{name: "flaky", data: `{"failures":1}`, opts: `{"attempts":2,"backoff":{"type":"fixed","delay":50}}`, want: "completed", made: 2},
	{name: "fail", data: `{}`, opts: `{"attempts":2}`, want: "failed", made: 2, why: "always fails"},
	{name: "slow", data: `{"ms":60}`, opts: `{"lifo":true}`, want: "completed", made: 1},
}

// produce adds jobs one after the other until stop is closed, each under an id of its own and again until it is known
// to be there.
func (f *faulty) produce(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
		i := len(f.ids)
		p := faultPlans[i%len(faultPlans)]
		o, err := optionsOf(p.opts)
		if err != nil {
			return err
		}
		o.ID = fmt.Sprintf("job-%d", i)
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			if _, err = f.q.Add(f.t.Context(), p.name, json.RawMessage(p.data), o); err == nil {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("cannot add: %w", err)
			}
		}
		f.ids, f.by[o.ID] = append(f.ids, o.ID), p
	}
}

// addJob adds a job whose end is not foreseen.
func (f *faulty) addJob(id, name, data, opts string) {
	f.t.Helper()
	o, err := optionsOf(opts)
	require.NoError(f.t, err)
	o.ID = id
	_, err = f.q.Add(f.t.Context(), name, json.RawMessage(data), o)
	require.NoError(f.t, err)
}

// addSound adds the next of the jobs whose end is known.
func (f *faulty) addSound() {
	f.t.Helper()
	p := faultPlans[len(f.ids)%len(faultPlans)]
	id := fmt.Sprint("sound-", len(f.ids))
	f.addJob(id, p.name, p.data, p.opts)
	f.ids, f.by[id] = append(f.ids, id), p
}

// optionsOf reads the few options the fault tests use.
func optionsOf(text string) (o engine.JobOptions, err error) {
	var a struct {
		Attempts, Priority, Delay int
		LIFO                      bool
		Backoff                   *struct {
			Type  string
			Delay int
		}
	}
	if err = json.Unmarshal([]byte(or(text, "{}")), &a); err != nil {
		return o, err
	}
	o = engine.JobOptions{Attempts: a.Attempts, Priority: a.Priority, LIFO: a.LIFO, Delay: time.Duration(a.Delay) * time.Millisecond}
	if b := a.Backoff; b != nil {
		o.Backoff = &engine.Backoff{Type: b.Type, Delay: time.Duration(b.Delay) * time.Millisecond}
	}
	return o, nil
}

// settle waits until every job has ended, then requires that nothing was lost, run on two locks or ended twice.
func (f *faulty) settle() {
	f.t.Helper()
	ctx := f.t.Context()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		finished := f.direct.ZCard(ctx, f.q.Completed()).Val() + f.direct.ZCard(ctx, f.q.Failed()).Val()
		if finished >= int64(len(f.ids)) {
			break
		}
		if time.Now().After(deadline) {
			d, _ := takeDump(ctx, f.direct)
			f.t.Fatalf("%d of %d jobs finished within %s; %v\n%s", finished, len(f.ids), patience, broken(d, f.q.Base()), &f.lines)
		}
	}
	d, err := takeDump(ctx, f.direct)
	require.NoError(f.t, err)
	require.Empty(f.t, broken(d, f.q.Base()))
	by, err := history(ctx, f.direct, f.q.Base())
	require.NoError(f.t, err)
	require.Empty(f.t, unlawful(by))
	for id, p := range f.by {
		require.Contains(f.t, d, f.q.Key(p.want)+"|"+id, "job %s (%s)", id, p.name)
		require.Equal(f.t, fmt.Sprint(p.made), d[f.q.JobKey(id)+"|atm"], "attempts of job %s (%s): %v", id, p.name, by[id])
		require.Equal(f.t, 1, strings.Count(strings.Join(by[id], " "), p.want), "ends of job %s: %v", id, by[id])
	}
}

// settleWithout is settle for a queue in which some jobs may end anyhow, or vanish; but they may not stay active or
// keep others from ending.
func (f *faulty) settleWithout(ids []string) {
	f.t.Helper()
	for _, id := range ids {
		delete(f.by, id)
	}
	var d dump
	open := func() (left []string) {
		var err error
		if d, err = takeDump(f.t.Context(), f.direct); err != nil {
			return []string{err.Error()} // such as a lock that was a list and is a text now
		}
		where, have := places(d, f.q.Base()), hashes(d, f.q.Base())
		for _, id := range slices.Concat(slices.Sorted(maps.Keys(f.by)), ids) {
			if len(where[id]) == 0 && (have[id] || !slices.Contains(ids, id)) {
				left = append(left, id+" was on its way") // a dump is not of one moment
			}
		}
		for _, id := range slices.Concat(slices.Sorted(maps.Keys(f.by)), ids) {
			for _, place := range where[id] {
				if place != "completed" && place != "failed" {
					left = append(left, id+" is in "+place)
				}
			}
		}
		return left
	}
	for deadline := time.Now().Add(30 * time.Second); len(open()) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("not ended: %v\n%s", open(), &f.lines)
		}
	}
	for id, p := range f.by {
		require.Contains(f.t, d, f.q.Key(p.want)+"|"+id, "job %s (%s)", id, p.name)
	}
}

// recovers requires that work goes on within seconds.
func (f *faulty) recovers() {
	f.t.Helper()
	const seconds = 10
	before := f.done.Load()
	for deadline := time.Now().Add(seconds * time.Second); f.done.Load() == before; time.Sleep(10 * time.Millisecond) {
		require.True(f.t, time.Now().Before(deadline), "no job ran for %d s after the fault\n%s", seconds, &f.lines)
	}
}

// lines counts and keeps what workers log at warning level and above.
type lines struct {
	mu   sync.Mutex
	at   []time.Time
	text []string
	jobs []string // lines about one job
}

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *lines) WithGroup(string) slog.Handler                    { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	if strings.Contains(text, "job_id=") {
		l.jobs = append(l.jobs, text)
	} else {
		l.at, l.text = append(l.at, r.Time), append(l.text, text)
	}
	return nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(slices.Concat(l.text, l.jobs), "\n")
}

// calm requires that never more than a few lines were logged in any one second, those about one job left out: there are
// no more of them than attempts.
func (l *lines) calm(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	const few = 8 // of all workers and their jobs together
	for i := range l.at {
		if j := i + few; j < len(l.at) && l.at[j].Sub(l.at[i]) < time.Second {
			t.Fatalf("more than %d lines within a second:\n%s", few, strings.Join(l.text[i:j+1], "\n"))
		}
	}
}

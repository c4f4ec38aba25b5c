package monitor

import (
	"encoding/json"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// rig is a collector without its loops: a test says when it searches and reads, and what time it is.
type rig struct {
	t      *testing.T
	redis  redis.UniversalClient
	prefix string
	now    time.Time
	*collector
	search *search
}

// newRig watches a fresh prefix of the shared Redis unless change says otherwise.
func newRig(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	return rigOn(t, srv.Client(t), change)
}

func rigOn(t *testing.T, c redis.UniversalClient, change func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, redis: c, prefix: srv.Prefix(), now: time.Now()}
	o := Options{Client: c, Prefixes: []string{r.prefix}, Clock: func() time.Time { return r.now }}
	if change != nil {
		change(&o)
	}
	o = o.withDefaults()
	require.NoError(t, o.validate())
	f := newFinds(o)
	r.collector = newCollector(o, newPolicies(o), f, nil)
	r.search = &search{client: o.Client, prefixes: o.Prefixes, finds: f, rhythm: usualSearchRhythm(), clock: o.Clock}
	return r
}

// find searches all keys once.
func (r *rig) find() {
	r.t.Helper()
	_, err := r.search.runOnce(r.t.Context(), true)
	require.NoError(r.t, err)
}

// read makes a pass at a time that much later than the last.
func (r *rig) read(later time.Duration) *Snapshot {
	r.t.Helper()
	r.now = r.now.Add(later)
	s, err := r.collect(r.t.Context(), false)
	require.NoError(r.t, err)
	return s
}

// look searches and reads.
func (r *rig) look() *Snapshot {
	r.t.Helper()
	r.find()
	return r.read(0)
}

func (r *rig) queue(name string) keys.Queue { return keys.Queue{Prefix: r.prefix, Name: name} }

// create makes the settings of a queue as BullMQ 6 does.
func (r *rig) create(name string) keys.Queue {
	r.t.Helper()
	q := r.queue(name)
	r.ok(r.redis.HSet(r.t.Context(), q.Meta(), "opts.maxLenEvents", "10000", "version", "bullmq:6.7.0").Err())
	return q
}

func (r *rig) ok(err error) {
	r.t.Helper()
	require.NoError(r.t, err)
}

// job writes a job's hash, added that long ago.
func (r *rig) job(q keys.Queue, id string, age time.Duration, opts map[string]any, fields ...any) {
	r.t.Helper()
	text, err := json.Marshal(opts)
	r.ok(err)
	added := r.now.Add(-age).UnixMilli()
	values := append([]any{"name", "n", "data", "{}", "opts", string(text), "timestamp", added, "delay", 0, "priority", 0}, fields...)
	r.ok(r.redis.HSet(r.t.Context(), q.Job(id), values...).Err())
}

// due adds a job to delayed.
func (r *rig) due(q keys.Queue, id string, in time.Duration) {
	r.t.Helper()
	z := redis.Z{Score: float64(r.now.Add(in).UnixMilli() * 4096), Member: id}
	r.ok(r.redis.ZAdd(r.t.Context(), q.Delayed(), z).Err())
}

// one returns the queue with this name, which must be there.
func (r *rig) one(s *Snapshot, name string) *Queue {
	r.t.Helper()
	q := s.Queue(r.prefix, name)
	require.NotNil(r.t, q, name)
	return q
}

package livepolicy_test

import (
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/livepolicy"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// heard collects what a watcher tells.
type heard struct {
	mu              sync.Mutex
	changed, lifted []keys.Queue
}

func (h *heard) take() (changed, lifted []keys.Queue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	changed, lifted, h.changed, h.lifted = h.changed, h.lifted, nil, nil
	return changed, lifted
}

func newWatcher(t *testing.T, c redis.UniversalClient, prefix string) (*livepolicy.Watcher, *heard) {
	t.Helper()
	h := &heard{}
	w, err := livepolicy.NewWatcher(livepolicy.WatcherOptions{
		Client: c, Prefixes: []string{"other", prefix},
		Changed: func(q keys.Queue) { h.mu.Lock(); h.changed = append(h.changed, q); h.mu.Unlock() },
		Lifted:  func(q keys.Queue) { h.mu.Lock(); h.lifted = append(h.lifted, q); h.mu.Unlock() },
	})
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	return w, h
}

func TestWatcherTellsEachChangeOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	w, h := newWatcher(t, b.client, b.q.Prefix)
	sync := func() (changed, lifted []keys.Queue) {
		require.NoError(t, w.Sync(t.Context()))
		return h.take()
	}
	changed, _ := sync()
	require.Empty(t, changed)
	require.Equal(t, b.file, w.Policy(b.q, b.file))

	b.change(livepolicy.Values{Concurrency: ptr(8)})
	changed, _ = sync()
	require.Equal(t, []keys.Queue{b.q}, changed)
	require.Equal(t, 8, w.Policy(b.q, b.file).Concurrency)
	require.Equal(t, int64(1), w.Revision(b.q))
	changed, _ = sync()
	require.Empty(t, changed)

	_, err := b.Propose(t.Context(), b.q, livepolicy.Change{By: "ada", Why: "x", Values: livepolicy.Values{Concurrency: ptr(9)}})
	require.NoError(t, err)
	changed, _ = sync()
	require.Empty(t, changed, "a proposal is nobody's business yet")

	require.NoError(t, b.Lifted(t.Context(), b.q))
	changed, lifted := sync()
	require.Empty(t, changed)
	require.Equal(t, []keys.Queue{b.q}, lifted)
	_, lifted = sync()
	require.Empty(t, lifted)

	require.NoError(t, b.client.Del(t.Context(), keys.LiveIndex(b.q.Prefix), b.q.LivePolicy()).Err())
	changed, _ = sync()
	require.Equal(t, []keys.Queue{b.q}, changed)
	require.Equal(t, b.file, w.Policy(b.q, b.file), "without a record the file decides")
}

func TestWatcherKeepsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	w, h := newWatcher(t, b.client, b.q.Prefix)
	b.change(livepolicy.Values{Concurrency: ptr(8)})
	require.NoError(t, w.Sync(t.Context()))
	h.take()
	require.NoError(t, b.client.Set(t.Context(), b.q.LivePolicy(), "{", 0).Err())
	require.NoError(t, b.client.HSet(t.Context(), keys.LiveIndex(b.q.Prefix), b.q.Name, 2, "gone", 5).Err())
	require.ErrorContains(t, w.Sync(t.Context()), "read live policy of hooks")
	changed, _ := h.take()
	require.Equal(t, []keys.Queue{{Prefix: b.q.Prefix, Name: "gone"}}, changed, "the others go on")
	require.Equal(t, 8, w.Policy(b.q, b.file).Concurrency)
	require.Error(t, w.Sync(t.Context()))
	changed, _ = h.take()
	require.Empty(t, changed)
}

func TestWatcherOutlivesRedis(t *testing.T) {
	t.Parallel()
	own := testredis.Start(t)
	b := newBench(t, false)
	b.client = own.Client(t)
	w, _ := newWatcher(t, b.client, b.q.Prefix)
	store, err := livepolicy.New(livepolicy.Options{Client: b.client, File: b.File, Queue: b.openOn(b.client)})
	require.NoError(t, err)
	b.Store = store
	w.Start()
	b.change(livepolicy.Values{Concurrency: ptr(8)})
	eventually(t, "the change arrives", func() bool { return w.Policy(b.q, b.file).Concurrency == 8 })
	own.Kill()
	require.Error(t, w.Sync(t.Context()))
	require.Equal(t, 8, w.Policy(b.q, b.file).Concurrency)
	own.Restart(t)
	eventually(t, "redis answers", func() bool { return b.client.Ping(t.Context()).Err() == nil })
	b.change(livepolicy.Values{Concurrency: ptr(9)})
	eventually(t, "the next change arrives", func() bool { return w.Policy(b.q, b.file).Concurrency == 9 })
}

// TestWatchersHearWithinASecond measures how long a change takes to reach two replicas.
func TestWatchersHearWithinASecond(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	first, _ := newWatcher(t, server.Client(t), b.q.Prefix)
	second, _ := newWatcher(t, server.Client(t), b.q.Prefix)
	first.Start()
	second.Start()
	for n := 1; n <= 3; n++ {
		b.change(livepolicy.Values{Concurrency: ptr(10 + n)})
		begin := time.Now()
		eventually(t, "both know", func() bool {
			return first.Policy(b.q, b.file).Concurrency == 10+n && second.Policy(b.q, b.file).Concurrency == 10+n
		})
		t.Logf("change %d reached both replicas after %s", n, time.Since(begin).Round(time.Millisecond))
	}
}

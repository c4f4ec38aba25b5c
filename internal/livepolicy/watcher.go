package livepolicy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/redis/go-redis/v9"
)

// Interval is how often a Watcher looks for changes. Twice a second keeps the promise of a second with room to spare.
const Interval = 500 * time.Millisecond

// syncLimit bounds one look.
const syncLimit = 5 * time.Second

// WatcherOptions configure NewWatcher.
type WatcherOptions struct {
	// Client and Prefixes say where to look. Required.
	Client   redis.UniversalClient
	Prefixes []string
	// Changed is told of each queue whose live values are new, one call at a time; it must not block for long.
	Changed func(q keys.Queue)
	// Lifted is told of each queue whose rate limit was lifted by hand, like Changed.
	Lifted func(q keys.Queue)
	// Interval defaults to Interval.
	Interval time.Duration
	// Logger defaults to none.
	Logger *slog.Logger
}

// Watcher knows the live values of all queues. Policy and Revision may be called from anywhere.
type Watcher struct {
	o    WatcherOptions
	log  *slog.Logger
	live atomic.Pointer[map[keys.Queue]entry]

	sync   sync.Mutex // one look at a time; guards lifted
	lifted map[keys.Queue]string

	life   sync.Mutex // guards cancel
	cancel context.CancelFunc
	loop   sync.WaitGroup
}

// entry are the live values of a queue.
type entry struct {
	revision int64
	values   Values
}

// NewWatcher validates o. It does not touch Redis.
func NewWatcher(o WatcherOptions) (*Watcher, error) {
	if o.Client == nil || len(o.Prefixes) == 0 {
		return nil, errors.New("live policy: Client and Prefixes are required")
	}
	nothing := func(keys.Queue) {}
	if o.Changed == nil {
		o.Changed = nothing
	}
	if o.Lifted == nil {
		o.Lifted = nothing
	}
	if o.Interval == 0 {
		o.Interval = Interval
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Watcher{o: o, log: o.Logger.With("component", "live policy"), lifted: map[keys.Queue]string{}}
	w.live.Store(&map[keys.Queue]entry{})
	return w, nil
}

// Policy is what is in force for a queue: its live values over what the file says.
func (w *Watcher) Policy(q keys.Queue, file policy.Policy) policy.Policy {
	p, _ := w.Over(q, file)
	return p
}

// Over is Policy, and reports whether there are live values at all.
func (w *Watcher) Over(q keys.Queue, file policy.Policy) (p policy.Policy, live bool) {
	e, live := (*w.live.Load())[q]
	return e.values.Over(file), live
}

// Revision is the revision of the live values that Policy uses, 0 when the file alone counts.
func (w *Watcher) Revision(q keys.Queue) int64 { return (*w.live.Load())[q].revision }

// Start looks every interval until Stop and returns at once. A watcher starts once.
func (w *Watcher) Start() {
	w.life.Lock()
	defer w.life.Unlock()
	if w.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.loop.Go(func() { w.run(ctx) })
}

// Stop ends the looking and waits for it. Stopping twice, or before Start, is safe.
func (w *Watcher) Stop() {
	w.life.Lock()
	defer w.life.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
	w.loop.Wait()
}

func (w *Watcher) run(ctx context.Context) {
	ticker := time.NewTicker(w.o.Interval)
	defer ticker.Stop()
	blind := false
	for {
		err := w.runOnce(ctx)
		if failed := err != nil; failed != blind && ctx.Err() == nil {
			blind = failed
			if failed {
				w.log.Warn("policies cannot be read; those last known stay in force", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (w *Watcher) runOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	return w.Sync(ctx)
}

// Sync looks now. What is new is known, and was told, when it returns.
func (w *Watcher) Sync(ctx context.Context) error {
	w.sync.Lock()
	defer w.sync.Unlock()
	revisions, lifted, err := w.readIndexes(ctx)
	if err != nil {
		return err
	}
	changed, err := w.readRecords(ctx, revisions)
	for _, q := range changed {
		w.o.Changed(q)
	}
	for q, count := range lifted {
		if w.lifted[q] != count {
			w.o.Lifted(q)
		}
	}
	w.lifted = lifted
	return err
}

// readIndexes returns the revisions of all queues, and how often their limits were lifted.
func (w *Watcher) readIndexes(ctx context.Context) (revisions map[keys.Queue]int64, lifted map[keys.Queue]string, err error) {
	indexes := make([]*redis.MapStringStringCmd, len(w.o.Prefixes))
	_, err = w.o.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, prefix := range w.o.Prefixes {
			indexes[i] = p.HGetAll(ctx, keys.LiveIndex(prefix))
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read revisions of policies: %w", err)
	}
	revisions, lifted = map[keys.Queue]int64{}, map[keys.Queue]string{}
	for i, prefix := range w.o.Prefixes {
		for field, value := range indexes[i].Val() {
			if name, ok := strings.CutPrefix(field, "lifted:"); ok {
				lifted[keys.Queue{Prefix: prefix, Name: name}] = value
				continue
			}
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				revisions[keys.Queue{Prefix: prefix, Name: field}] = n
			}
		}
	}
	return revisions, lifted, nil
}

// readRecords loads the records whose revision is not the one known, and returns those queues. One that is not in the
// index any more has no live values.
func (w *Watcher) readRecords(ctx context.Context, revisions map[keys.Queue]int64) (changed []keys.Queue, err error) {
	next := maps.Clone(*w.live.Load())
	texts := map[keys.Queue]*redis.StringCmd{}
	_, _ = w.o.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for q, revision := range revisions {
			if next[q].revision != revision {
				texts[q] = p.Get(ctx, q.LivePolicy())
			}
		}
		return nil
	})
	var broken []error
	for q, text := range texts {
		r, err := taken(text)
		if err != nil {
			broken = append(broken, fmt.Errorf("read live policy of %s: %w", q.Name, err))
			continue
		}
		// The record may be newer than the index was, or gone.
		next[q] = entry{revision: max(r.Revision, revisions[q]), values: r.Live}
		changed = append(changed, q)
	}
	for q := range next {
		if _, ok := revisions[q]; !ok {
			delete(next, q)
			changed = append(changed, q)
		}
	}
	w.live.Store(&next)
	return changed, errors.Join(broken...)
}

// taken reads the answer to a GET of a record.
func taken(text *redis.StringCmd) (*Record, error) {
	if err := text.Err(); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	return decode(text.Val())
}

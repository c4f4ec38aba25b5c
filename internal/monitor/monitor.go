package monitor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
)

const (
	// busyShare is how much of Redis's time passes may take; they come less often before they take more.
	busyShare = 0.05
	// refreshShare is the same for passes somebody asked for, and leastRefresh the least time between two.
	refreshShare = 0.25
	leastRefresh = 20 * time.Millisecond
	// retryMost is the longest pause after a failure.
	retryMost = 5 * time.Second
)

// Monitor owns the collector: one loop that reads, one that searches for queues, one that evaluates alert rules, and the
// followers of the event streams.
type Monitor struct {
	o         Options
	policies  policies
	hub       *hub
	finds     *finds
	search    *search
	collector *collector
	followers *followers
	alerts    *alertWatch
	wake      chan struct{} // capacity 1: a pass is wanted

	mu     sync.Mutex
	cancel context.CancelFunc // nil unless running
	loops  sync.WaitGroup
}

// New validates o. It does not touch Redis.
func New(o Options) (*Monitor, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	m := &Monitor{o: o, policies: newPolicies(o), finds: newFinds(o), wake: make(chan struct{}, 1)}
	var err error
	if m.followers, err = newFollowers(m.followerOptions()); err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	m.collector = newCollector(o, m.policies, m.finds, m.followers)
	m.search = &search{client: o.Client, prefixes: o.Prefixes, finds: m.finds, rhythm: usualSearchRhythm(), clock: o.Clock}
	m.hub = newHub(m.collector.snapshot(0))
	m.alerts = newAlertWatch(o, m.policies.of, m.hub.snapshot)
	return m, nil
}

func (m *Monitor) followerOptions() followerOptions {
	return followerOptions{
		client: m.o.Client, prefixes: m.o.Prefixes, readOnly: m.o.ReadOnly, observer: m.o.Observer,
		logger: m.o.Logger, clock: m.o.Clock, pace: usualPace(),
		queues: m.followed, policy: m.policies.of,
	}
}

// followed lists the queues whose events are worth following: those that have some.
func (m *Monitor) followed() []keys.Queue {
	var list []keys.Queue
	for _, q := range m.Snapshot().Queues {
		if q.Discovered && !q.Legacy {
			list = append(list, q.Queue)
		}
	}
	return list
}

// Start begins collecting and returns at once. The loops end when ctx does or Stop is called. Starting twice is an
// error.
func (m *Monitor) Start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cancel != nil {
		return fmt.Errorf("monitor: started twice")
	}
	ctx, m.cancel = context.WithCancel(ctx)
	m.loops.Go(func() { m.collect(ctx) })
	m.loops.Go(func() { m.search.run(ctx) })
	m.loops.Go(func() { m.alerts.run(ctx) })
	m.followers.Start()
	return nil
}

// Stop ends all loops and waits for them. Stopping twice, or before Start, is safe.
func (m *Monitor) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cancel != nil {
		m.cancel()
	}
	m.loops.Wait()
	m.followers.Stop()
}

// Snapshot returns the last one; never nil. Before the first pass it has the declared queues with nothing known.
func (m *Monitor) Snapshot() *Snapshot { return m.hub.snapshot() }

// Subscribe returns a channel that gets each new snapshot (a slow reader skips some) until cancel is called.
func (m *Monitor) Subscribe() (ch <-chan *Snapshot, cancel func()) { return m.hub.subscribe() }

// Policy returns the policy in force for a queue.
func (m *Monitor) Policy(q keys.Queue) policy.Policy { return m.policies.of(q) }

// Refresh asks for a pass now, so that the effect of an action is seen at once.
func (m *Monitor) Refresh() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// NoteQueue says that a queue exists or is about to: somebody here adds jobs to it. It is then watched without waiting
// for the next search. It is cheap for queues that are watched already.
func (m *Monitor) NoteQueue(q keys.Queue) {
	if m.finds.note(q) {
		m.Refresh()
	}
}

// collect is the loop: a pass, a pause, a pass.
func (m *Monitor) collect(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	log := m.collector.log
	failures := 0
	for {
		wanted := false
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-m.wake:
			wanted = true
		}
		began := time.Now()
		s, err := m.collector.collect(ctx, wanted)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err != nil:
			if failures++; failures == 1 {
				log.Warn("cannot read Redis, showing old figures", "err", err)
			}
			s = m.stale(err)
		case failures > 0:
			log.Info("reading Redis again", "failed_passes", failures)
			failures = 0
		}
		m.hub.publish(s)
		timer.Reset(m.rest(ctx, began, failures))
	}
}

// stale is the old snapshot with the failure of the last pass.
func (m *Monitor) stale(err error) *Snapshot {
	s := *m.Snapshot()
	s.Err, s.Parts = err, m.collector.parts()
	s.Redis.Up = false
	return &s
}

// rest is how long to wait for the next pass. It first waits until even a wanted pass may begin.
func (m *Monitor) rest(ctx context.Context, began time.Time, failures int) time.Duration {
	if failures > 0 {
		most := min(m.o.Tick<<min(failures-1, 16), retryMost)
		return most/2 + rand.N(most/2+1)
	}
	busy := m.collector.wire.busy
	sleep(ctx, max(leastRefresh, time.Duration(float64(busy)/refreshShare))-time.Since(began))
	return max(0, m.o.Tick-time.Since(began), time.Duration(float64(busy)/busyShare)-time.Since(began))
}

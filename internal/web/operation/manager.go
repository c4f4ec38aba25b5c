package operation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	maxBatch = 1000
	minBatch = 10
	// target is how long one batch may keep Redis busy.
	target = 5 * time.Millisecond
	// kept is how many ended operations are remembered.
	kept = 200
	// atOnce is how many operations run at the same time; others queue.
	atOnce = 2
	// retries bounds how often a failed batch is tried again before the operation gives up.
	retries = 5
)

// errShutdown is the cause of cancellation when the program ends.
var errShutdown = errors.New("stopped because Bullpen was shut down")

// Manager starts operations and waits for them. Its zero value is not usable; New makes one.
type Manager struct {
	clock func() time.Time
	slots chan struct{}
	wg    sync.WaitGroup

	mu     sync.Mutex
	last   int64
	all    []*Operation // oldest first
	closed bool
}

// New returns a manager. clock defaults to time.Now.
func New(clock func() time.Time) *Manager {
	if clock == nil {
		clock = time.Now
	}
	return &Manager{clock: clock, slots: make(chan struct{}, atOnce)}
}

// Start runs spec in the background.
func (m *Manager) Start(spec Spec) (*Operation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errShutdown
	}
	m.last++
	ctx, cancel := context.WithCancelCause(context.Background())
	o := &Operation{spec: spec, cancel: cancel, over: make(chan struct{}), clock: m.clock, reasons: map[string]*Reason{}}
	o.status = Status{
		ID: m.last, Verb: spec.Verb, Queue: spec.Queue, Queues: spec.Queues, Group: spec.Group, Subject: spec.Subject, Detail: spec.Detail, Who: spec.Who,
		State: Queued, Started: m.clock(), Every: time.Second,
	}
	m.all = append(m.all, o)
	m.forget()
	m.wg.Go(func() {
		defer close(o.over)
		defer cancel(nil)
		m.run(ctx, o)
	})
	return o, nil
}

// forget drops the oldest ended operations; the lock is held.
func (m *Manager) forget() {
	for i := 0; len(m.all) > kept && i < len(m.all); {
		if m.all[i].Status().State.Ended() {
			m.all = slices.Delete(m.all, i, i+1)
			continue
		}
		i++
	}
}

// Get returns an operation, nil if there is none with this id.
func (m *Manager) Get(id int64) *Operation {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.all {
		if o.status.ID == id { // never changes
			return o
		}
	}
	return nil
}

// List returns the status of all remembered operations, newest first.
func (m *Manager) List() []Status {
	m.mu.Lock()
	all := slices.Clone(m.all)
	m.mu.Unlock()
	out := make([]Status, 0, len(all))
	for _, o := range slices.Backward(all) {
		out = append(out, o.Status())
	}
	return out
}

// Close cancels what runs and waits for it.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	for _, o := range m.all {
		o.cancel(errShutdown)
	}
	m.mu.Unlock()
	m.wg.Wait()
}

func (m *Manager) run(ctx context.Context, o *Operation) {
	err := m.work(ctx, o)
	o.set(func(s *Status) {
		s.Ended = m.clock()
		switch {
		case err == nil:
			s.State = Done
		case ctx.Err() != nil:
			s.State = Cancelled
			if errors.Is(context.Cause(ctx), errShutdown) {
				s.Error = errShutdown.Error()
			}
		default:
			s.State, s.Error = Failed, err.Error()
		}
	})
}

func (m *Manager) work(ctx context.Context, o *Operation) error {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	o.set(func(s *Status) { s.State, s.Started = Preparing, m.clock() })
	matched, err := o.spec.Prepare(ctx)
	if err != nil {
		return fmt.Errorf("take the snapshot: %w", err)
	}
	o.set(func(s *Status) { s.State, s.Matched, s.Started = Running, matched, m.clock() })
	return m.batches(ctx, o)
}

// batches steps until nothing is left. A batch that takes longer than target makes the next one smaller; after each
// one Redis has as long for others as the batch took.
func (m *Manager) batches(ctx context.Context, o *Operation) error {
	size, failures := 100, 0
	for ctx.Err() == nil {
		start := time.Now()
		b, err := o.spec.Step(ctx, size)
		took := time.Since(start)
		if len(b.Refused) > 0 || b.Done > 0 || err == nil {
			o.add(b, took)
		}
		if err != nil {
			if failures++; failures > retries || ctx.Err() != nil {
				return err
			}
			wait(ctx, time.Duration(failures)*200*time.Millisecond)
			continue
		}
		if failures = 0; b.Last {
			return nil
		}
		size = next(size, took)
		wait(ctx, min(took, 100*time.Millisecond))
	}
	return ctx.Err()
}

// next is the size of the batch after one of size that took took.
func next(size int, took time.Duration) int {
	fit := float64(size) * float64(target) / float64(max(took, time.Microsecond))
	return int(min(max(fit, float64(size)/2, minBatch), float64(size)*2, maxBatch))
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

package operation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	maxBatch = 1000
	minBatch = 1
	// firstBatch is the size of the first one, when nobody knows yet what a job costs.
	firstBatch = 10
	// target is how long one batch may keep Redis busy. Others wait that long at most, and sometimes twice.
	target = 3 * time.Millisecond
	// kept is how many ended operations are remembered.
	kept = 200
	// atOnce is how many operations run at the same time; others queue.
	atOnce = 2
	// retries bounds how often a failed batch is tried again before the operation gives up.
	retries = 5
)

// errShutdown is the cause of cancellation when the program ends.
var errShutdown = errors.New("stopped because Bullpen was shut down")

// Options configure New.
type Options struct {
	// Book keeps operations; nil keeps them in memory only.
	Book Book
	// Lost is told of operations whose process is gone, each by one of the processes that share a book.
	Lost func(Status)
	// Clock defaults to time.Now.
	Clock func() time.Time
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// Manager starts operations and waits for them. Its zero value is not usable; New makes one.
type Manager struct {
	o     Options
	slots chan struct{}
	wg    sync.WaitGroup

	mu     sync.Mutex
	last   int64
	all    []*Operation // oldest first
	closed bool
	shelf  shelf
}

// New returns a manager.
func New(o Options) *Manager {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Lost == nil {
		o.Lost = func(Status) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Manager{o: o, slots: make(chan struct{}, atOnce)}
}

// number is the next operation's. One that the book cannot give is the time, which none of the book's will reach.
func (m *Manager) number(ctx context.Context) (id int64, kept bool) {
	if m.o.Book != nil {
		id, err := m.o.Book.Number(ctx)
		if err == nil {
			return id, true
		}
		m.o.Logger.WarnContext(ctx, "operation will not be kept", "err", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.o.Book != nil {
		m.last = max(m.last, m.o.Clock().UnixMilli())
	}
	m.last++
	return m.last, false
}

// Start runs spec in the background.
func (m *Manager) Start(ctx context.Context, spec Spec) (*Operation, error) {
	id, kept := m.number(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, errShutdown
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	o := &Operation{spec: spec, cancel: cancel, unkept: !kept, over: make(chan struct{}), clock: m.o.Clock, reasons: map[string]*Reason{}}
	o.status = Status{
		ID: id, Verb: spec.Verb, Queue: spec.Queue, Queues: spec.Queues, Group: spec.Group, Subject: spec.Subject, Detail: spec.Detail, Who: spec.Who, Again: spec.Again,
		State: Queued, Started: m.o.Clock(), Every: time.Second,
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
	stop := make(chan struct{})
	var reports sync.WaitGroup
	reports.Go(func() { m.report(o, stop) })
	err := m.work(ctx, o)
	close(stop)
	reports.Wait()
	o.set(func(s *Status) {
		s.Ended = m.o.Clock()
		switch {
		case err == nil:
			s.State = Done
		case errors.Is(context.Cause(ctx), errShutdown):
			s.State, s.Error = Interrupted, errShutdown.Error()
		case ctx.Err() != nil:
			s.State = Cancelled
		default:
			s.State, s.Error = Failed, err.Error()
		}
	})
	m.keep(o)
	if o.spec.Ended != nil {
		o.spec.Ended(o.Status())
	}
}

func (m *Manager) work(ctx context.Context, o *Operation) error {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	o.set(func(s *Status) { s.State, s.Started = Preparing, m.o.Clock() })
	matched, err := o.spec.Prepare(ctx)
	if err != nil {
		return fmt.Errorf("take the snapshot: %w", err)
	}
	o.set(func(s *Status) { s.State, s.Matched, s.Started = Running, matched, m.o.Clock() })
	return m.batches(ctx, o)
}

// batches steps until nothing is left. A batch that takes longer than target makes the next one smaller; after each
// one Redis has as long for others as the batch took.
func (m *Manager) batches(ctx context.Context, o *Operation) error {
	size, failures := firstBatch, 0
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

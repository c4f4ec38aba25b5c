package processor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/engine/presence"

	"github.com/redis/go-redis/v9"
)

const (
	// interruptLead is how long before the end of the grace running commands are asked to end.
	interruptLead = 5 * time.Second
	// returnLimit is how long a stopped pool waits for handlers whose contexts were cancelled.
	returnLimit = 3 * time.Second
	// announceLimit bounds one announcement.
	announceLimit = 4 * time.Second
)

// PoolOptions configure NewPool.
type PoolOptions struct {
	// Client announces the workers. Required; it stays the caller's to close.
	Client redis.UniversalClient
	// Blocking opens the clients of the workers' blocking reads, see engine.WorkerOptions. Required.
	Blocking func(connectionName string) redis.UniversalClient
	// Version of this program, shown with each worker.
	Version string
	// Observer is told what all workers do; default nobody.
	Observer engine.Observer
	// Logger gets the workers' lines; default none.
	Logger *slog.Logger
}

// Pool runs the workers of one process and announces them (package presence). Add all, then Start, then Stop.
type Pool struct {
	o         PoolOptions
	log       *slog.Logger
	members   []*member
	handlers  sync.WaitGroup // running handlers, also of workers that gave them up
	interrupt chan struct{}
	announcer chan struct{} // closed to end the announcements
	announced chan struct{} // closed when they have ended
	again     chan struct{} // capacity 1: what is announced has changed
}

// member is one worker of a pool.
type member struct {
	queue  keys.Queue
	worker *engine.Worker
	card   presence.Worker // what is announced of it, but for its concurrency and revision
	// revision is that of the live policy the worker acts by.
	revision atomic.Int64
}

// HandedBack are the jobs of a queue that still ran when the grace ended and went back to waiting.
type HandedBack struct {
	Queue keys.Queue
	IDs   []string
}

// NewPool validates o. It does not touch Redis.
func NewPool(o PoolOptions) (*Pool, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("pool: the client is missing")
	case o.Blocking == nil:
		return nil, errors.New("pool: there is no way to open blocking clients")
	}
	log := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Pool{
		o: o, log: log.With("component", "pool"), interrupt: make(chan struct{}),
		announcer: make(chan struct{}), announced: make(chan struct{}), again: make(chan struct{}, 1),
	}, nil
}

// Interrupt is closed a few seconds before the grace of Stop ends: what still runs should end now. It is what
// CommandOptions.Interrupt wants.
func (p *Pool) Interrupt() <-chan struct{} { return p.interrupt }

// Add makes a worker that Start will start. The pool's clients and logger take the place of c's, and its observer where
// c has none.
func (p *Pool) Add(c WorkerConfig) error {
	if c.Queue == nil || c.Handler == nil {
		return errors.New("add worker: it needs a queue and a handler")
	}
	handler := c.Handler
	c.Handler = func(ctx context.Context, j *engine.Job) (any, error) {
		p.handlers.Add(1)
		defer p.handlers.Done()
		return handler(ctx, j)
	}
	c.Blocking, c.Logger = p.o.Blocking, p.o.Logger
	if c.Observer == nil {
		c.Observer = p.o.Observer
	}
	o := WorkerOptions(c)
	w, err := engine.NewWorker(o)
	if err != nil {
		return fmt.Errorf("add worker of %s: %w", c.Queue.Name, err)
	}
	p.members = append(p.members, &member{queue: c.Queue.Queue, worker: w, card: presence.Worker{
		ID: rand.Text(), Host: hostname(), Process: os.Getpid(), Name: o.Name,
		Version: p.o.Version, Policy: PolicyHash(c.Policy),
	}})
	return nil
}

// Start starts the workers in the order they were added and returns at once. If one fails, those that run are stopped.
// ctx only bounds the start.
func (p *Pool) Start(ctx context.Context) error {
	for i, m := range p.members {
		if err := m.worker.Start(ctx); err != nil {
			for _, running := range p.members[:i] {
				_, _ = running.worker.Stop(ctx) // it has hardly begun; the first error is the one to report
			}
			return fmt.Errorf("start worker of %s: %w", m.queue.Name, err)
		}
	}
	go p.announce()
	return nil
}

// Unhealthy are the queues whose worker does not run or could not fetch the last time it tried.
func (p *Pool) Unhealthy() (queues []keys.Queue) {
	for _, m := range p.members {
		if !m.worker.Healthy() {
			queues = append(queues, m.queue)
		}
	}
	return queues
}

// Workers are the workers of a queue, whose concurrency and limiter can be changed while they run.
func (p *Pool) Workers(q keys.Queue) (workers []*engine.Worker) {
	for _, m := range p.members {
		if m.queue == q {
			workers = append(workers, m.worker)
		}
	}
	return workers
}

// Apply lets the workers of a queue act by another policy from now on, as far as that is possible while they run:
// concurrency, limiter, backoff and retention. revision says which it is, and is announced at once. It must not be called
// beside Add.
func (p *Pool) Apply(q keys.Queue, by policy.Policy, revision int64) error {
	var errs []error
	for _, m := range p.members {
		if m.queue == q {
			errs = append(errs, apply(m.worker, by))
			m.revision.Store(revision)
		}
	}
	select {
	case p.again <- struct{}{}:
	default:
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("apply policy to the workers of %s: %w", q.Name, err)
	}
	return nil
}

// Stop makes all workers take no more jobs and waits for the running ones until ctx ends; then what still runs goes
// back to waiting, and is returned by queue. Call it once, after Start succeeded.
func (p *Pool) Stop(ctx context.Context) ([]HandedBack, error) {
	defer p.interruptBefore(ctx)()
	back := make([]HandedBack, len(p.members))
	errs := make([]error, len(p.members))
	var stopping sync.WaitGroup
	for i, m := range p.members {
		stopping.Go(func() {
			ids, err := m.worker.Stop(ctx)
			back[i] = HandedBack{Queue: m.queue, IDs: ids}
			if err != nil {
				errs[i] = fmt.Errorf("stop worker of %s: %w", m.queue.Name, err)
			}
		})
	}
	stopping.Wait()
	if !p.handlersReturned() {
		errs = append(errs, errors.New("some handlers have not returned"))
	}
	close(p.announcer)
	<-p.announced
	back = slices.DeleteFunc(back, func(h HandedBack) bool { return len(h.IDs) == 0 })
	return back, errors.Join(errs...)
}

// interruptBefore closes the interrupt channel shortly before ctx's deadline, in the middle of what is left if that is
// little. The function it returns ends the wait.
func (p *Pool) interruptBefore(ctx context.Context) (stop func()) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return func() {}
	}
	left := time.Until(deadline)
	timer := time.AfterFunc(left-min(left/2, interruptLead), func() { close(p.interrupt) })
	return func() { timer.Stop() }
}

// handlersReturned waits for handlers that a worker gave up: the processes they started must not outlive us.
func (p *Pool) handlersReturned() bool {
	returned := make(chan struct{})
	go func() {
		p.handlers.Wait()
		close(returned)
	}()
	select {
	case <-returned:
		return true
	case <-time.After(returnLimit):
		return false
	}
}

// announce says who is there every presence.Interval, and takes it back at the end.
func (p *Pool) announce() {
	defer close(p.announced)
	ticker := time.NewTicker(presence.Interval)
	defer ticker.Stop()
	silent := false
	for {
		err := p.say(presence.Announce)
		if failed := err != nil; failed != silent {
			silent = failed
			if failed {
				p.log.Warn("workers could not be announced", "err", err)
			}
		}
		select {
		case <-ticker.C:
		case <-p.again:
		case <-p.announcer:
			if err := p.say(presence.Withdraw); err != nil {
				p.log.Warn("workers could not be withdrawn; they are shown until they expire", "err", err)
			}
			return
		}
	}
}

func (p *Pool) say(what func(context.Context, redis.UniversalClient, []presence.Entry) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), announceLimit)
	defer cancel()
	entries := make([]presence.Entry, len(p.members))
	for i, m := range p.members {
		entries[i] = presence.Entry{Queue: m.queue, Worker: m.card}
		entries[i].Worker.Concurrency = m.worker.Concurrency()
		entries[i].Worker.Revision = m.revision.Load()
	}
	return what(ctx, p.o.Client, entries)
}

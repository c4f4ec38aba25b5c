package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bullpen/internal/config"
	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/processor"
)

const (
	// bringUpTimeout bounds one try to start the workers; bringUpPause is the wait before the next.
	bringUpTimeout = 10 * time.Second
	bringUpPause   = time.Second
)

// workforce is the workers of this process. They start when Redis answers, which may be later than the process.
type workforce struct {
	server    *server
	callbacks atomic.Pointer[processor.Callbacks] // nil until it is known how to sign
	failed    chan error                          // gets the reason when the workers can never start
	cancel    context.CancelFunc                  // ends the tries to start
	done      chan struct{}                       // closed when the tries have ended
	pool      atomic.Pointer[processor.Pool]      // nil until it runs
	adopting  sync.Mutex                          // one change of policy at a time
}

func newWorkforce(s *server) *workforce {
	return &workforce{server: s, failed: make(chan error, 1), done: make(chan struct{})}
}

// start begins to bring the workers up and returns at once.
func (w *workforce) start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	go func() {
		defer close(w.done)
		for !w.tryBringUp(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(bringUpPause):
			}
		}
	}()
}

// tryBringUp reports whether there is nothing left to try.
func (w *workforce) tryBringUp(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, bringUpTimeout)
	defer cancel()
	err := w.bringUp(ctx)
	var unusable *unusableError
	switch {
	case err == nil:
		return true
	case errors.As(err, &unusable):
		w.failed <- err
		return true
	}
	w.server.log.Warn("workers are not running yet", "component", "workers", "err", err)
	return false
}

// unusableError is a failure that another try will not mend.
type unusableError struct{ error }

// bringUp does what the workers need of Redis and starts them, then the demo's producers.
func (w *workforce) bringUp(ctx context.Context) error {
	s := w.server
	if s.config.ReadOnly {
		return nil
	}
	if err := s.store.Client().Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis does not answer: %w", err)
	}
	if w.pool.Load() == nil {
		if err := w.startPool(ctx); err != nil {
			return err
		}
	}
	if s.demo != nil {
		return s.demo.Start(ctx)
	}
	return nil
}

func (w *workforce) startPool(ctx context.Context) error {
	if err := w.applyPolicies(ctx); err != nil {
		return err
	}
	if err := w.buildCallbacks(ctx); err != nil {
		return err
	}
	// A policy that changes meanwhile waits until there is a pool to tell.
	w.adopting.Lock()
	defer w.adopting.Unlock()
	pool, err := w.buildPool()
	if err != nil {
		return &unusableError{err}
	}
	for id := range w.server.declared() {
		w.apply(pool, id)
	}
	if err := pool.Start(ctx); err != nil {
		return err
	}
	w.pool.Store(pool)
	return nil
}

func (w *workforce) buildPool() (*processor.Pool, error) {
	s := w.server
	pool, err := processor.NewPool(processor.PoolOptions{
		Client: s.store.Client(), Blocking: s.store.Blocking, Version: buildVersion(), Logger: s.log,
	})
	if err != nil {
		return nil, err
	}
	for _, id := range workerQueues(w.server.config) {
		if err := w.add(pool, id, s.config.Queues[id]); err != nil {
			return nil, fmt.Errorf("queue %s: %w", id.Name, err)
		}
	}
	if s.demo != nil {
		for _, c := range s.demo.Workers() {
			if err := w.enrol(pool, c); err != nil {
				return nil, err
			}
		}
	}
	return pool, nil
}

// add adds the worker of one queue to the pool.
func (w *workforce) add(pool *processor.Pool, id keys.Queue, q config.Queue) error {
	handler, err := w.handler(pool, id, q)
	if err != nil {
		return err
	}
	queue, err := w.server.queue(id)
	if err != nil {
		return err
	}
	return w.enrol(pool, processor.WorkerConfig{
		Queue: queue, Policy: q.Policy, Handler: handler, Name: q.Worker.Name, Metrics: &q.Worker.Metrics,
		DrainDelay: q.Worker.DrainDelay, LockRenew: q.Worker.LockRenew, MaxRateLimitDelay: q.Worker.MaxRateLimitDelay,
	})
}

// enrol adds a worker to the pool and lets the metrics watch it.
func (w *workforce) enrol(pool *processor.Pool, c processor.WorkerConfig) error {
	observer := w.server.metrics.Worker(c.Queue.Queue)
	observer.SetConcurrency(c.Policy.WithDefaults().Concurrency)
	c.Observer = observer
	return pool.Add(c)
}

// handler makes what runs the jobs of a queue.
func (w *workforce) handler(pool *processor.Pool, id keys.Queue, q config.Queue) (engine.Handler, error) {
	if c := q.Worker.Command; c != nil {
		return processor.Command(processor.CommandOptions{
			Queue: id, Argv: c.Argv, Env: c.Env, Dir: w.server.config.Dir, Policy: q.Policy, Interrupt: pool.Interrupt(),
		})
	}
	h := q.Worker.HTTP
	return processor.HTTP(processor.HTTPOptions{
		Queue: id, URL: h.URL, Policy: q.Policy, Timeout: h.Timeout, Secret: h.Secret,
		UnrecoverableStatuses: h.UnrecoverableStatuses, MaxResponse: int64(h.MaxResponse), Headers: h.Headers,
		Callbacks: w.callbacks.Load(),
	})
}

// ready says why the configured workers do not run.
func (w *workforce) ready() error {
	if len(workerQueues(w.server.config)) == 0 && w.server.demo == nil {
		return nil
	}
	pool := w.pool.Load()
	if pool == nil {
		return errors.New("workers have not started")
	}
	if down := pool.Unhealthy(); len(down) > 0 {
		return fmt.Errorf("worker of queue %s does not run", down[0].Qualified())
	}
	return nil
}

// stop drains the workers until grace ends and returns the jobs that went back to waiting.
func (w *workforce) stop(grace context.Context) ([]processor.HandedBack, error) {
	w.cancel()
	<-w.done
	pool := w.pool.Load()
	if pool == nil {
		return nil, nil
	}
	if w.server.demo != nil {
		w.server.demo.Stop()
	}
	return pool.Stop(grace)
}

// workerQueues are the named queues that have a worker here, in the order of their names.
func workerQueues(c *config.Config) []keys.Queue {
	ids := slices.SortedFunc(maps.Keys(c.Queues), func(a, b keys.Queue) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Prefix, b.Prefix))
	})
	return slices.DeleteFunc(ids, func(id keys.Queue) bool { return c.Queues[id].Worker == nil })
}

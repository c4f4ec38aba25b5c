package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/internal/processor"
	"bullpen/internal/store"
)

// buildLive makes what follows the changes of policies at run time.
func (s *server) buildLive() (err error) {
	s.live, err = livepolicy.NewWatcher(livepolicy.WatcherOptions{
		Client: s.store.Client(), Prefixes: s.config.Redis.Prefixes, Logger: s.log,
		Changed: func(q keys.Queue) {
			s.workers.adopt(q)
			s.monitor.Refresh()
		},
		Lifted: func(q keys.Queue) {
			s.workers.look(q)
			s.monitor.Refresh()
		},
	})
	return err
}

// livePolicies makes what changes policies at run time.
func (s *server) livePolicies() (*livepolicy.Store, error) {
	if s.config.Approval == "two" && !s.config.Auth.Configured() {
		s.log.Warn("nobody can approve a change of a policy: approval is two, and without a login everybody is the same person", "component", "config")
	}
	return livepolicy.New(livepolicy.Options{
		Client: s.store.Client(), Queue: s.queue, TwoPeople: s.config.Approval == "two", File: s.configured,
	})
}

// configured returns the policy a queue has before anything is changed live, and where that is written.
func (s *server) configured(q keys.Queue) (p policy.Policy, name string) {
	file := "no file"
	if s.config.File != "" {
		file = filepath.Base(s.config.File)
	}
	if named, ok := s.config.Queues[q]; ok {
		return named.Policy, file
	}
	if s.demo != nil {
		if p, ok := s.demo.Policies()[q]; ok {
			return p, "the demo"
		}
	}
	return s.config.Defaults, "defaults of " + file
}

// adopt lets the running workers of a queue act by the policy that is in force now.
func (w *workforce) adopt(q keys.Queue) {
	w.adopting.Lock()
	defer w.adopting.Unlock()
	if pool := w.pool.Load(); pool != nil {
		w.apply(pool, q)
	}
}

// apply lets the workers of a queue in a pool act by the policy that is in force now.
func (w *workforce) apply(pool *processor.Pool, q keys.Queue) {
	s := w.server
	file, _ := s.configured(q)
	p, changed := s.live.Over(q, file)
	if len(pool.Workers(q)) == 0 || !changed && w.pool.Load() == nil {
		return // there is nobody, or they were made by their file's policy and that is it
	}
	revision := s.live.Revision(q)
	if err := pool.Apply(q, p, revision); err != nil {
		s.log.Warn("policy is not in force", "component", "workers", "queue", q.Name, "revision", revision, "err", err)
		return
	}
	s.metrics.Worker(q).SetConcurrency(p.WithDefaults().Concurrency)
	s.log.Info("policy is in force", "component", "workers", "queue", q.Name, "revision", revision)
}

// look lets the workers of a queue look for jobs now.
func (w *workforce) look(q keys.Queue) {
	if pool := w.pool.Load(); pool != nil {
		for _, worker := range pool.Workers(q) {
			worker.Look()
		}
	}
}

// applyPolicies writes what the policies in force keep in the queues' settings.
func (w *workforce) applyPolicies(ctx context.Context) error {
	s := w.server
	switch err := s.live.Sync(ctx); {
	case store.Forbidden(err):
		s.log.Warn("policies cannot be changed live: this user may not read Bullpen's own keys", "component", "workers", "err", err)
	case err != nil:
		return err
	}
	for id, named := range s.config.Queues {
		q, err := s.queue(id)
		if err != nil {
			return &unusableError{err}
		}
		by := s.live.Policy(id, named.Policy)
		if named.Worker != nil {
			err = s.refuseBull(ctx, id, by.DeadLetter)
		}
		if err == nil {
			err = processor.ApplyPolicy(ctx, q, by)
		}
		if errors.Is(err, engine.ErrBullQueue) {
			return &unusableError{err}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refuseBull refuses to work on queues that Bull 3 or 4 left: one that gets a worker, and the one for its dead letters.
func (s *server) refuseBull(ctx context.Context, id keys.Queue, deadLetter string) error {
	names := []string{id.Name}
	if deadLetter != "" {
		names = append(names, deadLetter)
	}
	for _, name := range names {
		q, err := s.queue(keys.Queue{Prefix: id.Prefix, Name: name})
		if err == nil {
			err = q.RefuseBull(ctx)
		}
		if err != nil {
			return fmt.Errorf("worker of queue %s: %w", id.Name, err)
		}
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"bullpen/internal/config"
	"bullpen/internal/processor"
	"bullpen/internal/store"
)

// errHandedBack ends a run whose grace was too short for the running jobs.
var errHandedBack = errors.New("jobs were handed back")

func (p *program) serve(ctx context.Context, args []string) error {
	set, flags := p.commonFlags("serve")
	if _, err := p.parse(set, args, 0); err != nil {
		return err
	}
	c, err := p.configure(flags, preflight)
	if err != nil {
		return err
	}
	log := p.logger(c.LogLevel)
	store.LogTo(log)
	warn(c, log)
	// The second signal must be seen while the first is still being obeyed.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)

	starting, started := interruptible(ctx, signals)
	s, err := newServer(starting, c, log)
	if interrupted := started(); err != nil {
		return err
	} else if interrupted != nil {
		return errors.Join(interrupted, s.abort())
	}
	if err := s.start(ctx); err != nil {
		return errors.Join(err, s.abort())
	}
	fmt.Fprintln(p.out, s.banner())
	failed := s.wait(signals)
	back, err := s.stop(signals)
	return errors.Join(failed, err, handedBack(back))
}

// interruptible returns a context that a signal ends, and a function that stops listening and says whether one came.
func interruptible(ctx context.Context, signals <-chan os.Signal) (context.Context, func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done, idle := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(idle)
		select {
		case got := <-signals:
			cancel(fmt.Errorf("%v while starting", got))
		case <-done:
		}
	}()
	return ctx, func() error {
		close(done)
		<-idle
		return context.Cause(ctx)
	}
}

// warn says what is odd about the configuration. What the policies cost in the long run is for check to explain.
func warn(c *config.Config, log *slog.Logger) {
	log = log.With("component", "config")
	policies := 0
	for _, w := range c.Warnings {
		if w.Key == "" {
			log.Warn(w.String())
		} else {
			policies++
		}
	}
	if policies > 0 {
		log.Info("the policies have warnings; \"dashboard check\" lists them", "warnings", policies)
	}
}

// handedBack names the jobs that still ran when the grace ended; nil when there are none.
func handedBack(back []processor.HandedBack) error {
	var parts []string
	for _, b := range back {
		parts = append(parts, b.Queue.Name+": "+strings.Join(b.IDs, ", "))
	}
	if len(parts) == 0 {
		return nil
	}
	return fmt.Errorf("%w to waiting, unfinished: %s", errHandedBack, strings.Join(parts, "; "))
}

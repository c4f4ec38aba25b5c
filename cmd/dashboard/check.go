package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"bullpen/internal/config"
	"bullpen/internal/doctor"
	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/livepolicy"
	"bullpen/internal/store"
)

// checkTimeout bounds the whole command.
const checkTimeout = 2 * time.Minute

// errUnfit ends a check that found something that loses jobs.
var errUnfit = errors.New("check: not fit for work")

func (p *program) check(ctx context.Context, args []string) error {
	set, flags := p.commonFlags("check")
	asJSON := set.Bool("json", false, "print the findings as JSON")
	sample := set.Duration("sample", 2*time.Second, "`TIME` over which the growth of memory is measured")
	if _, err := p.parse(set, args, 0); err != nil {
		return err
	}
	c, err := p.configure(flags, preflight)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	found, err := p.examine(ctx, c, *sample)
	if err != nil {
		found = append(found, doctor.Finding{Level: doctor.Error, Check: "store", Text: err.Error()})
	}
	if err := p.report(found, *asJSON); err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Level == doctor.Error }) {
		return errUnfit
	}
	return nil
}

// examine opens the store and has it looked at.
func (p *program) examine(ctx context.Context, c *config.Config, sample time.Duration) (found []doctor.Finding, err error) {
	log := p.logger(slog.LevelError)
	store.LogTo(log)
	o := storeOptions(c, log)
	o.Attach = true
	s, err := store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.Kind() == store.KindMemory {
		return nil, errors.New(s.Describe())
	}
	live, err := livepolicy.NewWatcher(livepolicy.WatcherOptions{Client: s.Client(), Prefixes: c.Redis.Prefixes})
	if err != nil {
		return nil, err
	}
	unread := live.Sync(ctx)
	found, err = doctor.Examine(ctx, doctor.Options{
		Config: c, Client: s.Client(), Store: s.Describe(), Sample: sample, Live: live.Over,
		Queue: func(id keys.Queue) (*engine.Queue, error) {
			return engine.NewQueue(engine.QueueOptions{Client: s.Client(), Prefix: id.Prefix, Name: id.Name})
		},
	})
	if err == nil && unread != nil {
		found = append(found, doctor.Finding{
			Level: doctor.Warning, Check: "live policies", Text: "cannot be read, so those of the file were judged: " + unread.Error(),
		})
	}
	return found, err
}

// report prints the findings for people or for programs.
func (p *program) report(found []doctor.Finding, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(p.out)
		out.SetIndent("", "  ")
		return out.Encode(map[string]any{"findings": found})
	}
	for _, f := range found {
		about := f.Check
		if f.Queue != "" {
			about += " of " + f.Queue
		}
		if _, err := fmt.Fprintf(p.out, "%-8s %s: %s\n", f.Level, about, f.Text); err != nil {
			return err
		}
	}
	return nil
}

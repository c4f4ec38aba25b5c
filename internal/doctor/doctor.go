package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bullpen/internal/config"
	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor"

	"github.com/redis/go-redis/v9"
)

// Level says how bad a finding is.
type Level string

// The levels. Only an Error means that jobs would be lost or could not run.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Error   Level = "error"
)

// Finding is the result of one check.
type Finding struct {
	Level Level  `json:"level"`
	Check string `json:"check"`           // what was looked at: "eviction policy"
	Queue string `json:"queue,omitempty"` // qualified name, where it is about one queue
	Text  string `json:"text"`
}

// Options configure Examine.
type Options struct {
	Config *config.Config        // required
	Client redis.UniversalClient // required
	// Queue opens a queue. Required.
	Queue func(keys.Queue) (*engine.Queue, error)
	// Live lays what was changed at run time over a queue's policy; false when nothing was. Default: nothing ever is.
	Live func(q keys.Queue, file policy.Policy) (policy.Policy, bool)
	// Store describes the store in one line.
	Store string
	// Sample is the time over which the growth of memory is measured; default 2 s.
	Sample time.Duration
}

// patience bounds the wait for the collector's first complete picture.
const patience = 20 * time.Second

// Examine runs every check. The error says that there was nothing to examine, because Redis does not answer.
func Examine(ctx context.Context, o Options) ([]Finding, error) {
	if o.Sample == 0 {
		o.Sample = 2 * time.Second
	}
	if o.Live == nil {
		o.Live = func(_ keys.Queue, file policy.Policy) (policy.Policy, bool) { return file, false }
	}
	found := configuration(o.Config)
	var answer redis.Error
	if err := o.Client.Ping(ctx).Err(); err != nil && !errors.As(err, &answer) {
		return found, fmt.Errorf("redis does not answer: %w", err)
	}
	first, last, err := look(ctx, o)
	if err != nil {
		return found, err
	}
	found = append(found, Finding{OK, "store", "", o.Store})
	found = append(found, permissions(ctx, o.Client, o.Config.Redis.Prefixes)...)
	found = append(found, server(last, askSnapshots(ctx, o.Client))...)
	found = append(found, memory(first, last)...)
	found = append(found, clock(last))
	found = append(found, workers(o.Config, last)...)
	return append(found, runTimes(ctx, o, last)...), nil
}

// configuration repeats the warnings of the file.
func configuration(c *config.Config) []Finding {
	if len(c.Warnings) == 0 {
		return []Finding{{OK, "configuration", "", "no warnings"}}
	}
	var out []Finding
	for _, w := range c.Warnings {
		out = append(out, Finding{Warning, "configuration", "", w.String()})
	}
	return out
}

// look lets the collector work for the sample's time and returns its first complete snapshot and its last.
func look(ctx context.Context, o Options) (first, last *monitor.Snapshot, err error) {
	c := o.Config
	declared := map[keys.Queue]policy.Policy{}
	for id, q := range c.Queues {
		declared[id] = q.Policy
	}
	m, err := monitor.New(monitor.Options{
		Client: o.Client, Prefixes: c.Redis.Prefixes, Alias: c.Redis.Alias, Tick: c.Tick, Declared: declared,
		Defaults: c.Defaults, Live: o.Live, Include: c.QueuesInclude, Exclude: c.QueuesExclude, MaxQueues: c.QueuesMax, ReadOnly: true,
	})
	if err != nil {
		return nil, nil, err
	}
	if err := m.Start(ctx); err != nil {
		return nil, nil, fmt.Errorf("examine redis: %w", err)
	}
	defer m.Stop()
	snapshots, cancel := m.Subscribe()
	defer cancel()
	deadline := time.After(patience)
	var enough <-chan time.Time
	for {
		select {
		case s := <-snapshots:
			if last = s; first == nil && complete(s) {
				first, enough = s, time.After(o.Sample)
			}
		case <-enough:
			return first, last, nil
		case <-deadline:
			return nil, nil, errors.Join(errors.New("redis does not answer"), m.Snapshot().Err)
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// complete reports whether every part of the collection has run.
func complete(s *monitor.Snapshot) bool {
	ran := 0
	for _, p := range s.Parts {
		if p.Err != nil || !p.LastSuccess.IsZero() {
			ran++
		}
	}
	return s.Err == nil && ran == len(s.Parts) && ran > 0
}

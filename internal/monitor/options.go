package monitor

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/redis/go-redis/v9"
)

// Options configure New.
type Options struct {
	Client   redis.UniversalClient // required; a *redis.Client or a *redis.ClusterClient
	Prefixes []string              // key prefixes to watch; default "bull"
	Alias    string                // name of this Redis in labels and on pages; default "default"
	Tick     time.Duration         // least time between the starts of two passes; default 1 s
	// Declared are the queues the configuration names, with their policies. Defaults is the policy of all others.
	Declared map[keys.Queue]policy.Policy
	Defaults policy.Policy
	// Live lays what was changed at run time over a queue's policy; false when nothing was. Default: nothing ever is.
	// It is called often.
	Live func(q keys.Queue, file policy.Policy) (policy.Policy, bool)
	// Include and Exclude are patterns for found queues: "*" is any text, "?" one character; one with a colon is held
	// against prefix:name. No Include means all. Declared queues are always watched.
	Include, Exclude []string
	MaxQueues        int              // default 5000
	ReadOnly         bool             // write no keys of our own
	Embedded         bool             // the in-process store: no INFO, no CLIENT LIST, nobody else connected
	Observer         JobObserver      // told the times of single jobs; default nobody
	Logger           *slog.Logger     // default: nothing is logged
	Clock            func() time.Time // default time.Now
}

func (o Options) withDefaults() Options {
	if len(o.Prefixes) == 0 {
		o.Prefixes = []string{keys.DefaultPrefix}
	}
	if o.Alias == "" {
		o.Alias = "default"
	}
	if o.Tick == 0 {
		o.Tick = time.Second
	}
	if o.MaxQueues == 0 {
		o.MaxQueues = 5000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Live == nil {
		o.Live = func(_ keys.Queue, file policy.Policy) (policy.Policy, bool) { return file, false }
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

func (o Options) validate() error {
	switch o.Client.(type) {
	case nil:
		return errors.New("monitor: Client is required")
	case *redis.Client, *redis.ClusterClient:
	default:
		return fmt.Errorf("monitor: Client is a %T, want a *redis.Client or a *redis.ClusterClient", o.Client)
	}
	if slices.Contains(o.Prefixes, "") {
		return errors.New("monitor: Prefixes has an empty one")
	}
	if o.Tick < 0 {
		return errors.New("monitor: Tick is negative")
	}
	if o.MaxQueues < 0 {
		return errors.New("monitor: MaxQueues is negative")
	}
	return nil
}

// policies answers which policy is in force for a queue.
type policies struct {
	declared    map[keys.Queue]policy.Policy // with defaults, as others
	others      policy.Policy
	file        Options             // what declared and others were made of
	deadLetters map[keys.Queue]bool // declared to receive dead letters
}

func newPolicies(o Options) policies {
	p := policies{
		declared: make(map[keys.Queue]policy.Policy, len(o.Declared)), others: o.Defaults.WithDefaults(), file: o,
		deadLetters: map[keys.Queue]bool{},
	}
	for q, declared := range o.Declared {
		p.declared[q] = declared.WithDefaults()
		if declared.DeadLetter != "" {
			p.deadLetters[keys.Queue{Prefix: q.Prefix, Name: declared.DeadLetter}] = true
		}
	}
	if o.Defaults.DeadLetter != "" {
		for _, prefix := range o.Prefixes {
			p.deadLetters[keys.Queue{Prefix: prefix, Name: o.Defaults.DeadLetter}] = true
		}
	}
	return p
}

func (p policies) of(q keys.Queue) policy.Policy {
	written, ok := p.file.Declared[q]
	if !ok {
		written = p.file.Defaults
	}
	if changed, is := p.file.Live(q, written); is {
		return changed.WithDefaults()
	}
	if ok {
		return p.declared[q]
	}
	return p.others
}

// queues returns the declared queues and the dead-letter queues they name, in order.
func (p policies) queues() []keys.Queue {
	return slices.SortedFunc(maps.Keys(p.declared), compareQueues)
}

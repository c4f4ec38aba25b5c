package monitor

import (
	"context"
	"log/slog"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/redis/go-redis/v9"
)

// Options configure New.
type Options struct {
	Client   redis.UniversalClient // required
	Prefixes []string              // default "bull"
	Alias    string                // default "default"
	Tick     time.Duration         // default 1 s
	// Declared are the queues the configuration names, with their policies. Defaults is the policy of all others.
	Declared         map[keys.Queue]policy.Policy
	Defaults         policy.Policy
	Include, Exclude []string // patterns for found queues
	MaxQueues        int      // default 5000
	ReadOnly         bool     // write no keys of our own
	Embedded         bool     // the in-process store
	Logger           *slog.Logger
	Clock            func() time.Time
}

// Monitor owns the collector.
type Monitor struct{}

// New validates o.
func New(o Options) (*Monitor, error) { panic("stub") }

// Start begins collecting and returns at once.
func (m *Monitor) Start(ctx context.Context) error { panic("stub") }

// Stop ends all loops and waits for them.
func (m *Monitor) Stop() { panic("stub") }

// Snapshot returns the last one; never nil.
func (m *Monitor) Snapshot() *Snapshot { panic("stub") }

// Subscribe returns a channel that gets each new snapshot (a slow reader skips some) until cancel is called.
func (m *Monitor) Subscribe() (ch <-chan *Snapshot, cancel func()) { panic("stub") }

// Policy returns the policy in force for a queue.
func (m *Monitor) Policy(q keys.Queue) policy.Policy { panic("stub") }

// Refresh asks for a pass now, so that the effect of an action is seen at once.
func (m *Monitor) Refresh() { panic("stub") }

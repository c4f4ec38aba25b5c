package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/redis/go-redis/v9"
)

// QueueOptions configure NewQueue.
type QueueOptions struct {
	// Client talks to the Redis that holds the queue. Required. It stays the caller's to close.
	Client redis.UniversalClient
	// Prefix is the key prefix; default "bull".
	Prefix string
	// Name is the queue's name. Required, without ':'.
	Name string
	// Defaults are merged under the options of every job added through this Queue.
	Defaults JobOptions
	// LegacyPause selects the storage of BullMQ 5.x for paused queues (lifecycle 12.1); default false, as BullMQ 6.
	LegacyPause bool
	// SkipMetas leaves out of the queue's meta hash which release's data model it has, as BullMQ's skipMetasUpdate does.
	SkipMetas bool
	// Clock returns the time written to Redis; default time.Now.
	Clock func() time.Time
	// Telemetry traces what is added here and what a Worker of this Queue does; default none.
	Telemetry Telemetry
}

// Queue adds jobs to one queue and administers it. It is safe for concurrent use and holds no connection of its own.
type Queue struct {
	keys.Queue

	client    redis.UniversalClient
	runner    *scripts.Runner
	target    scripts.Target
	defaults  JobOptions
	clock     func() time.Time
	telemetry Telemetry
	skipMetas bool
	declared  atomic.Bool // the meta hash says which data model the queue has
}

// dataModel is the release whose data model this engine has. Front ends go by what the queue's meta hash says of it.
const dataModel = "bullmq:6.7.0"

// NewQueue validates o and returns the queue. It does not touch Redis.
func NewQueue(o QueueOptions) (*Queue, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("queue: the client is missing")
	case o.Name == "":
		return nil, invalid("name", "Queue name must be provided")
	case strings.Contains(o.Name, ":"):
		return nil, invalid("name", "Queue name cannot contain :")
	}
	if o.Prefix == "" {
		o.Prefix = keys.DefaultPrefix
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Telemetry == nil {
		o.Telemetry = silent{}
	}
	named := keys.Queue{Prefix: o.Prefix, Name: o.Name}
	return &Queue{
		Queue:     named,
		client:    o.Client,
		runner:    scripts.New(o.Client),
		target:    scripts.Target{Queue: named, LegacyPause: o.LegacyPause},
		defaults:  o.Defaults,
		clock:     o.Clock,
		telemetry: o.Telemetry,
		skipMetas: o.SkipMetas,
	}, nil
}

// declare notes once which data model the queue has, unless another client said so before (features 6.2). Nothing but
// front ends depends on it: what fails is left to the next time.
func (q *Queue) declare(ctx context.Context) {
	if !q.skipMetas && !q.declared.Load() && q.client.HSetNX(ctx, q.Meta(), "version", dataModel).Err() == nil {
		q.declared.Store(true)
	}
}

// JobKey returns the full key of a job's hash.
func (q *Queue) JobKey(id string) string { return q.Queue.Job(id) }

package scripts

import (
	"time"

	"bullpen/internal/engine/keys"
)

// Target is the queue a transition acts on.
type Target struct {
	keys.Queue
	// LegacyPause keeps waiting jobs in the paused list while the queue is paused, as BullMQ 5.x does (lifecycle 12.1).
	LegacyPause bool
}

// Lock names an active job and the token of the worker that holds it. The token "0" stands for no lock.
type Lock struct {
	ID    string
	Token string
}

// Job is one job as its hash holds it.
type Job struct {
	ID     string
	Fields map[string]string
}

// Keep is a retention rule (lifecycle 8.6.3). The zero value keeps all.
type Keep struct {
	Count *int64         // jobs kept; 0 = none, negative or nil = all
	Age   *time.Duration // whole seconds; nil = no limit
	Limit *int64         // at most this many evicted by age per finished job; nil = 1000
}

// Package keys names every key, hash field and state of BullMQ's data model in Redis. Nothing else in the
// project concatenates a key.
package keys

import (
	"maps"
	"slices"
	"strings"
)

// DefaultPrefix is the key prefix BullMQ uses when none is given.
const DefaultPrefix = "bull"

// Queue identifies a queue in one Redis: all its keys start with "Prefix:Name:".
type Queue struct {
	// Prefix is the key prefix, "bull" unless configured. It may contain colons.
	Prefix string
	// Name is the queue's name. It is never empty and never contains a colon.
	Name string
}

// Qualified returns "prefix:name", the form other jobs use to refer to the queue.
func (q Queue) Qualified() string { return q.Prefix + ":" + q.Name }

// Base returns "prefix:name:", the start of every key of the queue.
func (q Queue) Base() string { return q.Prefix + ":" + q.Name + ":" }

// Key returns the queue's key with the given suffix.
func (q Queue) Key(suffix string) string { return q.Base() + suffix }

// Keys of one queue; the comment of each gives its Redis type.
func (q Queue) ID() string               { return q.Key("id") }                // string (integer): last generated job id
func (q Queue) Meta() string             { return q.Key("meta") }              // hash: queue settings
func (q Queue) Wait() string             { return q.Key("wait") }              // list: ids ready to run, next at the tail
func (q Queue) Paused() string           { return q.Key("paused") }            // list: BullMQ 5.x keeps waiting ids here while paused
func (q Queue) Active() string           { return q.Key("active") }            // list: ids being processed, newest at the head
func (q Queue) Prioritized() string      { return q.Key("prioritized") }       // zset: jobs with a priority
func (q Queue) PriorityCounter() string  { return q.Key("pc") }                // string (integer): insertion counter
func (q Queue) Delayed() string          { return q.Key("delayed") }           // zset: score = due time × 4096 + tie-break
func (q Queue) Completed() string        { return q.Key("completed") }         // zset: score = finishedOn
func (q Queue) Failed() string           { return q.Key("failed") }            // zset: score = finishedOn
func (q Queue) WaitingChildren() string  { return q.Key("waiting-children") }  // zset: score = time of entry
func (q Queue) Marker() string           { return q.Key("marker") }            // zset: wakes blocked workers
func (q Queue) Stalled() string          { return q.Key("stalled") }           // set: active ids to be checked
func (q Queue) StalledCheck() string     { return q.Key("stalled-check") }     // string: throttles the stall check
func (q Queue) Limiter() string          { return q.Key("limiter") }           // string (integer): starts in this window
func (q Queue) Events() string           { return q.Key("events") }            // stream
func (q Queue) Repeat() string           { return q.Key("repeat") }            // zset: schedulers
func (q Queue) MetricsCompleted() string { return q.Key("metrics:completed") } // hash; ":data" beside it is a list
func (q Queue) MetricsFailed() string    { return q.Key("metrics:failed") }    // hash; ":data" beside it is a list

// Scheduler returns the record (hash) of a job scheduler.
func (q Queue) Scheduler(id string) string { return q.Key("repeat:" + id) }

// Dedup returns the string that holds the id of the job owning a deduplication id.
func (q Queue) Dedup(id string) string { return q.Key("de:" + id) }

// DedupNext returns the hash of the job remembered to follow the owner of a deduplication id.
func (q Queue) DedupNext(id string) string { return q.Key("dn:" + id) }

// Job returns the job's hash.
func (q Queue) Job(id string) string { return q.Key(id) }

// Lock returns the string that holds the lock token of an active job.
func (q Queue) Lock(id string) string { return q.Key(id) + ":lock" }

// Logs returns the list of a job's log rows, oldest first.
func (q Queue) Logs(id string) string { return q.Key(id) + ":logs" }

// Dependencies returns the set of a parent's unfinished children.
func (q Queue) Dependencies(id string) string { return q.Key(id) + ":dependencies" }

// Processed returns the hash of a parent's completed children and their values.
func (q Queue) Processed(id string) string { return q.Key(id) + ":processed" }

// IgnoredFailures returns the hash of children whose failure was tolerated (suffix "failed").
func (q Queue) IgnoredFailures(id string) string { return q.Key(id) + ":failed" }

// Unsuccessful returns the zset of children whose failure failed the parent.
func (q Queue) Unsuccessful(id string) string { return q.Key(id) + ":unsuccessful" }

// Families are the first parts of names of several parts that are not of a job.
var Families = []string{"repeat", "de", "dn", "metrics"}

// JobParts are what follows a job's key and a colon in the names of the keys that belong to it.
var JobParts = []string{"lock", "logs", "dependencies", "processed", "failed", "unsuccessful"}

// State is one of the states a job can be in; the value is the one BullMQ's clients report.
type State string

// The states of a job. A job is in exactly one.
const (
	Waiting         State = "waiting"
	Prioritized     State = "prioritized"
	Active          State = "active"
	Delayed         State = "delayed"
	WaitingChildren State = "waiting-children"
	Completed       State = "completed"
	Failed          State = "failed"
	Unknown         State = "unknown"
)

// States lists every state a job can be counted in, in the order pages show them.
var States = []State{Waiting, Prioritized, Active, Delayed, WaitingChildren, Completed, Failed}

// SplitJobKey splits a full job key at its last two colons into the queue and the job id. ok is false when the key
// has fewer than two colons.
func SplitJobKey(key string) (q Queue, id string, ok bool) {
	j := strings.LastIndexByte(key, ':')
	if j < 0 {
		return Queue{}, "", false
	}
	i := strings.LastIndexByte(key[:j], ':')
	if i < 0 {
		return Queue{}, "", false
	}
	return Queue{Prefix: key[:i], Name: key[i+1 : j]}, key[j+1:], true
}

// reserved holds the suffixes a job id must never equal, because job keys and queue keys share one namespace.
var reserved = map[string]bool{
	"id": true, "meta": true, "wait": true, "paused": true, "active": true, "prioritized": true, "pc": true,
	"delayed": true, "completed": true, "failed": true, "waiting-children": true, "marker": true, "stalled": true,
	"stalled-check": true, "limiter": true, "events": true, "repeat": true, "metrics:completed": true,
	"metrics:completed:data": true, "metrics:failed": true, "metrics:failed:data": true, "priority": true, "delay": true,
}

// ReservedIDs lists the ids that no job can have, in order.
func ReservedIDs() []string { return slices.Sorted(maps.Keys(reserved)) }

// Reserved reports whether a job with this id would share its key with one of the queue's own keys.
func Reserved(id string) bool { return reserved[id] }

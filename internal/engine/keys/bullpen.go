package keys

import "strconv"

// Own is the start of every key that is Bullpen's own and not part of BullMQ's data model.
const Own = "bullpen:"

// Presence returns the hash in which Bullpen's workers of the queue announce themselves (package presence). A hash tag
// in the prefix puts it into the slot of the queue's other keys.
func (q Queue) Presence() string { return Own + "workers:" + q.Qualified() }

// Replays returns the sorted set that remembers which dead letters of the queue were replayed, by when (ms).
func (q Queue) Replays() string { return Own + "replays:" + q.Qualified() }

// LivePolicy returns the string that holds the record of the queue's live policy (package livepolicy).
func (q Queue) LivePolicy() string { return Own + "policy:" + q.Qualified() }

// LiveIndex returns the hash that lists the queues of a prefix whose policy was changed live, by revision. The field
// LiftedField of a queue counts the rate limits that were lifted by hand.
func LiveIndex(prefix string) string { return Own + "policies:" + prefix }

// LiftedField returns the field of LiveIndex that counts a queue's lifted rate limits. No queue's name has a colon.
func (q Queue) LiftedField() string { return "lifted:" + q.Name }

// Secret is the string all replicas sign callback URLs with when none is configured.
const Secret = Own + "secret"

// Audit is the stream of what people did through Bullpen, of all queues.
const Audit = Own + "audit"

// Operations is the hash of bulk acts, running and past, of all queues.
const Operations = Own + "operations"

// Operation is the key that is there while a process runs a bulk act.
func Operation(id int64) string { return Operations + ":" + strconv.FormatInt(id, 10) }

// Refusals is the hash of the jobs that a bulk act left alone.
func Refusals(id int64) string { return Operation(id) + ":refusals" }

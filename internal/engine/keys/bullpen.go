package keys

// Own is the start of every key that is Bullpen's own and not part of BullMQ's data model.
const Own = "bullpen:"

// Presence returns the hash in which Bullpen's workers of the queue announce themselves (package presence). A hash tag
// in the prefix puts it into the slot of the queue's other keys.
func (q Queue) Presence() string { return Own + "workers:" + q.Qualified() }

// Replays returns the sorted set that remembers which dead letters of the queue were replayed, by when (ms).
func (q Queue) Replays() string { return Own + "replays:" + q.Qualified() }

// Secret is the string all replicas sign callback URLs with when none is configured.
const Secret = Own + "secret"

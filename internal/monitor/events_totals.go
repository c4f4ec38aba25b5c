package monitor

import (
	"fmt"
	"strconv"

	"bullpen/internal/engine/keys"
)

// Keys of the followers. They start with keys.Own, so that no program takes them for a queue and obliterating one does
// not half-delete them; a hash tag in the prefix puts them into the slot of the queue's keys.
func totalsKey(q keys.Queue) string    { return keys.Own + "metrics:" + q.Qualified() }
func leaseKey(q keys.Queue) string     { return keys.Own + "events:" + q.Qualified() }
func replicasKey(prefix string) string { return keys.Own + "followers:" + prefix }

// totalField is one counter of EventTotals and its name in the hash.
type totalField struct {
	name string
	of   func(*EventTotals) *uint64
}

// totalFields lists every counter.
func totalFields() []totalField {
	return []totalField{
		{"added", func(t *EventTotals) *uint64 { return &t.Added }},
		{"started", func(t *EventTotals) *uint64 { return &t.Started }},
		{"completed", func(t *EventTotals) *uint64 { return &t.Completed }},
		{"failed_exhausted", func(t *EventTotals) *uint64 { return &t.FailedExhausted }},
		{"failed_unrecoverable", func(t *EventTotals) *uint64 { return &t.FailedUnrecoverable }},
		{"failed_stalled", func(t *EventTotals) *uint64 { return &t.FailedStalled }},
		{"retried_immediate", func(t *EventTotals) *uint64 { return &t.RetriedImmediate }},
		{"retried_backoff", func(t *EventTotals) *uint64 { return &t.RetriedBackoff }},
		{"delayed_scheduled", func(t *EventTotals) *uint64 { return &t.DelayedScheduled }},
		{"delayed_backoff", func(t *EventTotals) *uint64 { return &t.DelayedBackoff }},
		{"delayed_manual", func(t *EventTotals) *uint64 { return &t.DelayedManual }},
		{"promoted", func(t *EventTotals) *uint64 { return &t.Promoted }},
		{"stalled", func(t *EventTotals) *uint64 { return &t.Stalled }},
		{"removed", func(t *EventTotals) *uint64 { return &t.Removed }},
		{"duplicated", func(t *EventTotals) *uint64 { return &t.Duplicated }},
		{"deduplicated", func(t *EventTotals) *uint64 { return &t.Deduplicated }},
		{"started_within_target", func(t *EventTotals) *uint64 { return &t.StartedWithinTarget }},
		{"finished_within_target", func(t *EventTotals) *uint64 { return &t.FinishedWithinTarget }},
	}
}

// add adds every counter of d to t.
func (t *EventTotals) add(d EventTotals) {
	for _, f := range totalFields() {
		*f.of(t) += *f.of(&d)
	}
}

// readerState is how far the stream of a queue was read, and what the counts of BullMQ's metrics were then.
type readerState struct {
	seq uint64
	// id is the last entry read.
	id string
	// entries is how many entries the stream had got when id was added, -1 if the server does not tell.
	entries int64
	// added is the id counter; the others are the counts of completed and failed in BullMQ's metrics when the stream was
	// last read to its end, and how many of each were counted since.
	added     int64
	completed finished
	failed    finished
}

// finished compares what the metrics keys say with what was counted.
type finished struct{ base, since int64 }

func (s *readerState) fields() []stateField {
	return []stateField{
		{"entries", &s.entries},
		{"base_added", &s.added},
		{"base_completed", &s.completed.base},
		{"since_completed", &s.completed.since},
		{"base_failed", &s.failed.base},
		{"since_failed", &s.failed.since},
	}
}

type stateField struct {
	name string
	at   *int64
}

// decodeTotals reads the hash of a queue; ok is false if it was never written.
func decodeTotals(hash map[string]string) (t EventTotals, s readerState, ok bool, err error) {
	if hash["id"] == "" {
		return t, s, false, nil
	}
	s.id = hash["id"]
	if s.seq, err = strconv.ParseUint(hash["seq"], 10, 64); err != nil {
		return t, s, false, fmt.Errorf("field seq: %w", err)
	}
	for _, f := range s.fields() {
		if *f.at, err = strconv.ParseInt(hash[f.name], 10, 64); err != nil {
			return t, s, false, fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	for _, f := range totalFields() {
		n, err := strconv.ParseUint(hash[f.name], 10, 64)
		if err != nil && hash[f.name] != "" { // a counter of a newer version is absent, which is 0
			return t, s, false, fmt.Errorf("field %s: %w", f.name, err)
		}
		*f.of(&t) = n
	}
	return t, s, true, nil
}

package monitor

import (
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Names of events the followers count (lifecycle 6); all others are skipped.
const (
	eventAdded           = "added"
	eventWaiting         = "waiting"
	eventDelayed         = "delayed"
	eventActive          = "active"
	eventCompleted       = "completed"
	eventFailed          = "failed"
	eventExhausted       = "retries-exhausted"
	eventStalled         = "stalled"
	eventRemoved         = "removed"
	eventDuplicated      = "duplicated"
	eventDeduplicated    = "deduplicated"
	eventWaitingChildren = "waiting-children"
)

// stalledTooOften is the failure that BullMQ records for a job past its stall limit (lifecycle 8.11).
const stalledTooOften = "job stalled more than allowable limit"

// entry is one event of a queue's stream, reduced to what counting needs: payloads are dropped when it is parsed.
type entry struct {
	id   string
	at   int64 // milliseconds, from the id
	kind string
	job  string
	name string // of an added event
	prev string
	// due is the due time of a delayed event in milliseconds.
	due int64
	// made is attemptsMade of a retries-exhausted event.
	made int
	// stalledOut says the reason of a failed event is stalledTooOften.
	stalledOut bool
	// owner is deduplicatedJobId of a deduplicated event.
	owner string
	// size is about how many bytes the entry took on the wire.
	size int
}

// parseEntry reads an event. Fields that are missing or malformed stay at zero: the stream is open to any program.
func parseEntry(m redis.XMessage) entry {
	e := entry{id: m.ID, at: idMillis(m.ID)}
	text := func(field string) string {
		s, _ := m.Values[field].(string)
		return s
	}
	for field, v := range m.Values {
		s, _ := v.(string)
		e.size += len(field) + len(s)
	}
	e.kind, e.job, e.prev = text("event"), text("jobId"), text("prev")
	switch e.kind {
	case eventAdded:
		e.name = text("name")
	case eventDelayed:
		e.due, _ = strconv.ParseInt(text("delay"), 10, 64)
	case eventFailed:
		e.stalledOut = text("failedReason") == stalledTooOften
	case eventExhausted:
		e.made, _ = strconv.Atoi(text("attemptsMade"))
	case eventDeduplicated:
		e.owner = text("deduplicatedJobId")
	}
	return e
}

// needsNext reports whether the meaning of e depends on the entry that the same script wrote right after it.
func (e entry) needsNext() bool {
	return e.kind == eventFailed || e.backFromActive()
}

// backFromActive reports whether e is a job that left active for waiting: retried, stalled or put back.
func (e entry) backFromActive() bool { return e.kind == eventWaiting && e.prev == "active" }

// follows reports whether e is the second half of a pair: kind, for the job of first.
func (e entry) follows(first entry, kind string) bool { return e.kind == kind && e.job == first.job }

// idMillis returns the time in a stream id, 0 if it has none.
func idMillis(id string) int64 {
	head, _, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(head, 10, 64)
	if err != nil {
		return 0
	}
	return ms
}

// laterID reports whether stream id a is after b. An unreadable id is before all others.
func laterID(a, b string) bool {
	am, as := splitID(a)
	bm, bs := splitID(b)
	return am > bm || am == bm && as > bs
}

func splitID(id string) (ms, seq uint64) {
	head, tail, _ := strings.Cut(id, "-")
	ms, _ = strconv.ParseUint(head, 10, 64)
	seq, _ = strconv.ParseUint(tail, 10, 64)
	return ms, seq
}

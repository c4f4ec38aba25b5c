package web

import (
	"context"
	"time"
)

// Entry is one line of the audit log: who tried what, and what came of it.
type Entry struct {
	At     time.Time `json:"at"`
	Who    string    `json:"who"`
	Role   string    `json:"role"`
	Action string    `json:"action"`
	Queue  string    `json:"queue,omitempty"` // qualified name
	// Target is the job, the state or the operation; "" is the queue itself.
	Target string `json:"target,omitempty"`
	// Outcome is "done", "refused", "failed" or "asked" (the question was shown).
	Outcome   string `json:"outcome"`
	Message   string `json:"message"`
	Done      int64  `json:"done,omitempty"`
	Refused   int64  `json:"refused,omitempty"`
	Operation string `json:"operation,omitempty"`
	// Remote is the address of the peer.
	Remote string `json:"remote,omitempty"`
}

// Auditor keeps entries. Record must not block for long and reports its own failures.
type Auditor interface {
	Record(ctx context.Context, e Entry)
}

// record writes an entry to the log, and to the auditor if there is one.
func (s *Server) record(ctx context.Context, e Entry) {
	s.log.InfoContext(ctx, "action", "who", e.Who, "action", e.Action, "queue", e.Queue, "target", e.Target,
		"outcome", e.Outcome, "message", e.Message, "done", e.Done, "refused", e.Refused, "operation", e.Operation)
	if s.o.Audit != nil {
		s.o.Audit.Record(ctx, e)
	}
}

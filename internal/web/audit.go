package web

import (
	"context"

	"bullpen/internal/audit"
)

// Entry is one line of the audit log: who tried what, and what came of it.
type Entry = audit.Entry

// Auditor keeps entries. Record must not block for long and reports its own failures. Read answers newest first.
type Auditor interface {
	Record(ctx context.Context, e Entry)
	Read(ctx context.Context, q audit.Query) (audit.Page, error)
}

// record writes an entry to the log, and to the auditor if there is one.
func (s *Server) record(ctx context.Context, e Entry) {
	s.log.InfoContext(ctx, "action", "who", e.Who, "action", e.Action, "queue", e.Queue, "target", e.Target, "jobs", e.Jobs,
		"outcome", e.Outcome, "message", e.Message, "done", e.Done, "refused", e.Refused, "operation", e.Operation)
	if s.o.Audit != nil {
		s.o.Audit.Record(ctx, e)
	}
}

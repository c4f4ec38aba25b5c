package audit

import (
	"strings"
	"time"
)

// The outcomes of a try to write.
const (
	Done    = "done"
	Refused = "refused" // by a rule: permission, state, origin
	Failed  = "failed"  // by an error
	Asked   = "asked"   // the question was shown, nothing was done

	// Started is an operation that goes on; it ends as Done, Failed, Cancelled or Interrupted, by the end of the process.
	Started     = "started"
	Cancelled   = "cancelled"
	Interrupted = "interrupted"
)

// Bounds of what is kept of one entry.
const (
	maxText = 500
	maxJobs = 20
	maxID   = 200
	// maxQueues is far more than the queues of one act usually are.
	maxQueues = 1000
)

// Entry is one line of the audit log: who tried what, and what came of it.
type Entry struct {
	At     time.Time `json:"at"`
	Who    string    `json:"who"`
	Role   string    `json:"role"`
	Action string    `json:"action"`
	Queue  string    `json:"queue,omitempty"` // qualified name
	// Queues are the qualified names of an act on several; Queue is then "".
	Queues []string `json:"queues,omitempty"`
	// Target is the job, the state or the operation; "" is the queue itself.
	Target string `json:"target,omitempty"`
	// Jobs are the first of the jobs that were chosen one by one, at most 20.
	Jobs []string `json:"jobs,omitempty"`
	// Outcome is one of the constants above.
	Outcome   string `json:"outcome"`
	Message   string `json:"message"`
	Done      int64  `json:"done,omitempty"`
	Refused   int64  `json:"refused,omitempty"`
	Operation string `json:"operation,omitempty"`
	// Remote is the address of the peer.
	Remote string `json:"remote,omitempty"`
	// ID is the place in the log; empty until it was kept.
	ID string `json:"-"`
}

// bounded is the entry with everything cut that a caller could make as long as he likes.
func (e Entry) bounded() Entry {
	for _, text := range []*string{&e.Who, &e.Action, &e.Queue, &e.Target, &e.Message, &e.Remote, &e.Operation} {
		*text = cut(*text, maxText)
	}
	if len(e.Queues) > maxQueues {
		// Readers judge by the queues whether the message is for them.
		e.Queues, e.Message = e.Queues[:maxQueues], "On more queues than are kept here."
	}
	jobs := make([]string, 0, min(len(e.Jobs), maxJobs))
	for _, id := range e.Jobs[:min(len(e.Jobs), maxJobs)] {
		jobs = append(jobs, cut(id, maxID))
	}
	e.Jobs = jobs
	return e
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

package livepolicy

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// maxPast is how many decided proposals a queue's record keeps.
const maxPast = 50

// Record is what is known of a queue's live policy.
type Record struct {
	// Revision counts the approved changes; 0 = there was none.
	Revision int64 `json:"revision"`
	// Live are the values in force that beat the file.
	Live Values `json:"live"`
	// Found is what the queue's meta hash held before live values took its place.
	Found Found `json:"found"`
	// Open is the proposal that waits for a decision, nil when there is none; there is at most one.
	Open *Proposal `json:"open,omitempty"`
	// Last is the number of the last proposal.
	Last int64 `json:"last"`
	// Past are the decided proposals, newest first.
	Past []Decision `json:"past,omitempty"`
}

// Found are values of the meta hash (lifecycle 4); 0 = the field was not there.
type Found struct {
	Concurrency int64 `json:"concurrency,omitempty"`
	Max         int64 `json:"max,omitempty"`
	DurationMS  int64 `json:"duration_ms,omitempty"`
}

// Proposal is a change that somebody wants.
type Proposal struct {
	// Number counts the proposals of a queue from 1.
	Number int64     `json:"number"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Why    string    `json:"why"`
	// Values are all live values there will be, not only those that change.
	Values Values `json:"values"`
	// Pause pauses the queue (true) or resumes it (false); nil leaves it as it is.
	Pause *bool `json:"pause,omitempty"`
	// Changes is what the proposal changes, as it was when it was made.
	Changes []Difference `json:"changes"`
	// RollbackTo is the revision whose values come back, 0 for the file's; nil when the proposal is no rollback.
	RollbackTo *int64 `json:"rollback_to,omitempty"`
}

// The outcomes of a proposal.
const (
	Approved = "approved"
	Rejected = "rejected"
)

// Decision is a proposal and what became of it.
type Decision struct {
	Proposal
	Outcome   string    `json:"outcome"`
	DecidedBy string    `json:"decided_by"`
	DecidedAt time.Time `json:"decided_at"`
	// Note is why it was rejected.
	Note string `json:"note,omitempty"`
	// Revision is the one the approval made, 0 after a rejection.
	Revision int64 `json:"revision,omitempty"`
}

// At returns the live values of a revision. ok is false when the record does not reach back that far.
func (r *Record) At(revision int64) (v Values, ok bool) {
	switch revision {
	case 0:
		return Values{}, true
	case r.Revision:
		return r.Live, true
	}
	i := slices.IndexFunc(r.Past, func(d Decision) bool { return d.Revision == revision })
	if i < 0 {
		return Values{}, false
	}
	return r.Past[i].Values, true
}

// pauseAt tells what a rollback to a revision does to the pause: the oldest change that is undone and paused or resumed
// the queue is reversed.
func (r *Record) pauseAt(revision int64) *bool {
	var back *bool
	for _, d := range r.Past {
		if d.Revision > revision && d.Pause != nil {
			was := !*d.Pause
			back = &was
		}
	}
	return back
}

// decide moves the open proposal to the past.
func (r *Record) decide(outcome, by, note string, at time.Time) {
	d := Decision{Proposal: *r.Open, Outcome: outcome, DecidedBy: by, DecidedAt: at, Note: note}
	if outcome == Approved {
		r.Revision++
		r.Live, d.Revision = r.Open.Values, r.Revision
	}
	r.Open = nil
	r.Past = slices.Insert(r.Past, 0, d)
	if len(r.Past) > maxPast {
		r.Past = r.Past[:maxPast]
	}
}

func (r *Record) encode() string {
	b, _ := json.Marshal(r) // plain values cannot fail
	return string(b)
}

// decode reads a record; "" is one that was never written.
func decode(text string) (*Record, error) {
	r := &Record{}
	if text == "" {
		return r, nil
	}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("read live policy: %w", err)
	}
	return r, nil
}

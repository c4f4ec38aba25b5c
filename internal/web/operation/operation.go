// Package operation runs bulk acts on the server, batch by batch, so that a person can watch, leave and cancel them. It
// knows nothing of queues: a Spec brings the work.
package operation

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// State is how far an operation has come.
type State string

// The states of an operation.
const (
	Queued    State = "queued"
	Preparing State = "preparing"
	Running   State = "running"
	Done      State = "done"
	Cancelled State = "cancelled"
	Failed    State = "failed"
	// Interrupted means that the process that ran it ended.
	Interrupted State = "interrupted"
)

// Ended reports whether nothing will happen any more.
func (s State) Ended() bool {
	return s == Done || s == Cancelled || s == Failed || s == Interrupted
}

// Refusal says why one item was left alone.
type Refusal struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// Batch is the result of one step.
type Batch struct {
	Done    int64
	Refused []Refusal
	// Last says that nothing is left.
	Last bool
}

// Spec is what an operation shall do.
type Spec struct {
	// Verb is the act ("retry"), Queue the qualified name, Subject what it acts on in words: "failed jobs of email".
	Verb, Queue, Subject string
	// Detail goes on: which set, which filter.
	Detail string
	// Queues are the qualified names when it is on more than one queue; Queue is then "".
	Queues []string
	// Group names the failures it is on, "" for none.
	Group string
	// Who asked for it.
	Who string
	// Again is how to ask for the same once more, nil when that makes no sense.
	Again *Again
	// Ended, if set, is told how it ended, before Over is closed.
	Ended func(Status)
	// Prepare takes the snapshot of the set and returns how many items it has.
	Prepare func(ctx context.Context) (int64, error)
	// Step does the next items, at most n.
	Step func(ctx context.Context, n int) (Batch, error)
}

// Again is the request that starts an operation.
type Again struct {
	Path   string              `json:"path"`
	Values map[string][]string `json:"values"`
}

// Reason is why items were refused, with how many and some of them.
type Reason struct {
	Text   string   `json:"reason"`
	Count  int64    `json:"count"`
	Sample []string `json:"sample"`
}

// Status is an operation at one moment.
type Status struct {
	ID      int64     `json:"id"`
	Verb    string    `json:"verb"`
	Queue   string    `json:"queue,omitempty"`
	Queues  []string  `json:"queues,omitempty"`
	Group   string    `json:"group,omitempty"`
	Subject string    `json:"subject"`
	Detail  string    `json:"detail,omitempty"`
	Who     string    `json:"who"`
	State   State     `json:"state" enum:"queued,preparing,running,done,cancelled,failed,interrupted"`
	Error   string    `json:"error,omitempty"`
	Started time.Time `json:"started"`
	// Ended is zero while it runs.
	Ended   time.Time `json:"ended,omitzero"`
	Matched int64     `json:"matched"`
	Done    int64     `json:"done"`
	Refused int64     `json:"refused"`
	Reasons []Reason  `json:"reasons,omitempty"`
	Batches int64     `json:"batches"`
	// Longest is the longest batch.
	Longest time.Duration `json:"longestNanoseconds"`
	// Again starts it once more, with the jobs that are there then; nil where that makes no sense.
	Again *Again `json:"again,omitempty" doc:"the request that starts it once more"`
	// Pace is how many items were done in each span of Every, oldest first.
	Pace  []int64       `json:"-"`
	Every time.Duration `json:"-"`
}

// Left is how many items have not had their turn.
func (s Status) Left() int64 { return max(s.Matched-s.Done-s.Refused, 0) }

// Rate is items per second, over the run so far.
func (s Status) Rate(now time.Time) float64 {
	end := now
	if !s.Ended.IsZero() {
		end = s.Ended
	}
	d := end.Sub(s.Started).Seconds()
	if d <= 0 {
		return 0
	}
	return float64(s.Done+s.Refused) / d
}

const (
	maxSample  = 3
	maxReasons = 50
	maxPace    = 60
)

// The first MaxRefusals refused items are kept one by one, for RefusalsLife after the last of them; the reasons are kept
// with the operation.
const (
	MaxRefusals  = 10_000
	RefusalsLife = 7 * 24 * time.Hour
)

// Operation is one bulk act under way or past.
type Operation struct {
	spec   Spec
	cancel context.CancelCauseFunc
	unkept bool // the book does not have it
	// written is how many refusals the book has; who keeps the operation alone uses it.
	written int
	over    chan struct{}
	clock   func() time.Time

	mu       sync.Mutex
	status   Status
	reasons  map[string]*Reason
	refusals []Refusal
}

// Status returns how far it has come.
func (o *Operation) Status() Status {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.status
	s.Pace = slices.Clone(s.Pace)
	for _, r := range o.reasons {
		copied := *r
		copied.Sample = slices.Clone(r.Sample)
		s.Reasons = append(s.Reasons, copied)
	}
	slices.SortFunc(s.Reasons, func(a, b Reason) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text)) })
	return s
}

// refusedFrom returns the items left alone from a place on, at most up to the 10,000th.
func (o *Operation) refusedFrom(place int) []Refusal {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.refusals[place:])
}

// Cancel stops it after the batch under way. What is done stays done.
func (o *Operation) Cancel() { o.cancel(nil) }

// Over is closed when it has ended.
func (o *Operation) Over() <-chan struct{} { return o.over }

// set changes the status.
func (o *Operation) set(f func(*Status)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f(&o.status)
}

// add counts a batch.
func (o *Operation) add(b Batch, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &o.status
	s.Done += b.Done
	s.Refused += int64(len(b.Refused))
	s.Batches++
	s.Longest = max(s.Longest, took)
	// The set can turn out larger or smaller than it was thought to be.
	s.Matched = max(s.Matched, s.Done+s.Refused)
	if b.Last {
		s.Matched = s.Done + s.Refused
	}
	o.pace(b.Done + int64(len(b.Refused)))
	for _, r := range b.Refused {
		o.refuse(r)
	}
}

func (o *Operation) refuse(r Refusal) {
	if len(o.refusals) < MaxRefusals {
		o.refusals = append(o.refusals, r)
	}
	reason := o.reasons[r.Reason]
	if reason == nil {
		text := r.Reason
		if len(o.reasons) >= maxReasons {
			text = "other reasons"
		}
		if reason = o.reasons[text]; reason == nil {
			reason = &Reason{Text: text}
			o.reasons[text] = reason
		}
	}
	reason.Count++
	if len(reason.Sample) < maxSample {
		reason.Sample = append(reason.Sample, r.ID)
	}
}

// pace adds n to the present span; when there are too many spans, two become one.
func (o *Operation) pace(n int64) {
	s := &o.status
	i := int(o.clock().Sub(s.Started) / s.Every)
	for i >= maxPace {
		half := make([]int64, 0, maxPace)
		for j := 0; j < len(s.Pace); j += 2 {
			sum := s.Pace[j]
			if j+1 < len(s.Pace) {
				sum += s.Pace[j+1]
			}
			half = append(half, sum)
		}
		s.Pace, s.Every = half, 2*s.Every
		i = int(o.clock().Sub(s.Started) / s.Every)
	}
	for len(s.Pace) <= max(i, 0) {
		s.Pace = append(s.Pace, 0)
	}
	s.Pace[max(i, 0)] += n
}

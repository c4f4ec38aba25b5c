package web

import (
	"context"
	"net/url"
	"slices"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	"github.com/a-h/templ"
)

// Action is one thing a person can do. It is a POST on its path, the same under /api/v1, and reached only through the
// gate. With Ask, a GET on the path shows the question.
type Action struct {
	// Name is the verb, as in the address and the audit log: "retry".
	Name string
	// Path is the route: "/queues/:queue/retry". A ":queue" in it names the queue the permission is checked for.
	Path string
	// Role is the least one that may do it.
	Role Role
	// State, if set, tells the state of the target now; the gate compares it with the one the person saw.
	State func(ctx context.Context, c *Call) (string, error)
	// Ask, if set, returns the question to be answered before Do, or nil when none is needed.
	Ask func(ctx context.Context, c *Call) (*Question, error)
	// Do acts and says what was done.
	Do func(ctx context.Context, c *Call) (Result, error)
}

// Question is what stands between a button and a write: a confirmation or a form, with what would be done.
type Question struct {
	Title string
	Body  templ.Component
	// Type is what must be typed to go on, "" for nothing. The gate compares it with the value "confirm".
	Type string
	// Open means that the answer given is not good enough, whatever was confirmed: a form with mistakes.
	Open bool
	// Preview is the question as the API tells it.
	Preview any
}

// Call is one use of an action.
type Call struct {
	Action *Action
	Who    Identity
	// Queue is the one in the path, the zero value when the path has none.
	Queue keys.Queue
	// Params are the segments of the path by name, Values the form.
	Params map[string]string
	Values url.Values
	Now    time.Time
	// Found is the queue in the last snapshot, nil when the path has none.
	Found *monitor.Queue
	Snap  *monitor.Snapshot
	// Remote is the address the caller is at, Path that of the act without the base path.
	Remote string
	Path   string
	// API says that a program asks.
	API bool
	// Mistake is what the engine found wrong with a value, nil before it was asked.
	Mistake *engine.FieldError
}

// The states of a queue, as forms say what the person saw.
const (
	running = "running"
	paused  = "paused"
)

// Seen is the state the person saw, "" when the form does not say.
func (c *Call) Seen() string { return c.Values.Get("seen") }

// Back is the view to return to, without the base path.
func (c *Call) Back() string { return safeBack(c.Values.Get("back")) }

// Confirmed reports whether the question was answered.
func (c *Call) Confirmed() bool { return c.Values.Get("confirm") != "" }

// actions is the registry: every write of the dashboard and the API.
func (s *Server) actions() []Action {
	return slices.Concat(s.queueActions(), s.bulkActions(), s.jobActions(), s.operationActions(), s.groupActions(),
		s.replayActions(), s.limitActions(),
		s.policyActions(), s.schedulerActions())
}

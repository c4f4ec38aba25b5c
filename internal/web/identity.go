package web

import (
	"net/http"
	"path"

	"bullpen/internal/engine/keys"
)

// Role is what somebody may do; each includes the ones before it.
type Role int

// The roles.
const (
	NoRole   Role = iota
	Viewer        // sees
	Operator      // retries, promotes, removes, pauses, adds, cleans
	Admin         // drains, obliterates
)

func (r Role) String() string {
	switch r {
	case Viewer:
		return "viewer"
	case Operator:
		return "operator"
	case Admin:
		return "admin"
	}
	return "none"
}

// ParseRole is the inverse of String; any other text is NoRole.
func ParseRole(name string) Role {
	for r := Viewer; r <= Admin; r++ {
		if r.String() == name {
			return r
		}
	}
	return NoRole
}

// Identity is who sends a request.
type Identity struct {
	// Name goes into the audit log.
	Name string
	Role Role
	// Queues are the patterns of queue names the role is for; none means all.
	Queues []string
	// Token says the request carries a bearer token, which no browser adds by itself: no origin check is needed.
	Token bool
	// Session says that a session of ours vouches for it, which can be ended by signing out.
	Session bool
}

// May reports whether the identity has at least role r for the queue; the zero queue means something beyond any queue.
func (i Identity) May(r Role, q keys.Queue) bool {
	if i.Role < r {
		return false
	}
	if len(i.Queues) == 0 || q.Name == "" {
		return true
	}
	for _, pattern := range i.Queues {
		if ok, err := path.Match(pattern, q.Name); err == nil && ok {
			return true
		}
	}
	return false
}

// Authenticator tells who sends a request. An error means nobody that is known: the answer is 401, or the error's own
// if it is a Problem.
type Authenticator interface {
	Identify(r *http.Request) (Identity, error)
}

// everybody is the Authenticator of a dashboard without a login.
type everybody struct{}

func (everybody) Identify(*http.Request) (Identity, error) {
	return Identity{Name: "local", Role: Admin}, nil
}

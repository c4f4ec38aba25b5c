package web

import (
	"cmp"
	"net/http"
	"slices"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
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
	// Role is the highest one, Queues the patterns (monitor.Match) of queue names it is for; none means all.
	Role   Role
	Queues []string
	// More are further roles, which are for other queues.
	More []Grant
	// Token says the request carries a bearer token, which no browser adds by itself: no origin check is needed.
	Token bool
	// Session says that a session of ours vouches for it, which can be ended by signing out.
	Session bool
}

// Grant is a role for the queues whose names match a pattern; no pattern means all.
type Grant struct {
	Role   Role
	Queues []string
}

// May reports whether the identity has at least role r for the queue; the zero queue means something beyond any queue.
func (i Identity) May(r Role, q keys.Queue) bool {
	return Grant{i.Role, i.Queues}.allows(r, q) || slices.ContainsFunc(i.More, func(g Grant) bool { return g.allows(r, q) })
}

// bounded reports whether there are queues on which the identity has less than its role.
func (i Identity) bounded() bool { return len(i.Queues) > 0 }

func (g Grant) allows(r Role, q keys.Queue) bool {
	if g.Role < r {
		return false
	}
	if len(g.Queues) == 0 || q.Name == "" {
		return true
	}
	return monitor.Match(g.Queues, q)
}

// Granted is an identity with all of the roles; the zero Identity without any.
func Granted(name string, grants []Grant) Identity {
	if len(grants) == 0 {
		return Identity{}
	}
	sorted := slices.SortedStableFunc(slices.Values(grants), func(a, b Grant) int {
		// Of two equal roles the one for all queues comes first.
		return cmp.Or(cmp.Compare(b.Role, a.Role), cmp.Compare(len(a.Queues), len(b.Queues)))
	})
	who := Identity{Name: name, Role: sorted[0].Role, Queues: sorted[0].Queues}
	if len(sorted) > 1 {
		who.More = sorted[1:]
	}
	return who
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

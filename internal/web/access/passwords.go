package access

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"bullpen/internal/web"

	"golang.org/x/crypto/bcrypt"
)

// errWrong does not say which of the two is wrong.
var errWrong = errors.New("name or password is wrong")

// tooOftenError says when the next try is allowed.
type tooOftenError struct{ wait time.Duration }

func (e *tooOftenError) Error() string {
	return fmt.Sprintf("too many failed tries; the next one is allowed in %d s", e.seconds())
}

func (e *tooOftenError) seconds() int { return int(math.Ceil(e.wait.Seconds())) }

// atOnce is how many passwords are checked at the same time: each takes a core for a quarter of a second.
const atOnce = 2

// passwords checks names and passwords.
type passwords struct {
	users map[string]User
	// decoy is the hash that unknown names are checked against, so that they take as long as known ones.
	decoy    []byte
	throttle *throttle
	slots    chan struct{}
}

func newPasswords(users []User, clock func() time.Time) (*passwords, error) {
	p := &passwords{users: map[string]User{}, throttle: newThrottle(clock), slots: make(chan struct{}, atOnce)}
	highest := -1
	for _, u := range users {
		cost, err := bcrypt.Cost(u.Hash)
		if err != nil {
			return nil, fmt.Errorf("password hash of %s: %w", u.Name, err)
		}
		p.users[u.Name] = u
		if cost > highest {
			highest, p.decoy = cost, u.Hash
		}
	}
	return p, nil
}

// check returns the user whose password it is. Every try counts until it turns out right, so that many at once are
// no way around the limit.
func (p *passwords) check(ctx context.Context, name, password string, from netip.Addr) (User, error) {
	if p.decoy == nil || name == "" || len(name) > maxName {
		return User{}, errWrong
	}
	limits := limitsFor(name, from)
	if wait := p.throttle.take(limits); wait > 0 {
		return User{}, &tooOftenError{wait}
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return User{}, fmt.Errorf("check password: %w", ctx.Err())
	}
	u, known := p.users[name]
	hash := u.Hash
	if !known {
		hash = p.decoy
	}
	if err := bcrypt.CompareHashAndPassword(hash, []byte(password)); err != nil || !known {
		return User{}, errWrong
	}
	p.throttle.giveBack(limits)
	return u, nil
}

// refusal is the answer to a failed try.
func refusal(w http.ResponseWriter, err error) error {
	var often *tooOftenError
	switch {
	case errors.As(err, &often):
		w.Header().Set("Retry-After", strconv.Itoa(often.seconds()))
		return web.Refuse(http.StatusTooManyRequests, "Not signed in", fmt.Sprintf("Too many failed tries. The next one is allowed in %d s.", often.seconds()), err)
	case errors.Is(err, errWrong):
		return web.Refuse(http.StatusUnauthorized, "Not signed in", "Name or password is wrong.", err)
	}
	return err
}

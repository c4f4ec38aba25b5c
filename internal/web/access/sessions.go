package access

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

const (
	sessionCookie = "bullpen_session"
	// idleLife ends a session that is not used; each use after renewAfter starts it anew.
	idleLife   = 12 * time.Hour
	renewAfter = 15 * time.Minute
	// passwordLife and providerLife end a session whatever is done with it. A provider's is shorter: what the provider
	// says about a user, such as that he has left, reaches us only with a new one.
	passwordLife = 7 * 24 * time.Hour
	providerLife = 12 * time.Hour
)

// session is what the cookie holds. The role is not in it: it is looked up with each request, so that a change of the
// configuration counts at once.
type session struct {
	Name string `json:"n"`
	// Proof ties the session to the password it was opened with; Provider says that there was none.
	Proof    string `json:"p,omitempty"`
	Provider bool   `json:"o,omitempty"`
	// Groups are the values of the provider's claim that have a role here.
	Groups []string `json:"g,omitempty"`
	// Seen is the last renewal, Until the end whatever happens, in Unix seconds.
	Seen  int64 `json:"s"`
	Until int64 `json:"u"`
}

// sessions keeps sessions in the browsers' cookies.
type sessions struct {
	*seals
	path   string
	secure bool
	clock  func() time.Time
}

// read returns the session of a request, if it counts.
func (s *sessions) read(r *http.Request) (session, error) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return session{}, errors.New("this needs a login")
	}
	var out session
	if err := s.open(r.Context(), "session", c.Value, &out); err != nil {
		return session{}, err
	}
	now := s.clock()
	if !now.Before(time.Unix(out.Until, 0)) || !now.Before(time.Unix(out.Seen, 0).Add(idleLife)) {
		return session{}, errOver
	}
	return out, nil
}

// write gives the browser a session that was used just now.
func (s *sessions) write(w http.ResponseWriter, r *http.Request, v session) error {
	now := s.clock()
	v.Seen = now.Unix()
	sealed, err := s.seal(r.Context(), "session", v)
	if err != nil {
		return err
	}
	life := min(idleLife, time.Unix(v.Until, 0).Sub(now))
	http.SetCookie(w, s.cookie(r, sessionCookie, sealed, life))
	return nil
}

func (s *sessions) clear(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, s.cookie(r, sessionCookie, "", -time.Second))
}

// cookie makes a cookie of ours; a negative life removes it. Lax and not Strict: links from a chat or an alert are to
// open as whoever is signed in, and writes are guarded by the origin check.
func (s *sessions) cookie(r *http.Request, name, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: s.path, MaxAge: int(life / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: s.secure || r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	}
}

// proof changes with the user's password.
func (s *sessions) proof(ctx context.Context, u User) (string, error) {
	sum, err := s.mac(ctx, "password", u.Name+"\n"+string(u.Hash))
	if err != nil {
		return "", err
	}
	return sum[:22], nil // 128 bits
}

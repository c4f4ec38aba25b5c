package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"bullpen/internal/web"
)

// Options configure New. At least one of Users, Tokens, Proxy and Provider is required.
type Options struct {
	Users    []User
	Tokens   []Token
	Proxy    *Proxy
	Provider *Provider
	// Trusted are the addresses of proxies that tell where a request comes from.
	Trusted []netip.Prefix
	// Key returns what sessions are signed with, the same for all replicas. It is asked until it succeeds. Required.
	Key func(context.Context) ([]byte, error)
	// BasePath is the path of the cookies, "" or "/ops/queues".
	BasePath string
	// Secure says that browsers come by https even where a request does not show it.
	Secure bool
	// Clock defaults to time.Now.
	Clock func() time.Time
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// User signs in with a password.
type User struct {
	Name string
	Hash []byte // bcrypt
	Role web.Role
	// Queues are patterns of the queues the role is for; none means all.
	Queues []string
}

// Token lets a program in that sends it as "Authorization: Bearer …".
type Token struct {
	Name   string
	Sum    [sha256.Size]byte // SHA-256 of the token
	Role   web.Role
	Queues []string
}

// Access is a web.SignIn. Make it with New.
type Access struct {
	o         Options
	log       *slog.Logger
	tokens    map[[sha256.Size]byte]web.Identity
	passwords *passwords
	provider  *provider // nil without one
	sessions  *sessions
}

var _ web.SignIn = (*Access)(nil)

// New validates o. It asks neither Redis nor the provider; they may come up later.
func New(o Options) (*Access, error) {
	if o.Key == nil {
		return nil, errors.New("access: Key is required")
	}
	if len(o.Users) == 0 && len(o.Tokens) == 0 && o.Proxy == nil && o.Provider == nil {
		return nil, errors.New("access: there is no way in: Users, Tokens, Proxy or Provider is required")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Access{o: o, log: o.Logger.With("component", "access"), tokens: map[[sha256.Size]byte]web.Identity{}}
	for _, t := range o.Tokens {
		a.tokens[t.Sum] = web.Identity{Name: t.Name, Role: t.Role, Queues: t.Queues, Token: true}
	}
	var err error
	if a.passwords, err = newPasswords(o.Users, o.Clock); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	a.sessions = &sessions{seals: &seals{source: o.Key}, path: o.BasePath + "/", secure: o.Secure, clock: o.Clock}
	if o.Provider != nil {
		a.provider = newProvider(*o.Provider, a.sessions)
	}
	return a, nil
}

// Identify implements web.Authenticator: a bearer token counts before the proxy's word, and that before a session.
func (a *Access) Identify(r *http.Request) (web.Identity, error) {
	if token, ok := bearer(r); ok {
		// The sum is looked up, not the token, so that the time it takes says nothing about the token.
		if who, ok := a.tokens[sha256.Sum256([]byte(token))]; ok {
			return who, nil
		}
		return web.Identity{}, errors.New("the bearer token is not known here")
	}
	if a.o.Proxy != nil {
		if who, ok, err := a.o.Proxy.identify(r, a.o.Trusted); ok || err != nil {
			return who, err
		}
	}
	s, err := a.sessions.read(r)
	if err != nil {
		return web.Identity{}, err
	}
	return a.owner(r.Context(), s)
}

// owner is whom a session belongs to, as the configuration has it now.
func (a *Access) owner(ctx context.Context, s session) (web.Identity, error) {
	if s.Provider {
		if a.provider == nil {
			return web.Identity{}, errOver
		}
		who := a.provider.identity(s.Name, s.Groups)
		if who.Role == web.NoRole {
			return web.Identity{}, errOver
		}
		return who, nil
	}
	u, ok := a.passwords.users[s.Name]
	if !ok {
		return web.Identity{}, errOver
	}
	proof, err := a.sessions.proof(ctx, u)
	if err != nil {
		return web.Identity{}, err
	}
	if !equal(proof, s.Proof) {
		return web.Identity{}, errOver
	}
	return u.identity(), nil
}

// Ways implements web.SignIn.
func (a *Access) Ways() (password bool, provider string) {
	if a.provider != nil {
		provider = a.provider.name()
	}
	return len(a.o.Users) > 0, provider
}

// Renew implements web.SignIn.
func (a *Access) Renew(w http.ResponseWriter, r *http.Request) {
	s, err := a.sessions.read(r)
	if err != nil || a.o.Clock().Sub(time.Unix(s.Seen, 0)) < renewAfter {
		return
	}
	if err := a.sessions.write(w, r, s); err != nil {
		a.log.WarnContext(r.Context(), "session not renewed", "err", err)
	}
}

// SignOut implements web.SignIn.
func (a *Access) SignOut(w http.ResponseWriter, r *http.Request) { a.sessions.clear(w, r) }

// Password implements web.SignIn.
func (a *Access) Password(w http.ResponseWriter, r *http.Request, name, password string) (web.Identity, error) {
	u, err := a.passwords.check(r.Context(), name, password, a.address(r))
	if err != nil {
		a.refused(r, name, err)
		return web.Identity{}, refusal(w, err)
	}
	proof, err := a.sessions.proof(r.Context(), u)
	if err != nil {
		return web.Identity{}, err
	}
	now := a.o.Clock()
	err = a.sessions.write(w, r, session{Name: u.Name, Proof: proof, Until: now.Add(passwordLife).Unix()})
	return u.identity(), err
}

// refused logs why somebody did not get in. They themselves are told less.
func (a *Access) refused(r *http.Request, who string, err error) {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	a.log.WarnContext(r.Context(), "sign-in refused", "who", clip(who), "remote", a.address(r).String(), "err", err)
}

// address is where a request comes from.
func (a *Access) address(r *http.Request) netip.Addr { return web.ClientAddress(r, a.o.Trusted) }

func (u User) identity() web.Identity {
	return web.Identity{Name: u.Name, Role: u.Role, Queues: u.Queues, Session: true}
}

// bearer returns the bearer token of a request.
func bearer(r *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

// maxName bounds names that come from outside, in bytes.
const maxName = 200

func clip(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return name
}

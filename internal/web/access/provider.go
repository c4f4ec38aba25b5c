package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"bullpen/internal/web"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	stateCookie = "bullpen_oidc"
	// stateLife is how long somebody may take at the provider.
	stateLife = 10 * time.Minute
	// providerTimeout bounds one question to the provider.
	providerTimeout = 5 * time.Second
)

// Provider lets in whom an OpenID Connect provider knows, by the code flow with PKCE.
type Provider struct {
	Issuer, ClientID, ClientSecret string
	// RedirectURL is where the provider sends people back to: the public address with "/oidc/callback".
	RedirectURL string
	// RolesClaim is the claim that lists groups, or its path ("realm_access.roles"); RoleMap turns them into roles. Without
	// a map the claim's values are the roles' own names.
	RolesClaim string
	RoleMap    map[string]web.Grant
}

// provider asks the issuer where things are when the first user signs in, and remembers it.
type provider struct {
	o        Provider
	sessions *sessions
	client   *http.Client

	mu    sync.Mutex
	found *oidc.Provider
}

func newProvider(o Provider, s *sessions) *provider {
	if len(o.RoleMap) == 0 {
		o.RoleMap = map[string]web.Grant{}
		for _, r := range []web.Role{web.Viewer, web.Operator, web.Admin} {
			o.RoleMap[r.String()] = web.Grant{Role: r}
		}
	}
	return &provider{o: o, sessions: s, client: &http.Client{Timeout: providerTimeout}}
}

// name is what the sign-in page calls the provider: its host.
func (p *provider) name() string {
	if u, err := url.Parse(p.o.Issuer); err == nil && u.Host != "" {
		return u.Host
	}
	return p.o.Issuer
}

// identity is a user with the roles of all of his groups.
func (p *provider) identity(name string, groups []string) web.Identity {
	var grants []web.Grant
	for _, g := range p.known(groups) {
		grants = append(grants, p.o.RoleMap[g])
	}
	who := web.Granted(name, grants)
	who.Session = true
	return who
}

// discover finds the provider's addresses and keys. It does not end with the request: the keys are read again later.
func (p *provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	found := p.found
	p.mu.Unlock()
	if found != nil {
		return found, nil
	}
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.o.Issuer)
	if err != nil {
		return nil, web.Refuse(http.StatusBadGateway, "The sign-in provider does not answer", p.name()+" could not be asked; try again in a moment.", err)
	}
	p.mu.Lock()
	p.found = found
	p.mu.Unlock()
	return found, nil
}

func (p *provider) config(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, RedirectURL: p.o.RedirectURL,
		Endpoint: found.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}
}

// trip is what the browser carries to the provider and back.
type trip struct {
	State string `json:"s"`
	Back  string `json:"b"`
	Until int64  `json:"u"` // Unix seconds
}

// secrets are the nonce and the PKCE verifier of a trip. They follow from its state, so that the browser never has them.
func (p *provider) secrets(ctx context.Context, state string) (nonce, verifier string, err error) {
	nonce, err = p.sessions.mac(ctx, "nonce", state)
	if err != nil {
		return "", "", err
	}
	verifier, err = p.sessions.mac(ctx, "verifier", state)
	return nonce, verifier, err
}

// Depart implements web.SignIn.
func (a *Access) Depart(w http.ResponseWriter, r *http.Request, back string) (string, error) {
	p := a.provider
	if p == nil {
		return "", errNoProvider()
	}
	found, err := p.discover(r.Context())
	if err != nil {
		a.refused(r, "", err)
		return "", err
	}
	t := trip{State: rand.Text(), Back: back, Until: a.o.Clock().Add(stateLife).Unix()}
	sealed, err := p.sessions.seal(r.Context(), "trip", t)
	if err != nil {
		return "", err
	}
	nonce, verifier, err := p.secrets(r.Context(), t.State)
	if err != nil {
		return "", err
	}
	http.SetCookie(w, p.sessions.cookie(r, stateCookie, sealed, stateLife))
	return p.config(found).AuthCodeURL(t.State, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// Arrive implements web.SignIn.
func (a *Access) Arrive(w http.ResponseWriter, r *http.Request) (web.Identity, string, error) {
	p := a.provider
	if p == nil {
		return web.Identity{}, "", errNoProvider()
	}
	t, err := p.returned(r, a.o.Clock())
	// One trip, one return.
	http.SetCookie(w, p.sessions.cookie(r, stateCookie, "", -time.Second))
	var c claims
	if err == nil {
		c, err = p.claims(r.Context(), r.URL.Query().Get("code"), t)
	}
	if err != nil {
		a.refused(r, "", err)
		return web.Identity{}, "", err
	}
	s := session{Name: c.name(), Provider: true, Groups: p.known(c.texts(p.o.RolesClaim)), Until: a.o.Clock().Add(providerLife).Unix()}
	who := p.identity(s.Name, s.Groups)
	if who.Role == web.NoRole {
		err := noRole(s.Name)
		a.refused(r, s.Name, err)
		return web.Identity{}, "", err
	}
	if err := p.sessions.write(w, r, s); err != nil {
		return web.Identity{}, "", err
	}
	return who, t.Back, nil
}

func errNoProvider() error {
	return web.Refuse(http.StatusNotFound, "No such page", "No sign-in provider is configured.", nil)
}

// returned checks that the request ends a trip this browser began here.
func (p *provider) returned(r *http.Request, now time.Time) (trip, error) {
	c, err := r.Cookie(stateCookie)
	if err != nil {
		return trip{}, errTrip(err)
	}
	var t trip
	if err := p.sessions.open(r.Context(), "trip", c.Value, &t); err != nil {
		if errors.Is(err, errOver) {
			err = errTrip(err)
		}
		return trip{}, err
	}
	q := r.URL.Query()
	if !equal(t.State, q.Get("state")) || !now.Before(time.Unix(t.Until, 0)) {
		return trip{}, errTrip(nil)
	}
	if code := q.Get("error"); code != "" {
		return trip{}, web.Refuse(http.StatusForbidden, "Not signed in",
			"The provider says: "+clip(cmp.Or(q.Get("error_description"), code)), nil)
	}
	return t, nil
}

func errTrip(cause error) error {
	return web.Refuse(http.StatusBadRequest, "Not signed in", "This sign-in was not begun here, or took too long. Begin again.", cause)
}

// claims exchanges the code and checks what the provider says about the user.
func (p *provider) claims(ctx context.Context, code string, t trip) (claims, error) {
	found, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	nonce, verifier, err := p.secrets(ctx, t.State)
	if err != nil {
		return nil, err
	}
	refused := func(err error) error {
		return web.Refuse(http.StatusForbidden, "Not signed in", "What the provider sent was not accepted; the log has the details.", err)
	}
	token, err := p.config(found).Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, refused(fmt.Errorf("exchange code: %w", err))
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := found.Verifier(&oidc.Config{ClientID: p.o.ClientID, Now: p.sessions.clock}).Verify(ctx, raw)
	if err != nil {
		return nil, refused(fmt.Errorf("verify id token: %w", err))
	}
	if !equal(id.Nonce, nonce) {
		return nil, refused(errors.New("the id token is for another sign-in"))
	}
	var c claims
	if err := id.Claims(&c); err != nil {
		return nil, refused(fmt.Errorf("read claims: %w", err))
	}
	return c, nil
}

// known leaves out groups that have no role, so that a thousand of them fit into a cookie.
func (p *provider) known(groups []string) []string {
	return slices.DeleteFunc(slices.Clone(groups), func(g string) bool { return p.o.RoleMap[g].Role == web.NoRole })
}

// claims are what an id token says.
type claims map[string]any

// name is how the user is called on pages and in the log: what the provider vouches for comes first.
func (c claims) name() string {
	for _, key := range []string{"email", "preferred_username", "sub"} {
		if v := c.texts(key); len(v) == 1 && v[0] != "" {
			return clip(v[0])
		}
	}
	return "unnamed" // an id token always has a sub
}

// texts are the values of a claim: one text or a list. A path leads into objects. An e-mail address that was not
// verified is anybody's and so does not count.
func (c claims) texts(path string) []string {
	if path == "email" && c["email_verified"] != true {
		return nil
	}
	v, ok := c[path]
	if !ok {
		head, rest, deeper := strings.Cut(path, ".")
		inner, isObject := c[head].(map[string]any)
		if !deeper || !isObject {
			return nil
		}
		return claims(inner).texts(rest)
	}
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

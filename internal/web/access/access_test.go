package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"bullpen/internal/web"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an Access with a clock that a test turns.
type rig struct {
	*Access
	t   *testing.T
	now time.Time
}

func key(text string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(text), nil }
}

func hash(t *testing.T, password string) []byte {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	require.NoError(t, err)
	return h
}

// newRig knows the operator ada, whose password is "right", for queues named mail-*.
func newRig(t *testing.T, change ...func(*Options)) *rig {
	t.Helper()
	g := &rig{t: t, now: time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)}
	o := Options{
		Users: []User{{Name: "ada", Hash: hash(t, "right"), Role: web.Operator, Queues: []string{"mail-*"}}},
		Key:   key("k"), BasePath: "/ops", Clock: func() time.Time { return g.now },
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	g.Access, err = New(o)
	require.NoError(t, err)
	return g
}

// try sends name and password from an address and returns the cookies it got.
func (g *rig) try(name, password, from string) ([]*http.Cookie, error) {
	r := request(nil)
	r.RemoteAddr = from
	w := httptest.NewRecorder()
	_, err := g.Password(w, r, name, password)
	return w.Result().Cookies(), err
}

// signIn returns ada's session.
func (g *rig) signIn() *http.Cookie {
	g.t.Helper()
	cookies, err := g.try("ada", "right", "192.0.2.1:1")
	require.NoError(g.t, err)
	require.Len(g.t, cookies, 1)
	return cookies[0]
}

func request(cookie *http.Cookie) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if cookie != nil {
		r.AddCookie(cookie)
	}
	return r
}

// status is the HTTP status of a refusal; 401 for errors without one, as in package web.
func status(err error) int {
	var p *web.Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return http.StatusUnauthorized
}

func TestOptions(t *testing.T) {
	_, err := New(Options{Key: key("k")})
	require.ErrorContains(t, err, "there is no way in")
	_, err = New(Options{Users: []User{{Name: "a"}}})
	require.ErrorContains(t, err, "Key is required")
	_, err = New(Options{Key: key("k"), Users: []User{{Name: "a", Hash: []byte("plain")}}})
	require.ErrorContains(t, err, "password hash of a")
}

func TestSession(t *testing.T) {
	g := newRig(t)
	c := g.signIn()
	require.True(t, c.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, c.SameSite)
	require.Equal(t, "/ops/", c.Path)
	require.Equal(t, int(idleLife.Seconds()), c.MaxAge)
	require.False(t, c.Secure, "it came by plain HTTP")
	who, err := g.Identify(request(c))
	require.NoError(t, err)
	require.Equal(t, web.Identity{Name: "ada", Role: web.Operator, Queues: []string{"mail-*"}, Session: true}, who)

	w := httptest.NewRecorder()
	g.SignOut(w, request(c))
	require.Equal(t, -1, w.Result().Cookies()[0].MaxAge)
	require.Empty(t, w.Result().Cookies()[0].Value)
}

func TestCookiesAreSecureBehindHTTPS(t *testing.T) {
	g := newRig(t, func(o *Options) { o.Secure = true })
	require.True(t, g.signIn().Secure)
	g = newRig(t)
	r := request(nil)
	r.Header.Set("X-Forwarded-Proto", "https")
	require.True(t, g.sessions.cookie(r, "a", "b", 0).Secure)
}

// TestForgedSessions has one session that counts and what else somebody could send.
func TestForgedSessions(t *testing.T) {
	g := newRig(t)
	good := g.signIn().Value
	now := g.now.Unix()
	sealed := func(g *rig, purpose string, s session) string {
		v, err := g.sessions.seal(t.Context(), purpose, s)
		require.NoError(t, err)
		return v
	}
	proof, err := g.sessions.proof(t.Context(), g.o.Users[0])
	require.NoError(t, err)
	right := session{Name: "ada", Proof: proof, Seen: now, Until: now + 60}
	other := newRig(t, func(o *Options) { o.Key = key("another") })
	unsigned, _, _ := cut(good)
	swapped, _, _ := cut(sealed(g, "session", session{Name: "root", Seen: now, Until: now + 60}))
	_, signature, _ := cut(good)
	tests := map[string]struct {
		value string
		ok    bool
	}{
		"signed in":             {good, true},
		"made like it":          {sealed(g, "session", right), true},
		"empty":                 {"", false},
		"no signature":          {unsigned, false},
		"empty signature":       {unsigned + ".", false},
		"other payload":         {swapped + "." + signature, false},
		"other key":             {sealed(other, "session", right), false},
		"other purpose":         {sealed(g, "trip", right), false},
		"unknown user":          {sealed(g, "session", session{Name: "bob", Proof: proof, Seen: now, Until: now + 60}), false},
		"no proof":              {sealed(g, "session", session{Name: "ada", Seen: now, Until: now + 60}), false},
		"at its end":            {sealed(g, "session", session{Name: "ada", Proof: proof, Seen: now, Until: now}), false},
		"provider without one":  {sealed(g, "session", session{Name: "ada", Provider: true, Groups: []string{"admin"}, Seen: now, Until: now + 60}), false},
		"not a session's shape": {sealed(g, "session", session{}), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := g.Identify(request(&http.Cookie{Name: sessionCookie, Value: tt.value}))
			if tt.ok {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.Equal(t, http.StatusUnauthorized, status(err))
		})
	}
	changed := newRig(t, func(o *Options) { o.Users[0].Hash = hash(t, "new") })
	_, err = changed.Identify(request(&http.Cookie{Name: sessionCookie, Value: good}))
	require.ErrorIs(t, err, errOver, "a new password ends old sessions")
}

func cut(s string) (before, after string, found bool) {
	for i := range s {
		if s[i] == '.' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

func TestSessionsSlideAndEnd(t *testing.T) {
	g := newRig(t)
	c := g.signIn()
	renew := func() *http.Cookie {
		w := httptest.NewRecorder()
		g.Renew(w, request(c))
		if got := w.Result().Cookies(); len(got) > 0 {
			return got[0]
		}
		return nil
	}
	begin := g.now
	require.Nil(t, renew(), "not with every request")
	for g.now.Sub(begin) < passwordLife-idleLife {
		g.now = g.now.Add(idleLife - time.Minute)
		next := renew()
		require.NotNil(t, next, g.now.Sub(begin))
		c = next
	}
	require.LessOrEqual(t, time.Duration(c.MaxAge)*time.Second, passwordLife-g.now.Sub(begin), "not beyond its end")
	g.now = begin.Add(passwordLife)
	_, err := g.Identify(request(c))
	require.ErrorIs(t, err, errOver)

	c = g.signIn()
	g.now = g.now.Add(idleLife)
	_, err = g.Identify(request(c))
	require.ErrorIs(t, err, errOver, "nobody used it")
	require.Nil(t, renew(), "what is over stays over")
}

func TestReplicasAgree(t *testing.T) {
	h := hash(t, "right")
	same := func(o *Options) { o.Users[0].Hash = h }
	c := newRig(t, same).signIn()
	_, err := newRig(t, same).Identify(request(c))
	require.NoError(t, err)
}

func TestKeyThatComesLater(t *testing.T) {
	down := true
	g := newRig(t, func(o *Options) {
		o.Key = func(context.Context) ([]byte, error) {
			if down {
				return nil, errors.New("connection refused")
			}
			return []byte("k"), nil
		}
	})
	_, err := g.try("ada", "right", "192.0.2.1:1")
	require.Equal(t, http.StatusServiceUnavailable, status(err))
	_, err = g.Identify(request(&http.Cookie{Name: sessionCookie, Value: "a.b"}))
	require.Equal(t, http.StatusServiceUnavailable, status(err), "it is not the user's fault")
	down = false
	_, err = g.Identify(request(g.signIn()))
	require.NoError(t, err)
	down = true
	_, err = g.Identify(request(g.signIn()))
	require.NoError(t, err, "it is asked once")
}

func TestTokens(t *testing.T) {
	g := newRig(t, func(o *Options) {
		o.Tokens = []Token{{Name: "ci", Sum: sha256.Sum256([]byte("tok")), Role: web.Admin, Queues: []string{"a"}}}
	})
	r := request(nil)
	r.Header.Set("Authorization", "bearer tok")
	who, err := g.Identify(r)
	require.NoError(t, err)
	require.Equal(t, web.Identity{Name: "ci", Role: web.Admin, Queues: []string{"a"}, Token: true}, who)

	r = request(g.signIn())
	r.Header.Set("Authorization", "Bearer tok2")
	_, err = g.Identify(r)
	require.ErrorContains(t, err, "bearer token", "a wrong token is not made good by a session")
	r.Header.Set("Authorization", "Basic tok")
	who, err = g.Identify(r)
	require.NoError(t, err)
	require.False(t, who.Token)
}

func TestProxy(t *testing.T) {
	ranges := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	tests := map[string]struct {
		from    string
		header  http.Header
		noRoles bool
		want    web.Identity
		status  int
	}{
		"trusted":            {from: "10.1.2.3:4", header: http.Header{"X-User": {"eve"}, "X-Roles": {"dev, Operator"}}, want: web.Identity{Name: "eve", Role: web.Operator}},
		"IPv6":               {from: "[::1]:4", header: http.Header{"X-User": {"eve"}, "X-Roles": {"viewer,admin"}}, want: web.Identity{Name: "eve", Role: web.Admin}},
		"IPv4 inside IPv6":   {from: "[::ffff:10.1.2.3]:4", header: http.Header{"X-User": {"eve"}, "X-Roles": {"viewer"}}, want: web.Identity{Name: "eve", Role: web.Viewer}},
		"roles not asked":    {from: "10.1.2.3:4", noRoles: true, header: http.Header{"X-User": {"eve"}, "X-Roles": {"admin"}}, want: web.Identity{Name: "eve", Role: web.Viewer}},
		"stranger":           {from: "192.0.2.1:4", header: http.Header{"X-User": {"eve"}, "X-Roles": {"admin"}}, status: 401},
		"claims to be ours":  {from: "192.0.2.1:4", header: http.Header{"X-User": {"eve"}, "X-Forwarded-For": {"10.1.2.3"}}, status: 401},
		"no address":         {from: "@", header: http.Header{"X-User": {"eve"}}, status: 401},
		"nobody":             {from: "10.1.2.3:4", header: http.Header{"X-User": {" "}}, status: 401},
		"two names":          {from: "10.1.2.3:4", header: http.Header{"X-User": {"root", "eve"}}, status: 401},
		"control characters": {from: "10.1.2.3:4", header: http.Header{"X-User": {"e\x1bve"}}, status: 401},
		"no role":            {from: "10.1.2.3:4", header: http.Header{"X-User": {"eve"}}, status: 403},
		"unknown role":       {from: "10.1.2.3:4", header: http.Header{"X-User": {"eve"}, "X-Roles": {"boss"}}, status: 403},
		"two lists of roles": {from: "10.1.2.3:4", header: http.Header{"X-User": {"eve"}, "X-Roles": {"admin", "viewer"}}, status: 403},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Proxy{Header: "X-User", RolesHeader: "X-Roles"}
			if tt.noRoles {
				p.RolesHeader = ""
			}
			g := newRig(t, func(o *Options) { o.Proxy, o.Trusted = p, ranges })
			r := request(nil)
			r.RemoteAddr, r.Header = tt.from, tt.header
			who, err := g.Identify(r)
			if tt.status != 0 {
				require.Error(t, err)
				require.Equal(t, tt.status, status(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, who)
		})
	}
}

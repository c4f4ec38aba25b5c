package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/web"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// issuer is an OpenID Connect provider that says of everybody who arrives with the right code what its claims are.
type issuer struct {
	*httptest.Server
	t      *testing.T
	key    *ecdsa.PrivateKey
	claims map[string]any
	// challenge and nonce are those of the one sign-in under way.
	challenge, nonce string
	exchanged        int
}

func newIssuer(t *testing.T, now time.Time) *issuer {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i := &issuer{t: t, key: k}
	mux := http.NewServeMux()
	i.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		i.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	i.claims = map[string]any{
		"iss": i.URL, "aud": "bullpen", "sub": "u-1", "exp": now.Add(time.Hour).Unix(), "iat": now.Unix(),
		"email": "eve@example.com", "email_verified": true, "groups": []string{"staff", "sre"},
	}
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: k.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"}}})
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if id != "bullpen" || secret != "s3cret" || r.FormValue("code") != "the-code" || base64.RawURLEncoding.EncodeToString(sum[:]) != i.challenge {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		i.exchanged++
		answer(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": i.sign()})
	})
	return i
}

// sign makes the id token.
func (i *issuer) sign() string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: "1"}}, nil)
	require.NoError(i.t, err)
	claims := maps.Clone(i.claims)
	if _, given := claims["nonce"]; !given {
		claims["nonce"] = i.nonce
	}
	raw, err := json.Marshal(claims)
	require.NoError(i.t, err)
	signed, err := signer.Sign(raw)
	require.NoError(i.t, err)
	text, err := signed.CompactSerialize()
	require.NoError(i.t, err)
	return text
}

func (i *issuer) options(change func(*Provider)) func(*Options) {
	return func(o *Options) {
		o.Users = nil
		o.Provider = &Provider{
			Issuer: i.URL, ClientID: "bullpen", ClientSecret: "s3cret", RedirectURL: "https://ops.example/oidc/callback",
			RolesClaim: "groups", RoleMap: map[string]web.Grant{"sre": {Role: web.Operator}, "boss": {Role: web.Admin}},
		}
		if change != nil {
			change(o.Provider)
		}
	}
}

// depart goes to the provider and returns the cookie for the way and the query the provider sends back.
func (i *issuer) depart(g *rig) (*http.Cookie, url.Values) {
	i.t.Helper()
	w := httptest.NewRecorder()
	address, err := g.Depart(w, request(nil), "/failures?x=1")
	require.NoError(i.t, err)
	u, err := url.Parse(address)
	require.NoError(i.t, err)
	q := u.Query()
	require.Equal(i.t, i.URL+"/authorize", "http://"+u.Host+u.Path)
	require.Equal(i.t, "S256", q.Get("code_challenge_method"))
	require.Equal(i.t, "https://ops.example/oidc/callback", q.Get("redirect_uri"))
	require.Equal(i.t, "code", q.Get("response_type"))
	i.challenge, i.nonce = q.Get("code_challenge"), q.Get("nonce")
	require.NotEmpty(i.t, i.challenge)
	require.NotEmpty(i.t, i.nonce)
	c := w.Result().Cookies()
	require.Len(i.t, c, 1)
	require.True(i.t, c[0].HttpOnly)
	require.Equal(i.t, http.SameSiteLaxMode, c[0].SameSite, "the way back is a link from elsewhere")
	return c[0], url.Values{"state": {q.Get("state")}, "code": {"the-code"}}
}

// arrive comes back and returns the cookies it got.
func arrive(g *rig, c *http.Cookie, q url.Values) (web.Identity, string, map[string]*http.Cookie, error) {
	r := httptest.NewRequest(http.MethodGet, "/oidc/callback?"+q.Encode(), nil)
	if c != nil {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	who, back, err := g.Arrive(w, r)
	cookies := map[string]*http.Cookie{}
	for _, c := range w.Result().Cookies() {
		cookies[c.Name] = c
	}
	return who, back, cookies, err
}

func TestProvider(t *testing.T) {
	i := newIssuer(t, time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC))
	g := newRig(t, i.options(nil))
	password, name := g.Ways()
	require.False(t, password)
	require.Equal(t, i.Listener.Addr().String(), name)
	c, q := i.depart(g)
	who, back, cookies, err := arrive(g, c, q)
	require.NoError(t, err)
	require.Equal(t, "/failures?x=1", back)
	require.Equal(t, web.Identity{Name: "eve@example.com", Role: web.Operator, Session: true}, who)
	require.Equal(t, -1, cookies[stateCookie].MaxAge, "one trip, one return")
	session := cookies[sessionCookie]
	got, err := g.Identify(request(session))
	require.NoError(t, err)
	require.Equal(t, who, got)

	g.provider.o.RoleMap = map[string]web.Grant{"sre": {Role: web.Viewer}}
	got, err = g.Identify(request(session))
	require.NoError(t, err)
	require.Equal(t, web.Viewer, got.Role, "the map counts as it is now")
	g.provider.o.RoleMap = map[string]web.Grant{}
	_, err = g.Identify(request(session))
	require.ErrorIs(t, err, errOver)
	g.provider.o.RoleMap = map[string]web.Grant{"sre": {Role: web.Viewer}}
	g.now = g.now.Add(providerLife)
	_, err = g.Identify(request(session))
	require.ErrorIs(t, err, errOver)
}

func TestProviderRefusals(t *testing.T) {
	now := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tests := map[string]struct {
		change    func(i *issuer, g *rig, c *http.Cookie, q url.Values)
		status    int
		exchanges int
	}{
		"other state":      {func(_ *issuer, _ *rig, _ *http.Cookie, q url.Values) { q.Set("state", "x") }, 400, 0},
		"no state":         {func(_ *issuer, _ *rig, _ *http.Cookie, q url.Values) { q.Del("state") }, 400, 0},
		"forged cookie":    {func(_ *issuer, _ *rig, c *http.Cookie, _ url.Values) { c.Value += "x" }, 400, 0},
		"no cookie":        {func(_ *issuer, _ *rig, c *http.Cookie, _ url.Values) { c.Name = "other" }, 400, 0},
		"too late":         {func(_ *issuer, g *rig, _ *http.Cookie, _ url.Values) { g.now = g.now.Add(stateLife) }, 400, 0},
		"provider refuses": {func(_ *issuer, _ *rig, _ *http.Cookie, q url.Values) { q.Set("error", "access_denied") }, 403, 0},
		"other code":       {func(_ *issuer, _ *rig, _ *http.Cookie, q url.Values) { q.Set("code", "x") }, 403, 0},
		"other challenge":  {func(i *issuer, _ *rig, _ *http.Cookie, _ url.Values) { i.challenge = "x" }, 403, 0},
		"other nonce":      {func(i *issuer, _ *rig, _ *http.Cookie, _ url.Values) { i.claims["nonce"] = "x" }, 403, 1},
		"other audience":   {func(i *issuer, _ *rig, _ *http.Cookie, _ url.Values) { i.claims["aud"] = "x" }, 403, 1},
		"other issuer":     {func(i *issuer, _ *rig, _ *http.Cookie, _ url.Values) { i.claims["iss"] = "x" }, 403, 1},
		"expired":          {func(i *issuer, _ *rig, _ *http.Cookie, _ url.Values) { i.claims["exp"] = now.Unix() - 3600 }, 403, 1},
		"other key":        {func(i *issuer, _ *rig, _ *http.Cookie, _ url.Values) { i.key = stranger }, 403, 1},
		"no role":          {func(i *issuer, _ *rig, _ *http.Cookie, _ url.Values) { i.claims["groups"] = []string{"staff"} }, 403, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t, now)
			g := newRig(t, i.options(nil))
			c, q := i.depart(g)
			tt.change(i, g, c, q)
			_, _, cookies, err := arrive(g, c, q)
			require.Error(t, err)
			require.Equal(t, tt.status, status(err), err)
			require.NotContains(t, cookies, sessionCookie)
			require.Equal(t, tt.exchanges, i.exchanged)
		})
	}
}

func TestProviderThatComesLater(t *testing.T) {
	g := newRig(t, func(o *Options) { o.Provider = &Provider{Issuer: "http://127.0.0.1:1", RolesClaim: "groups"} })
	_, err := g.Depart(httptest.NewRecorder(), request(nil), "/")
	require.Equal(t, http.StatusBadGateway, status(err))
	i := newIssuer(t, g.now)
	g.provider.o.Issuer = i.URL
	_, err = g.Depart(httptest.NewRecorder(), request(nil), "/")
	require.NoError(t, err)

	none := newRig(t)
	_, err = none.Depart(httptest.NewRecorder(), request(nil), "/")
	require.Equal(t, http.StatusNotFound, status(err))
	_, _, _, err = arrive(none, nil, nil)
	require.Equal(t, http.StatusNotFound, status(err))
}

func TestClaims(t *testing.T) {
	var c claims
	require.NoError(t, json.Unmarshal([]byte(`{"sub":"1","email":"a@b","one":"x","many":["x",1,"y"],"n":7,
		"realm_access":{"roles":["admin"]},"https://a.b/roles":["z"]}`), &c))
	for path, want := range map[string][]string{
		"one": {"x"}, "many": {"x", "y"}, "n": nil, "none": nil, "realm_access.roles": {"admin"}, "one.two": nil,
		"https://a.b/roles": {"z"}, "email": nil,
	} {
		require.Equal(t, want, c.texts(path), path)
	}
	require.Equal(t, "1", c.name(), "an address that was not verified is anybody's")
	c["email_verified"] = true
	require.Equal(t, "a@b", c.name())
	require.Equal(t, []string{"a@b"}, c.texts("email"))
	require.Equal(t, web.Admin, newProvider(Provider{}, nil).identity("x", []string{"x", "viewer", "admin"}).Role, "without a map the names count")
}

// TestProviderRolesPerQueue: each group brings its role for its queues, and the best of them counts for each queue.
func TestProviderRolesPerQueue(t *testing.T) {
	i := newIssuer(t, time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC))
	g := newRig(t, i.options(func(p *Provider) {
		p.RoleMap = map[string]web.Grant{"staff": {Role: web.Viewer}, "sre": {Role: web.Operator, Queues: []string{"mail-*"}}, "dev": {Role: web.Admin, Queues: []string{"test-*"}}}
	}))
	i.claims["groups"] = []string{"staff", "sre", "dev"}
	c, q := i.depart(g)
	who, _, cookies, err := arrive(g, c, q)
	require.NoError(t, err)
	session, err := g.Identify(request(cookies[sessionCookie]))
	require.NoError(t, err)
	require.Equal(t, who, session)
	for queue, want := range map[string]web.Role{"mail-out": web.Operator, "test-1": web.Admin, "billing": web.Viewer} {
		for r := web.Viewer; r <= web.Admin; r++ {
			require.Equal(t, r <= want, who.May(r, keys.Queue{Prefix: "bull", Name: queue}), "%s in %s", r, queue)
		}
	}
}

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// visitor is a browser that follows no redirects.
type visitor struct {
	t      *testing.T
	cookie *http.Cookie
}

func (v *visitor) send(method, address string, form url.Values) (status int, body string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, address, strings.NewReader(form.Encode()))
	require.NoError(v.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://"+r.Host)
	if v.cookie != nil {
		r.AddCookie(v.cookie)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(v.t, err)
	defer func() { require.NoError(v.t, res.Body.Close()) }()
	for _, c := range res.Cookies() {
		v.cookie = c
	}
	text, err := io.ReadAll(res.Body)
	require.NoError(v.t, err)
	return res.StatusCode, string(text)
}

// TestLogin: a session opened at one replica counts at the other, because they share the key in Redis.
func TestLogin(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	config := file(t, fmt.Sprintf(`
redis: {url: "unix://%s"}
auth:
  users: [{name: ada, password_hash: "%s", role: viewer}]
  oidc: {issuer: "http://127.0.0.1:1", client_id: x, roles_claim: groups, role_map: {sre: admin}}
  proxy: {header: X-User, trusted: [10.0.0.1, "fd00::/8"]}
public_url: http://ops.example
`, srv.Socket, hash))
	one := start(t, testbullpen.Environ(t), "-config", config)
	two := start(t, testbullpen.Environ(t), "-config", config)
	reader := start(t, testbullpen.Environ(t), "-config", config, "-read-only")
	one.awaitReady(http.StatusOK)
	two.awaitReady(http.StatusOK)
	for path, want := range map[string]int{"": 303, "api/v1/queues": 401, "healthz": 200, "readyz": 200, "metrics": 200, "oidc": 502} {
		status, body := (&visitor{t: t}).send(http.MethodGet, one.URL+path, nil)
		require.Equal(t, want, status, "%s: %s", path, body)
	}
	v := &visitor{t: t}
	status, _ := v.send(http.MethodPost, one.URL+"login", url.Values{"name": {"ada"}, "password": {"right"}})
	require.Equal(t, http.StatusSeeOther, status)
	for _, p := range []*process{one, two, reader} {
		status, body := v.send(http.MethodGet, p.URL, nil)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, body, "Signed in as ada (viewer)")
	}
	require.NotEmpty(t, srv.Client(t).Get(t.Context(), "bullpen:secret").Val())
	one.terminate()
	two.terminate()
	reader.terminate()
}

// TestReadOnlyLogin has no key in Redis and may not leave one there.
func TestReadOnlyLogin(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	p := start(t, testbullpen.Environ(t), "-read-only", "-config", file(t, fmt.Sprintf(`
redis: {url: "unix://%s"}
auth: {users: [{name: ada, password_hash: "%s", role: admin}]}
`, srv.Socket, hash)))
	p.awaitReady(http.StatusOK)
	v := &visitor{t: t}
	status, _ := v.send(http.MethodPost, p.URL+"login", url.Values{"name": {"ada"}, "password": {"right"}})
	require.Equal(t, http.StatusSeeOther, status)
	status, _ = v.send(http.MethodGet, p.URL, nil)
	require.Equal(t, http.StatusOK, status)
	p.terminate()
	require.Zero(t, srv.Client(t).DBSize(t.Context()).Val(), "it wrote nothing")
}

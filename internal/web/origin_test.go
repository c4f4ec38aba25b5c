package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOrigin(t *testing.T) {
	const own = "127.0.0.1:8080"
	tests := []struct {
		name         string
		host         string
		site, origin string
		public       string
		token, login bool
		ok           bool
	}{
		{name: "own page", host: own, site: "same-origin", ok: true},
		{name: "typed address", host: own, site: "none", ok: true},
		{name: "other site", host: own, site: "cross-site"},
		{name: "sibling host", host: own, site: "same-site"},
		{name: "the browser's word beats a good Origin", host: own, site: "cross-site", origin: "http://" + own},
		{name: "Origin is the host", host: own, origin: "http://" + own, ok: true},
		{name: "Origin is another host", host: own, origin: "http://evil.example"},
		{name: "Origin is another port", host: own, origin: "http://127.0.0.1:9999"},
		{name: "Origin is null", host: own, origin: "null"},
		{name: "neither", host: own},
		{name: "public address", host: own, origin: "https://ops.example", public: "https://ops.example", ok: true},
		{name: "public address, other scheme", host: own, origin: "http://ops.example", public: "https://ops.example"},
		{name: "host is the public address", host: "ops.example", site: "same-origin", public: "https://ops.example", ok: true},
		{name: "host is the public address with its port", host: "OPS.example:443", site: "same-origin", public: "https://ops.example", ok: true},
		{name: "name pointed at us", host: "evil.example:8080", site: "same-origin"},
		{name: "name pointed at us, with a login", host: "evil.example:8080", site: "same-origin", login: true, ok: true},
		{name: "localhost", host: "localhost:8080", site: "same-origin", ok: true},
		{name: "container's name", host: "bullpen:8080", site: "same-origin", ok: true},
		{name: "IPv6", host: "[::1]:8080", site: "same-origin", ok: true},
		{name: "bearer token", host: own, token: true, ok: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, func(o *Options) {
				o.PublicURL = tt.public
				if tt.login {
					o.Auth = fixed{Identity{Name: "ada", Role: Admin}}
				}
			})
			r := httptest.NewRequest("POST", "/", nil)
			r.Host = tt.host
			if tt.site != "" {
				r.Header.Set("Sec-Fetch-Site", tt.site)
			}
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			p := b.checkOrigin(r, Identity{Token: tt.token})
			require.Equal(t, tt.ok, p == nil, "%v", p)
			if p != nil {
				require.Equal(t, 403, p.Status)
				require.NotEmpty(t, p.Detail)
			}
		})
	}
}

// TestReadsUnderAnotherName: without a login nothing is shown under a name that somebody else may have pointed here.
func TestReadsUnderAnotherName(t *testing.T) {
	machines := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("for machines")) })
	b := newBench(t, func(o *Options) { o.Metrics, o.Callback, o.PublicURL = machines, machines, "https://ops.example" })
	under := func(host, path string) answer {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = host
		return b.do(r)
	}
	for _, route := range b.Routes() {
		path, ok := strings.CutPrefix(route, "GET ")
		if !ok {
			continue
		}
		path = strings.NewReplacer(":queue", "email", ":id", "1").Replace(path)
		if open := path == "/healthz" || path == "/readyz" || path == "/metrics" || strings.HasPrefix(path, "/callback/"); open {
			require.Equal(t, http.StatusOK, under("evil.example", path).status, path)
			continue
		}
		a := under("evil.example:8080", path)
		require.Equal(t, http.StatusForbidden, a.status, path)
		require.Contains(t, a.body, "set public_url", path)
		require.NotContains(t, a.body, "<html", "a page has figures in its frame")
	}
	require.Equal(t, http.StatusForbidden, under("evil.example", "/nowhere").status)
	for _, host := range []string{"127.0.0.1:8080", "[::1]", "localhost:1", "bullpen", "ops.example", "Ops.example:8443"} {
		require.Equal(t, http.StatusOK, under(host, "/api/v1/queues").status, host)
	}
	login := newBench(t, func(o *Options) { o.Auth = fixed{Identity{Name: "ada", Role: Admin}} })
	r := httptest.NewRequest(http.MethodGet, "/api/v1/queues", nil)
	r.Host = "any.example"
	require.Equal(t, http.StatusOK, login.do(r).status, "the session's cookie is asked for instead")
}

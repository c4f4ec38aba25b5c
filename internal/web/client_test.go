package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAuditNamesTheClient: an address that somebody claims to have counts only where a trusted proxy passes it on.
func TestAuditNamesTheClient(t *testing.T) {
	for name, tt := range map[string]struct{ peer, forwarded, want string }{
		"straight":             {"192.0.2.1:9", "198.51.100.7", "192.0.2.1"},
		"through a proxy":      {"10.0.0.1:9", "198.51.100.7", "198.51.100.7"},
		"a claim in front":     {"10.0.0.1:9", "127.0.0.1, 198.51.100.7", "198.51.100.7"},
		"through two proxies":  {"10.0.0.1:9", "198.51.100.7, 10.0.0.2", "198.51.100.7"},
		"from the proxy's own": {"10.0.0.1:9", "", "10.0.0.1"},
		"nonsense":             {"10.0.0.1:9", "198.51.100.7, <b>", "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *Options) { o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
			r := formRequest("/queues/email/pause", nil)
			r.RemoteAddr = tt.peer
			r.Header.Set("X-Forwarded-For", tt.forwarded)
			r.Header.Set("X-Real-Ip", "203.0.113.9")
			b.do(r)
			require.Equal(t, tt.want, b.audit.take()[0].Remote)
		})
	}
	require.False(t, ClientAddress(&http.Request{RemoteAddr: "@"}, nil).IsValid())
	require.True(t, FromTrusted(httptest.NewRequest(http.MethodGet, "/", nil), []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}))
}

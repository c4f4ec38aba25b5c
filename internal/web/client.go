package web

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// ClientAddress tells where a request comes from. Each proxy adds the address it was asked from to the end of
// X-Forwarded-For, so the header is read from there for as long as the addresses are those of trusted proxies; what
// stands before the first other one is anybody's claim. The zero address means that it cannot be told.
func ClientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	addr := peer(r)
	hops := strings.Split(strings.Join(r.Header.Values(echo.HeaderXForwardedFor), ","), ",")
	for _, hop := range slices.Backward(hops) {
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil || !among(trusted, addr) {
			break
		}
		addr = plainAddr(before)
	}
	return addr
}

// FromTrusted reports whether a request comes straight from one of the trusted proxies.
func FromTrusted(r *http.Request, trusted []netip.Prefix) bool { return among(trusted, peer(r)) }

func among(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// peer is the address at the other end of the connection; the zero address when it has none.
func peer(r *http.Request) netip.Addr {
	p, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return plainAddr(p.Addr())
}

func plainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// clientAddress is what c.RealIP returns.
func (s *Server) clientAddress(r *http.Request) string {
	if addr := ClientAddress(r, s.o.TrustedProxies); addr.IsValid() {
		return addr.String()
	}
	return ""
}

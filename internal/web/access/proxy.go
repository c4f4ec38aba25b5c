package access

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"unicode"

	"bullpen/internal/web"
)

// Proxy lets in whom a proxy in front names.
type Proxy struct {
	// Header has the user's name; RolesHeader, if set, roles separated by commas, of which the highest counts. Without
	// it everybody is a viewer.
	Header, RolesHeader string
}

// identify returns whom the proxy names; ok is false when it names nobody or is none of the trusted.
func (p *Proxy) identify(r *http.Request, trusted []netip.Prefix) (who web.Identity, ok bool, err error) {
	names := r.Header.Values(p.Header)
	if len(names) == 0 || !web.FromTrusted(r, trusted) {
		return web.Identity{}, false, nil
	}
	name := strings.TrimSpace(names[0])
	// Two headers mean that the proxy added its own to one that somebody sent.
	if len(names) > 1 || len(name) > maxName || strings.ContainsFunc(name, unicode.IsControl) {
		return web.Identity{}, false, fmt.Errorf("the proxy's header %s does not hold one name", p.Header)
	}
	if name == "" {
		return web.Identity{}, false, nil
	}
	who = web.Identity{Name: name, Role: web.Viewer}
	if p.RolesHeader == "" {
		return who, true, nil
	}
	who.Role = web.NoRole
	// As with the name, two headers are one too many.
	if roles := r.Header.Values(p.RolesHeader); len(roles) == 1 {
		for word := range strings.SplitSeq(roles[0], ",") {
			who.Role = max(who.Role, web.ParseRole(strings.ToLower(strings.TrimSpace(word))))
		}
	}
	if who.Role == web.NoRole {
		return web.Identity{}, false, noRole(name)
	}
	return who, true, nil
}

// noRole is the answer to somebody who is known but has no business here.
func noRole(name string) error {
	return web.Refuse(http.StatusForbidden, "No role", clip(name)+" is signed in but has no role in this Bullpen: viewer, operator or admin.", nil)
}

package web

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// checkOrigin refuses a write that a page of somebody else made a browser send. Browsers say so in Sec-Fetch-Site;
// where that is absent (plain HTTP on another host) Origin must be the host asked or the public address. A request
// that says neither is refused too: only a program sends it, and a program can say where it means to write.
func (s *Server) checkOrigin(r *http.Request, who Identity) *Problem {
	if who.Token {
		return nil
	}
	if !s.trustedHost(r.Host) {
		return unknownHost(r.Host)
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "same-origin", "none":
		return nil
	case "":
	default:
		return problem(http.StatusForbidden, "Refused: sent from another site", "The browser says the request comes from a page of another site (%s).", site)
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return problem(http.StatusForbidden, "Refused: origin unknown",
			"The request has neither Sec-Fetch-Site nor Origin. Programs send Origin: http://%s, or a bearer token.", r.Host)
	}
	if u, err := url.Parse(origin); err == nil && u.Host != "" {
		if u.Host == r.Host || s.public != nil && u.Host == s.public.Host && u.Scheme == s.public.Scheme {
			return nil
		}
	}
	return problem(http.StatusForbidden, "Refused: sent from another site", "The request comes from %s, this is %s.", origin, r.Host)
}

func unknownHost(host string) *Problem {
	return problem(http.StatusForbidden, "Refused: unknown host",
		"The request names the host %s. Without a login only addresses and names without a dot may be used; set public_url to allow this one.", clip(host, 300))
}

// checkHost refuses to show anything to a page whose name somebody points at this machine: to the browser both are one
// site. Probes, scrapes and callbacks stay open, they are read by no browser and come under any name. The answer is
// plain, since a page has figures in its frame.
func (s *Server) checkHost(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if s.trustedHost(r.Host) || openToAnyHost(r.URL.Path) {
			return next(c)
		}
		p := unknownHost(r.Host)
		if wantsJSON(r) {
			return p
		}
		return c.String(p.Status, p.Error()+"\n")
	}
}

func openToAnyHost(path string) bool {
	switch path {
	case "/healthz", "/readyz", "/metrics":
		return true
	}
	return strings.HasPrefix(path, "/callback/")
}

// trustedHost guards dashboards without a login against names that somebody else points at this machine: it accepts
// addresses, names without a dot, localhost and the public address. With a login the session's cookie does that.
func (s *Server) trustedHost(hostport string) bool {
	if s.o.Auth != nil {
		return true
	}
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if s.public != nil && strings.EqualFold(host, s.public.Hostname()) {
		return true // proxies name the port or do not
	}
	return net.ParseIP(host) != nil || !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost")
}

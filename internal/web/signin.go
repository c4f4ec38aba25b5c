package web

import (
	"net/http"
	"net/url"
	"strings"

	"bullpen/templates"

	"github.com/labstack/echo/v4"
)

const (
	// maxSignIn bounds the form with name and password, maxBack the address to return to; in bytes.
	maxSignIn = 64 << 10
	maxBack   = 2 << 10
)

// SignIn is an Authenticator whose users sign in on pages of ours. Errors that are a Problem are shown as they are.
type SignIn interface {
	Authenticator
	// Ways says how a browser can sign in: with a password, and at a provider, by its name; "" means there is none.
	Ways() (password bool, provider string)
	// Password begins a session for the user whose password it is.
	Password(w http.ResponseWriter, r *http.Request, name, password string) (Identity, error)
	// Depart returns the provider's address to go to; Arrive begins a session for whom it sends back, and returns the
	// back that Depart was given.
	Depart(w http.ResponseWriter, r *http.Request, back string) (address string, err error)
	Arrive(w http.ResponseWriter, r *http.Request) (who Identity, back string, err error)
	// Renew keeps the session of a request from running out while it is used.
	Renew(w http.ResponseWriter, r *http.Request)
	// SignOut ends the session in this browser.
	SignOut(w http.ResponseWriter, r *http.Request)
}

// signIn returns the login, nil when there is none.
func (s *Server) signIn() SignIn {
	l, _ := s.o.Auth.(SignIn)
	return l
}

// signInRoutes adds the pages of a login. Signing in and out change nothing in Redis, so the gate has no part in them;
// they check the origin themselves.
func (s *Server) signInRoutes(e *echo.Echo) {
	if s.signIn() == nil {
		return
	}
	e.GET("/login", s.signInPage)
	e.POST("/login", s.password)
	e.POST("/logout", s.signOut)
	e.GET("/oidc", s.depart)
	e.GET("/oidc/callback", s.arrive)
}

func (s *Server) signInPage(c echo.Context) error {
	back := backFrom(c.QueryParam("back"))
	if who, err := s.identify(c.Request()); err == nil && who.Role > NoRole {
		return c.Redirect(http.StatusSeeOther, s.links.to(back))
	}
	return s.showSignIn(c, http.StatusOK, templates.SignIn{Back: back})
}

// showSignIn draws the form; v says what is different from an empty one.
func (s *Server) showSignIn(c echo.Context, status int, v templates.SignIn) error {
	password, provider := s.signIn().Ways()
	if password {
		v.URL = s.links.to("/login")
	}
	if provider != "" {
		v.Provider, v.ProviderURL = provider, s.links.to(withQuery("/oidc", url.Values{"back": {v.Back}}))
	}
	return s.showView(c, s.viewRequest(c, Identity{}), view{title: "Sign in", content: templates.SignInPage(v), status: status})
}

func (s *Server) password(c echo.Context) error {
	r := c.Request()
	if p := s.checkOrigin(r, Identity{}); p != nil {
		return p
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxSignIn)
	if err := r.ParseForm(); err != nil {
		return badBody(err)
	}
	name, back := r.PostForm.Get("name"), backFrom(r.PostForm.Get("back"))
	who, err := s.signIn().Password(c.Response(), r, name, r.PostForm.Get("password"))
	if err != nil {
		p := asProblem(err)
		if wantsJSON(r) {
			return p
		}
		return s.showSignIn(c, p.Status, templates.SignIn{Back: back, Name: clip(name, 200), Problem: p.Detail})
	}
	return s.signedIn(c, who, back)
}

func (s *Server) depart(c echo.Context) error {
	address, err := s.signIn().Depart(c.Response(), c.Request(), backFrom(c.QueryParam("back")))
	if err != nil {
		return s.signInFailed(err)
	}
	return c.Redirect(http.StatusSeeOther, address)
}

func (s *Server) arrive(c echo.Context) error {
	who, back, err := s.signIn().Arrive(c.Response(), c.Request())
	if err != nil {
		return s.signInFailed(err)
	}
	return s.signedIn(c, who, backFrom(back))
}

// signInFailed adds the way to another try.
func (s *Server) signInFailed(err error) error {
	p := *asProblem(err)
	p.Links = []templates.Link{{Label: "Sign in", URL: s.links.to("/login")}}
	return &p
}

// signedIn goes to the page that was asked for.
func (s *Server) signedIn(c echo.Context, who Identity, back string) error {
	s.log.InfoContext(c.Request().Context(), "signed in", "who", who.Name, "role", who.Role.String(), "remote", c.RealIP())
	return c.Redirect(http.StatusSeeOther, s.links.to(back))
}

func (s *Server) signOut(c echo.Context) error {
	if p := s.checkOrigin(c.Request(), Identity{}); p != nil {
		return p
	}
	s.signIn().SignOut(c.Response(), c.Request())
	return c.Redirect(http.StatusSeeOther, s.links.to("/login"))
}

// renew keeps the session of somebody who reads pages.
func (s *Server) renew(c echo.Context) {
	if l := s.signIn(); l != nil {
		l.Renew(c.Response(), c.Request())
	}
}

// user is what the foot says about who is signed in.
func (s *Server) user(who Identity) templates.User {
	if s.o.Auth == nil {
		return templates.User{}
	}
	u := templates.User{Name: who.Name, Role: who.Role.String()}
	if who.Session {
		u.SignOut = s.links.to("/logout")
	}
	return u
}

// askToSignIn sends a person to the sign-in page and back to where they were. It leaves programs, and logins that have
// no page, to the error.
func (s *Server) askToSignIn(c echo.Context) bool {
	c.Response().Header().Set(echo.HeaderWWWAuthenticate, `Bearer realm="bullpen"`)
	r := c.Request()
	l := s.signIn()
	if l == nil || wantsJSON(r) {
		return false
	}
	if password, provider := l.Ways(); !password && provider == "" {
		return false
	}
	back := r.URL.EscapedPath()
	if r.URL.RawQuery != "" {
		back += "?" + r.URL.RawQuery
	}
	if r.Method != http.MethodGet {
		back = s.referrer(r)
	}
	return c.Redirect(http.StatusSeeOther, s.links.to(withQuery("/login", url.Values{"back": {back}}))) == nil
}

// referrer is the page of ours that a form was on, "/" when unknown.
func (s *Server) referrer(r *http.Request) string {
	u, err := url.Parse(r.Referer())
	if err != nil || u.Host != r.Host && (s.public == nil || u.Host != s.public.Host) {
		return "/"
	}
	back, ok := strings.CutPrefix(u.RequestURI(), s.o.BasePath)
	if !ok {
		return "/"
	}
	return back
}

// backFrom is where to go after signing in: a page of ours, and none of those that sign in or out.
func backFrom(back string) string {
	back = safeBack(back)
	path, _, _ := strings.Cut(back, "?")
	if len(back) > maxBack || path == "/login" || path == "/logout" || path == "/oidc" || strings.HasPrefix(path, "/oidc/") {
		return "/"
	}
	return back
}

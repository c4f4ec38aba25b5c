package web_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/monitor/alerting"
	"bullpen/internal/web"
	"bullpen/internal/web/access"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// still is a collector whose figures do not move. Nothing else of it may be asked: a request that should have been
// refused would be found out by it.
type still struct {
	web.Monitor
	snap *monitor.Snapshot
}

func (s still) Snapshot() *monitor.Snapshot { return s.snap }

func (still) Alerts() []alerting.Status { return nil } // the top bar counts them

// desk is a dashboard with a login: the viewer vic, the admin root and the program ci, an operator of mail-*.
type desk struct {
	*web.Server
	t *testing.T
}

func newDesk(t *testing.T, change ...func(*access.Options)) desk {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	o := access.Options{
		Users:    []access.User{{Name: "vic", Hash: hash, Role: web.Viewer}, {Name: "root", Hash: hash, Role: web.Admin}},
		Tokens:   []access.Token{{Name: "ci", Sum: sha256.Sum256([]byte("tok")), Role: web.Operator, Queues: []string{"mail-*"}}},
		BasePath: "/ops", Key: func(context.Context) ([]byte, error) { return []byte("k"), nil },
	}
	for _, c := range change {
		c(&o)
	}
	login, err := access.New(o)
	require.NoError(t, err)
	snap := &monitor.Snapshot{At: time.Now(), Queues: []*monitor.Queue{
		{Queue: keys.Queue{Prefix: "bull", Name: "mail-in"}, Health: monitor.Healthy},
		{Queue: keys.Queue{Prefix: "bull", Name: "video"}, Health: monitor.Healthy},
	}}
	s, err := web.New(web.Options{
		Monitor: still{snap: snap}, Auth: login, BasePath: "/ops", Metrics: http.NotFoundHandler(),
		Queue: func(keys.Queue) (*engine.Queue, error) { return nil, errors.New("nothing is to be asked of Redis") },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Shutdown(context.Background())) })
	return desk{s, t}
}

// ask sends a request as a browser does from one of our pages.
func (d desk) ask(method, path string, form url.Values, change ...func(*http.Request)) (*http.Response, string) {
	d.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, r)
	res := w.Result()
	body, err := io.ReadAll(res.Body)
	require.NoError(d.t, err)
	return res, string(body)
}

// signIn returns what sends requests as name.
func (d desk) signIn(name string) func(*http.Request) {
	d.t.Helper()
	res, body := d.ask(http.MethodPost, "/ops/login", url.Values{"name": {name}, "password": {"right"}})
	require.Equal(d.t, http.StatusSeeOther, res.StatusCode, body)
	return func(r *http.Request) {
		for _, c := range res.Cookies() {
			r.AddCookie(c)
		}
	}
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func TestSignInAndOut(t *testing.T) {
	d := newDesk(t)
	res, body := d.ask(http.MethodGet, "/ops/queues/video?state=failed&q=a%20b", nil)
	require.Equal(t, http.StatusSeeOther, res.StatusCode, body)
	login := res.Header.Get("Location")
	require.Equal(t, "/ops/login?back=%2Fqueues%2Fvideo%3Fstate%3Dfailed%26q%3Da%2520b", login)
	_, page := d.ask(http.MethodGet, login, nil)
	require.Contains(t, page, `action="/ops/login"`)
	require.Contains(t, page, `name="back" value="/queues/video?state=failed&amp;q=a%20b"`)
	for _, secret := range []string{"video", "mail-in", `class="nav"><ul>`, "default, bull"} {
		require.NotContains(t, strings.ReplaceAll(page, "/queues/video?", ""), secret, "strangers learn nothing")
	}

	form := url.Values{"name": {"vic"}, "password": {"wrong"}, "back": {"/queues/video?state=failed&q=a%20b"}}
	res, wrong := d.ask(http.MethodPost, "/ops/login", form)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	require.Contains(t, wrong, "Name or password is wrong.")
	require.Contains(t, wrong, `value="vic"`)
	require.NotContains(t, wrong, `value="wrong"`)
	require.Empty(t, res.Cookies())
	res, unknown := d.ask(http.MethodPost, "/ops/login", url.Values{"name": {"nobody"}, "password": {"wrong"}, "back": form["back"]})
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	require.Equal(t, wrong, strings.ReplaceAll(unknown, "nobody", "vic"), "the answer does not tell names")

	form.Set("password", "right")
	res, _ = d.ask(http.MethodPost, "/ops/login", form)
	require.Equal(t, http.StatusSeeOther, res.StatusCode)
	require.Equal(t, "/ops/queues/video?state=failed&q=a%20b", res.Header.Get("Location"))
	require.Equal(t, "/ops/", res.Cookies()[0].Path)

	vic := d.signIn("vic")
	res, body = d.ask(http.MethodGet, "/ops/nowhere", nil, vic)
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	require.Contains(t, body, "Signed in as vic (viewer)")
	require.Contains(t, body, `action="/ops/logout"`)
	res, _ = d.ask(http.MethodGet, login, nil, vic)
	require.Equal(t, "/ops/queues/video?state=failed&q=a%20b", res.Header.Get("Location"), "who is in goes on")

	res, _ = d.ask(http.MethodPost, "/ops/logout", nil, vic)
	require.Equal(t, "/ops/login", res.Header.Get("Location"))
	require.Equal(t, -1, res.Cookies()[0].MaxAge)
	res, _ = d.ask(http.MethodGet, "/ops/logout", nil, vic)
	require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode, "no link signs anybody out")
}

func TestSignInFromOtherSites(t *testing.T) {
	d := newDesk(t)
	form := url.Values{"name": {"vic"}, "password": {"right"}}
	for _, path := range []string{"/ops/login", "/ops/logout"} {
		for _, change := range []func(*http.Request){
			header("Sec-Fetch-Site", "cross-site"),
			func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") },
			func(r *http.Request) {
				r.Header.Del("Sec-Fetch-Site")
				r.Header.Set("Origin", "http://evil.example")
			},
		} {
			res, _ := d.ask(http.MethodPost, path, form, change)
			require.Equal(t, http.StatusForbidden, res.StatusCode, path)
			require.Empty(t, res.Cookies())
		}
	}
}

func TestBackStaysHere(t *testing.T) {
	d := newDesk(t)
	for back, want := range map[string]string{
		"/failures?q=x": "/ops/failures?q=x", "": "/ops/", "//evil.example": "/ops/", "https://evil.example": "/ops/",
		`/\evil.example`: "/ops/", "/\t/evil.example": "/ops/", "/login?back=/login": "/ops/", "/logout": "/ops/", "/oidc": "/ops/",
		"/" + strings.Repeat("a", 3000): "/ops/",
	} {
		res, _ := d.ask(http.MethodPost, "/ops/login", url.Values{"name": {"vic"}, "password": {"right"}, "back": {back}})
		require.Equal(t, want, res.Header.Get("Location"), back)
	}
}

// TestSessionThatEndedInAForm: a form sent too late leads back to the page it was on.
func TestSessionThatEndedInAForm(t *testing.T) {
	d := newDesk(t)
	for referrer, want := range map[string]string{
		"http://example.com/ops/queues/video?page=2": "/queues/video?page=2",
		"http://evil.example/ops/queues/video":       "/",
		"":                                           "/",
	} {
		res, _ := d.ask(http.MethodPost, "/ops/queues/video/pause", nil, header("Referer", referrer))
		require.Equal(t, http.StatusSeeOther, res.StatusCode)
		require.Equal(t, "/ops/login?back="+url.QueryEscape(want), res.Header.Get("Location"))
	}
}

func TestThrottledSignIn(t *testing.T) {
	now := time.Now()
	d := newDesk(t, func(o *access.Options) { o.Clock = func() time.Time { return now } })
	form := url.Values{"name": {"vic"}, "password": {"wrong"}}
	for range 5 {
		d.ask(http.MethodPost, "/ops/login", form)
	}
	form.Set("password", "right")
	res, body := d.ask(http.MethodPost, "/ops/login", form)
	require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	require.Equal(t, "30", res.Header.Get("Retry-After"))
	require.Contains(t, body, "The next one is allowed in 30 s.")
	now = now.Add(30 * time.Second)
	res, _ = d.ask(http.MethodPost, "/ops/login", form)
	require.Equal(t, http.StatusSeeOther, res.StatusCode)
}

func TestPrograms(t *testing.T) {
	d := newDesk(t)
	token := header("Authorization", "Bearer tok")
	noOrigin := func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }
	res, body := d.ask(http.MethodGet, "/ops/api/v1/queues", nil, token)
	require.Equal(t, http.StatusOK, res.StatusCode, body)
	require.Contains(t, body, "mail-in")
	require.NotContains(t, body, "video", "it is for mail-* only")
	for path, want := range map[string]string{"mail-in/obliterate": "needs the role admin; ci has the role operator", "video/pause": "Not allowed", "mail-none/pause": "No queue named"} {
		_, body := d.ask(http.MethodPost, "/ops/api/v1/queues/"+path, nil, token, noOrigin)
		require.Contains(t, body, want, "no origin is asked of a program")
	}
	for _, change := range []func(*http.Request){header("Authorization", "Bearer nope"), func(*http.Request) {}} {
		res, body = d.ask(http.MethodGet, "/ops/api/v1/queues", nil, change)
		require.Equal(t, http.StatusUnauthorized, res.StatusCode)
		require.Equal(t, "application/problem+json", res.Header.Get("Content-Type"))
		require.Equal(t, `Bearer realm="bullpen"`, res.Header.Get("WWW-Authenticate"))
		require.NotContains(t, body, "mail-in")
	}
}

// TestWithoutAPage: where only programs and a proxy get in, people are told so and not sent in circles.
func TestWithoutAPage(t *testing.T) {
	d := newDesk(t, func(o *access.Options) { o.Users = nil })
	res, body := d.ask(http.MethodGet, "/ops/", nil)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	require.Contains(t, body, "Please sign in")
	_, body = d.ask(http.MethodGet, "/ops/login", nil)
	require.Contains(t, body, "Nobody signs in here")
}

// open are the routes that need no login.
var open = map[string]bool{
	"GET /healthz": true, "GET /readyz": true, "GET /metrics": true, "GET /static/:name": true, "GET /favicon.ico": true,
	"GET /login": true, "POST /login": true, "POST /logout": true, "GET /oidc": true, "GET /oidc/callback": true,
}

// TestEveryRouteAsksWhoItIs walks the route table as a stranger: no route but the open ones answers.
func TestEveryRouteAsksWhoItIs(t *testing.T) {
	d := newDesk(t)
	walked := 0
	for _, route := range d.Routes() {
		if open[route] {
			continue
		}
		method, path, _ := strings.Cut(route, " ")
		res, body := d.ask(method, "/ops"+web.FillIn(t, path, "1")+"?topics=/", nil)
		if strings.HasPrefix(path, "/api/") || path == "/live" { // what programs and scripts read
			require.Equal(t, http.StatusUnauthorized, res.StatusCode, "%s: %s", route, body)
		} else {
			require.Equal(t, http.StatusSeeOther, res.StatusCode, "%s: %s", route, body)
			require.True(t, strings.HasPrefix(res.Header.Get("Location"), "/ops/login"), route)
		}
		walked++
	}
	require.Greater(t, walked, 40)
}

// TestNoWriteForViewers walks the route table with a viewer's session.
func TestNoWriteForViewers(t *testing.T) {
	d := newDesk(t)
	vic := d.signIn("vic")
	walked := 0
	for _, route := range d.Routes() {
		method, path, _ := strings.Cut(route, " ")
		if open[route] || method == http.MethodGet || path == "/zone" {
			continue
		}
		res, body := d.ask(method, "/ops"+web.FillIn(t, path, "1"), url.Values{"confirm": {"yes"}, "id": {"1"}}, vic, header("Accept", "application/json"))
		require.Equal(t, http.StatusForbidden, res.StatusCode, "%s: %s", route, body)
		require.Contains(t, body, "vic has the role viewer", route)
		walked++
	}
	require.Greater(t, walked, 20)
}

package browser

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"bullpen/internal/engine"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// Ways in which a page's connection to Bullpen can be gone.
const (
	whole   int32 = iota
	refused       // a proxy answers instead
	dropped       // nobody answers
)

// wire stands between a browser and Bullpen and can be cut.
type wire struct {
	*endpoint
	state atomic.Int32
}

func newWire(t *testing.T, b *bullpen) *wire {
	t.Helper()
	to, err := url.Parse(b.URL)
	require.NoError(t, err)
	w := &wire{}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	w.endpoint = newEndpoint(t, func(rw http.ResponseWriter, r *http.Request) {
		switch w.state.Load() {
		case refused:
			rw.WriteHeader(http.StatusBadGateway)
		case dropped:
			panic(http.ErrAbortHandler)
		default:
			proxy.ServeHTTP(rw, r)
		}
	})
	w.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(w.CloseClientConnections)
	return w
}

// cut ends every connection; those that follow fare as state says.
func (w *wire) cut(state int32) {
	w.state.Store(state)
	w.CloseClientConnections()
}

const lostText = "The connection to Bullpen is lost."

// Figures that are old because Bullpen is out of reach say so, without moving what the reader looks at.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	b := serve(t, "")
	b.queue("mail").addMany(3, engine.JobOptions{})
	w := newWire(t, b)
	for name, how := range map[string]int32{"refused": refused, "dropped": dropped} {
		t.Run(name, func(t *testing.T) {
			w.cut(whole)
			p := chrome.tab(t, w.URL+"/", look{width: phone.width, height: phone.height})
			p.openQueue("mail", "waiting")
			p.until("it is live", status("Live"))
			where := must[float64](p, `document.querySelector('main .head').getBoundingClientRect().top`)
			w.cut(how)
			p.sees(lostText)
			p.sees("The last good read was at")
			require.Equal(t, where, must[float64](p, `document.querySelector('main .head').getBoundingClientRect().top`), "nothing may move")
			p.until("it can be seen", `(() => { const r = document.querySelector('#lost .note').getBoundingClientRect(); return r.top > 0 && r.bottom <= innerHeight && r.right <= innerWidth })()`)
			p.accessible("{}")
			p.scheme("dark")
			p.accessible("{}")
			p.mark()
			w.cut(whole)
			p.until("it is gone", `!`+shows("document.body", lostText))
			p.until("it is live", status("Live"))
			require.False(t, p.reloaded())
			p.expect("502")
			p.expectCut()
		})
	}
}

// Whoever is signed out elsewhere comes to the sign-in page, unless something on the page would be lost by it.
func TestEndOfSession(t *testing.T) {
	t.Parallel()
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	b := serve(t, fmt.Sprintf("auth: {users: [{name: opal, password_hash: %q, role: operator}]}\n", hash))
	b.queue("mail").addMany(3, engine.JobOptions{})
	w := newWire(t, b)
	p := chrome.tab(t, w.URL+"/", look{})
	signIn := func() {
		p.fill("name", "opal")
		p.fill("password", "right")
		p.click("Sign in")
		p.sees("Signed in as opal")
		p.openQueue("mail", "waiting")
		p.until("it is live", status("Live"))
	}
	end := func() {
		_, err := chromedp.Call(p.ctx, network.ClearBrowserCookies, cdp.Empty{})
		require.NoError(t, err)
		w.cut(whole)
	}
	p.open("queues/mail")
	signIn()
	end()
	p.at("/login?back=")
	p.expect("401")

	signIn()
	p.press("j", "x")
	end()
	p.sees("You are signed out.")
	require.True(t, must[bool](p, `document.querySelector('.tk').checked`), "what is ticked stays")
	p.clickIn("#lost", "Sign in")
	p.at("/login?back=")
	p.expect("401")
	p.expectCut()
}

package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var clockIn = regexp.MustCompile(`"clock":"(.*?)"`)

// A reader's zone is kept in a cookie, and everything drawn for them is in it: the page and its stream.
func TestZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 12, 22, 30, 0, 0, time.UTC)
	b := newBench(t, func(o *Options) { o.Clock = func() time.Time { return at } })
	snap := *b.monitor.Snapshot()
	snap.At = at
	b.monitor.publish(&snap)
	in := func(cookie *http.Cookie) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if cookie != nil {
			r.AddCookie(cookie)
		}
		return b.do(r).body
	}
	has(t, in(nil), "12 March 2026, 22:30:00 UTC")
	has(t, b.get("/zone?back=/workers").body, `<option value="UTC" selected>UTC, this Bullpen&#39;s own</option>`)

	a := b.post("/zone", url.Values{"zone": {"Asia/Tokyo"}, "back": {"/workers?x=1"}})
	require.Equal(t, http.StatusSeeOther, a.status)
	require.Equal(t, "/workers?x=1", a.header.Get("Location"))
	res := http.Response{Header: a.header}
	tokyo := res.Cookies()[0]
	require.True(t, tokyo.HttpOnly)
	page := in(tokyo)
	has(t, page, "13 March 2026, 07:30:00 JST")
	has(t, page, "Times in Asia/Tokyo, change")
	has(t, in(&http.Cookie{Name: tokyo.Name, Value: "Atlantis/Center"}), "22:30:00 UTC")

	server := httptest.NewServer(b.Handler())
	t.Cleanup(server.Close)
	clock := func(cookie *http.Cookie) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/live?topics=/", nil)
		require.NoError(t, err)
		if cookie != nil {
			r.AddCookie(cookie)
		}
		res, err := server.Client().Do(r)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		first := make([]byte, 64<<10)
		text := ""
		for !clockIn.MatchString(text) {
			n, err := res.Body.Read(first)
			require.NoError(t, err)
			text += string(first[:n])
		}
		return clockIn.FindStringSubmatch(text)[1]
	}
	require.Equal(t, "22:30:00", clock(nil))
	require.Equal(t, "07:30:00", clock(tokyo))

	a = b.post("/zone", url.Values{"zone": {"UTC"}, "back": {"//evil.example"}})
	require.Equal(t, "/", a.header.Get("Location"))
	res = http.Response{Header: a.header}
	require.Negative(t, res.Cookies()[0].MaxAge, "the own zone needs no cookie")
	for _, wrong := range []string{"", "Local", "../../etc/passwd", "Atlantis/Center"} {
		a := b.post("/zone", url.Values{"zone": {wrong}})
		require.Equal(t, http.StatusUnprocessableEntity, a.status, wrong)
		has(t, a.body, "There is no time zone")
	}
	r := formRequest("/zone", url.Values{"zone": {"Asia/Tokyo"}})
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, b.do(r).status)
}

// Readers cannot make the server keep more zones than it has room for.
func TestZonesAreBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range append(commonZones(), "Etc/GMT+1", "Etc/GMT+2", "Etc/GMT+3") {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: zoneCookie, Value: name})
		z := b.forReader(r)
		require.Equal(t, name, z.o.Zone.String(), "every zone that is offered exists")
		require.Same(t, z, b.forReader(r))
		require.LessOrEqual(t, len(b.zones.by), maxZones)
	}
}

package access

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

func TestPasswords(t *testing.T) {
	g := newRig(t)
	for name, password := range map[string]string{"ada": "wrong", "bob": "right", "": "right", strings.Repeat("a", 300): "x", "ADA": "right"} {
		_, err := g.try(name, password, "192.0.2.1:1")
		require.ErrorIs(t, err, errWrong, name)
		require.Equal(t, http.StatusUnauthorized, status(err))
		g.now = g.now.Add(time.Hour)
	}
}

// TestUnknownNamesCostAsMuch: the decoy is the most expensive hash there is.
func TestUnknownNamesCostAsMuch(t *testing.T) {
	dear, err := bcrypt.GenerateFromPassword([]byte("x"), bcrypt.MinCost+2)
	require.NoError(t, err)
	p, err := newPasswords([]User{{Name: "a", Hash: hash(t, "x")}, {Name: "b", Hash: dear}, {Name: "c", Hash: hash(t, "x")}}, time.Now)
	require.NoError(t, err)
	require.Equal(t, dear, p.decoy)
	_, err = p.check(t.Context(), "nobody", "x", netip.Addr{})
	require.ErrorIs(t, err, errWrong, "the decoy's password lets nobody in")
}

func TestThrottle(t *testing.T) {
	g := newRig(t)
	for range 5 {
		_, err := g.try("ada", "wrong", "192.0.2.1:1")
		require.ErrorIs(t, err, errWrong)
	}
	_, err := g.try("ada", "right", "192.0.2.1:2")
	require.Equal(t, http.StatusTooManyRequests, status(err), "the right password too, or it could be guessed all the same")
	_, err = g.try("ada", "right", "192.0.2.9:1")
	require.NoError(t, err, "from elsewhere she gets in")
	_, err = g.try("bob", "wrong", "192.0.2.1:1")
	require.ErrorIs(t, err, errWrong, "and others do from there")

	w, r := httptest.NewRecorder(), request(nil)
	r.RemoteAddr = "192.0.2.1:1"
	_, err = g.Password(w, r, "ada", "right")
	require.Equal(t, "30", w.Header().Get("Retry-After"))
	require.ErrorContains(t, err, "in 30 s")
	g.now = g.now.Add(30 * time.Second)
	_, err = g.try("ada", "right", "192.0.2.1:1")
	require.NoError(t, err)
}

func TestThrottleByPlaceAndName(t *testing.T) {
	g := newRig(t)
	refused := func(n int, try func(i int) error) (at int) {
		for i := range n {
			if status(try(i)) == http.StatusTooManyRequests {
				return i
			}
		}
		return n
	}
	require.Equal(t, 20, refused(100, func(i int) error {
		// One /64 is one place.
		_, err := g.try(fmt.Sprintf("user%d", i), "x", fmt.Sprintf("[2001:db8::%x]:1", i+1))
		return err
	}), "many names from one place")
	require.Equal(t, 50, refused(100, func(i int) error {
		_, err := g.try("ada", "x", fmt.Sprintf("192.0.2.%d:1", i))
		return err
	}), "one name from many places")
}

func TestRightPasswordsDoNotCount(t *testing.T) {
	g := newRig(t)
	for range 100 {
		g.signIn()
	}
}

// TestManyAtOnce: tries under way count, or a burst would be a way around the limit.
func TestManyAtOnce(t *testing.T) {
	g := newRig(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	checked := 0
	for range 50 {
		wg.Go(func() {
			_, err := g.try("ada", "wrong", "192.0.2.1:1")
			mu.Lock()
			defer mu.Unlock()
			if errors.Is(err, errWrong) {
				checked++
			}
		})
	}
	wg.Wait()
	require.Equal(t, 5, checked)
}

func TestThrottleIsBounded(t *testing.T) {
	now := time.Unix(0, 0)
	th := newThrottle(func() time.Time { return now })
	most := 0
	for i := range 3 * maxBuckets {
		th.take([]limit{{fmt.Sprint(i), 1, time.Hour}})
		most = max(most, len(th.full))
	}
	require.Equal(t, maxBuckets, most)
	now = now.Add(time.Hour)
	for i := 0; len(th.full) < maxBuckets; i++ {
		th.take([]limit{{fmt.Sprint("later ", i), 1, 2 * time.Hour}})
	}
	th.take([]limit{{"one more", 1, 2 * time.Hour}})
	require.LessOrEqual(t, len(th.full), maxBuckets*3/4+1, "what is full again is forgotten")
}

// TestAddressBehindProxy: the throttle counts people, not their common proxy.
func TestAddressBehindProxy(t *testing.T) {
	g := newRig(t, func(o *Options) {
		o.Trusted = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	for name, tt := range map[string]struct{ peer, forwarded, want string }{
		"through the proxy":  {"10.0.0.1:1", "198.51.100.1, 192.0.2.7", "192.0.2.7"},
		"two proxies":        {"10.0.0.1:1", "198.51.100.1, 192.0.2.7, 10.0.0.2", "192.0.2.7"},
		"no header":          {"10.0.0.1:1", "", "10.0.0.1"},
		"not an address":     {"10.0.0.1:1", "x", "10.0.0.1"},
		"around the proxy":   {"192.0.2.1:1", "192.0.2.7", "192.0.2.1"},
		"IPv4 inside IPv6":   {"[::ffff:10.0.0.1]:1", "::ffff:192.0.2.7", "192.0.2.7"},
		"zone of a neighbor": {"[fe80::1%eth0]:1", "", "fe80::1"},
	} {
		r := request(nil)
		r.RemoteAddr = tt.peer
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		require.Equal(t, tt.want, g.address(r).String(), name)
	}
}

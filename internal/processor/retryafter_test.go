package processor

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 500_000_000, time.UTC)
	for value, want := range map[string]time.Duration{
		"0": 0, "5": 5 * time.Second, " 5 ": 5 * time.Second, "1.": time.Second, ".5": 500 * time.Millisecond,
		"0.001":                          time.Millisecond,
		"86401":                          24 * time.Hour,
		"1" + string(make0(400)):         24 * time.Hour,
		"Fri, 02 Jan 2026 03:04:06 GMT":  500 * time.Millisecond,
		"Friday, 02-Jan-26 03:05:05 GMT": 59500 * time.Millisecond,
		"Fri Jan  2 03:04:05 2026":       0,
		"Fri, 01 Jan 2027 00:00:00 GMT":  24 * time.Hour,
	} {
		got, ok := retryAfter(value, now)
		require.True(t, ok, value)
		require.Equal(t, want, got, value)
	}
	for _, value := range []string{
		"", " ", ".", "-1", "+1", "1e3", "0x10", "inf", "NaN", "1,5", "1 2", "5s", "1.2.3", "tomorrow",
		"Fri, 32 Jan 2026 03:04:06 GMT", "١",
	} {
		_, ok := retryAfter(value, now)
		require.False(t, ok, value)
	}
}

// make0 is n digits of zero.
func make0(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0'
	}
	return b
}

func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, s := range []string{"5", "0.5", "-1", "1e9", now.Format(http.TimeFormat), "Fri, 02 Jan 2026"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		d, ok := retryAfter(value, now)
		if d < 0 || d > maxRetryAfter || (!ok && d != 0) {
			t.Fatalf("%q: %s, %t", value, d, ok)
		}
		if l := rateLimit(d, ok); l <= 0 || l > maxRetryAfter {
			t.Fatalf("%q limits the queue for %s", value, l)
		}
	})
}

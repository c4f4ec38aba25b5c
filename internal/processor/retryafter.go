package processor

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxRetryAfter bounds the delays that a server or a command may ask for.
	maxRetryAfter = 24 * time.Hour
	// defaultRateLimit is the pause after an answer 429 that names none.
	defaultRateLimit = time.Second
)

// retryAfter reads a Retry-After header: seconds, fractions allowed, or an HTTP date. It is at most 24 h and not
// negative; ok is false for anything else.
func retryAfter(value string, now time.Time) (d time.Duration, ok bool) {
	if d, ok := delaySeconds(value); ok {
		return d, true
	}
	at, err := http.ParseTime(strings.TrimSpace(value))
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}

// delaySeconds reads plain decimal seconds: digits with at most one point, no sign, no exponent.
func delaySeconds(value string) (d time.Duration, ok bool) {
	value = strings.TrimSpace(value)
	if value == "" || strings.Trim(value, "0123456789.") != "" {
		return 0, false
	}
	s, err := strconv.ParseFloat(value, 64)
	if err != nil && !math.IsInf(s, 1) {
		return 0, false
	}
	return time.Duration(math.Round(min(s, maxRetryAfter.Seconds()) * float64(time.Second))), true
}

// rateLimit is the pause of a whole queue: a pause of nothing would ask again at once, so it becomes the default.
func rateLimit(d time.Duration, ok bool) time.Duration {
	if !ok || d <= 0 {
		return defaultRateLimit
	}
	return min(max(d, time.Millisecond), maxRetryAfter)
}

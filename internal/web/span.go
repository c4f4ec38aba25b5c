package web

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

var errSpan = errors.New("write a number and a unit: 500ms, 30s, 10min, 12h or 7d")

// maxSpan bounds what people may type for a delay or an age.
const maxSpan = 10 * 365 * 24 * time.Hour

// parseSpan reads a span as people write it: "0", "500ms", "30 s", "10min", "1h30m", "7d". A bare number is
// milliseconds, as in BullMQ.
func parseSpan(text string) (time.Duration, error) {
	text = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), " ", "")
	if text == "" {
		return 0, nil
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		if ms < 0 || ms > maxSpan.Milliseconds() {
			return 0, errSpan
		}
		return time.Duration(ms) * time.Millisecond, nil
	}
	text = strings.NewReplacer("mins", "m", "min", "m", "days", "d", "day", "d").Replace(text)
	days := time.Duration(0)
	if head, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseFloat(head, 64)
		if err != nil || !(n >= 0 && n <= maxSpan.Hours()/24) {
			return 0, errSpan
		}
		days = time.Duration(n * 24 * float64(time.Hour))
		if text = rest; text == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d+days > maxSpan {
		return 0, errSpan
	}
	return d + days, nil
}

package engine

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// Other clients write through Redis' Lua: integers may come with an exponent, and hand-made values may be anything. The
// readers of this file give the value JavaScript would work with and say whether there is one.

// jsonNumber reads a JSON number or a text that is one.
func jsonNumber(raw json.RawMessage) (float64, bool) {
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		if json.Unmarshal(raw, &text) != nil {
			return 0, false
		}
		text = strings.TrimSpace(text)
	}
	return decimal(text)
}

// decimal parses a finite decimal number; hexadecimal, "inf" and the like are none.
func decimal(text string) (float64, bool) {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789+-.eE", r) }) {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

// jsonBool reads a boolean; numbers count as true unless 0.
func jsonBool(raw json.RawMessage) (value, ok bool) {
	switch string(raw) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	v, ok := decimal(string(raw))
	return v != 0, ok
}

// jsonText reads a text; a number gives its digits, as ids may be stored as numbers.
func jsonText(raw json.RawMessage) (string, bool) {
	if strings.HasPrefix(string(raw), `"`) {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	}
	_, ok := decimal(string(raw))
	return string(raw), ok
}

// isNull reports an absent or null value.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// field reads a numeric hash field: the whole text if it is a number, else the digits it starts with, else 0.
func field(text string) float64 {
	text = strings.TrimSpace(text)
	if v, ok := decimal(text); ok {
		return v
	}
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	v, _ := decimal(text[:end])
	return v
}

// clamp turns v into an integer, fractions cut off, within what both Go and JavaScript hold exactly.
func clamp(v float64) int64 {
	const most = 1 << 53
	switch {
	case math.IsNaN(v):
		return 0
	case v > most:
		return most
	case v < -most:
		return -most
	}
	return int64(v)
}

// fieldInt is field as an integer.
func fieldInt(text string) int64 { return clamp(field(text)) }

// millis turns milliseconds, fractions allowed, into a duration, at most about 290 years.
func millis(ms float64) time.Duration {
	ns := ms * float64(time.Millisecond)
	switch {
	case math.IsNaN(ns):
		return 0
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(math.Round(ns))
}

// instant turns a time in milliseconds since the epoch into a time; 0 and nonsense give the zero time.
func instant(ms float64) time.Time {
	if n := clamp(ms); n != 0 {
		return time.UnixMilli(n)
	}
	return time.Time{}
}

// fieldTime is field as a time in milliseconds since the epoch.
func fieldTime(text string) time.Time { return instant(field(text)) }

// inMillis gives a duration as JSON milliseconds, without an exponent and without a fraction unless it has one.
func inMillis(d time.Duration) json.RawMessage {
	return json.RawMessage(strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64))
}

// inSeconds is inMillis in seconds.
func inSeconds(d time.Duration) json.RawMessage {
	return json.RawMessage(strconv.FormatFloat(d.Seconds(), 'f', -1, 64))
}

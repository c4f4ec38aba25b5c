package livepolicy

import (
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/policy"
)

// Setting is one field of a policy, by its name in the file and with its value as the file would say it.
type Setting struct{ Field, Value string }

// Settings are the fields of a policy that can be changed live, in the order of the file's reference.
func Settings(p policy.Policy) []Setting {
	return []Setting{
		{"attempts", strconv.Itoa(max(p.Attempts, 1))},
		{"backoff", BackoffText(p.Backoff)},
		{"concurrency", strconv.Itoa(max(p.Concurrency, 1))},
		{"global_concurrency", globalText(p)},
		{"limiter", LimiterText(p.Limiter)},
		{"keep_completed", KeepText(p.KeepCompleted)},
		{"keep_failed", KeepText(p.KeepFailed)},
	}
}

func globalText(p policy.Policy) string {
	switch {
	case p.GlobalConcurrency > 0:
		return strconv.Itoa(p.GlobalConcurrency)
	case p.ClearGlobal:
		return "none"
	}
	return "not set"
}

// LimiterText is a limiter in words: "50 per 1s", and its scope where it is not the usual one.
func LimiterText(l policy.Limiter) string {
	if l.Max == 0 {
		return "none"
	}
	text := strconv.Itoa(l.Max) + " per " + DurationText(l.Duration)
	if l.Scope == "queue" {
		text += ", for all clients"
	}
	return text
}

// BackoffText is a backoff in words: "exponential, 1s, max 1m, jitter 0.5".
func BackoffText(b policy.Backoff) string {
	parts := []string{b.Type, DurationText(b.Delay)}
	if b.Type == "" {
		parts = []string{"none"}
	}
	if b.Max > 0 {
		parts = append(parts, "max "+DurationText(b.Max))
	}
	if b.Jitter > 0 {
		parts = append(parts, "jitter "+strconv.FormatFloat(b.Jitter, 'g', -1, 64))
	}
	return strings.Join(parts, ", ")
}

// KeepText is a retention rule as the file says it: "all", "none", "1000", "168h" or both of these.
func KeepText(k policy.Keep) string {
	switch {
	case !k.Set || k.Count < 0 && k.Age == 0:
		return "all"
	case k.Count == 0:
		return "none"
	}
	var parts []string
	if k.Count > 0 {
		parts = append(parts, strconv.FormatInt(k.Count, 10))
	}
	if k.Age > 0 {
		parts = append(parts, DurationText(k.Age))
	}
	return strings.Join(parts, ", ")
}

// DurationText writes a duration without the zeros of Go's format: "1m", "1h30m", "168h".
func DurationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

package monitor

import (
	"strings"

	"bullpen/internal/engine/keys"
)

// Match reports whether one of the patterns matches the queue's name, or its qualified name when the pattern has a
// colon. "*" stands for any text, "?" for one character, everything else for itself.
func Match(patterns []string, q keys.Queue) bool {
	for _, p := range patterns {
		subject := q.Name
		if strings.Contains(p, ":") {
			subject = q.Qualified()
		}
		if matchGlob([]rune(p), []rune(subject)) {
			return true
		}
	}
	return false
}

// matchGlob walks both texts and, on a mismatch, lets the last star swallow one character more.
func matchGlob(pattern, text []rune) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// escapeGlob quotes what Redis's MATCH would take as a pattern.
func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}

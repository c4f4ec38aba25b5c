package search

import "strings"

// partText matches text that contains the value, whatever the case. With = before it the value is the whole text, and a
// * outside quotation marks stands for any text.
func partText(t token) func(string) bool {
	if !t.quoted && strings.Contains(t.value, "*") || strings.HasPrefix(t.value, "=") && len(t.value) > 1 {
		return wholeText(t)
	}
	value := strings.ToLower(t.value)
	return func(s string) bool { return strings.Contains(strings.ToLower(s), value) }
}

// wholeText matches the value itself; a * outside quotation marks stands for any text.
func wholeText(t token) func(string) bool {
	value := t.value
	if len(value) > 1 && !t.quoted {
		value = strings.TrimPrefix(value, "=")
	}
	if t.quoted || !strings.Contains(value, "*") {
		return func(s string) bool { return s == value }
	}
	parts := strings.Split(strings.ToLower(value), "*")
	return func(s string) bool { return wildcard(parts, strings.ToLower(s)) }
}

// wildcard reports whether s is the parts with any text between them.
func wildcard(parts []string, s string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return true
}

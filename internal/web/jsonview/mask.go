package jsonview

import (
	"encoding/json"
	"strings"
	"unicode"
)

// Redact returns raw with every masked value replaced by the JSON string "masked"; the rest stays byte for byte. Text
// that is not JSON and mentions a masked name becomes that string whole.
func Redact(raw []byte, masked func(key string) bool) []byte {
	if !json.Valid(raw) {
		return RedactPart(raw, masked)
	}
	out, _ := maskMembers(raw, masked)
	return out
}

// RedactPart is Redact for the beginning of a text: where it was cut, members cannot be told apart for certain, so that
// it is hidden whole when it mentions a masked name.
func RedactPart(raw []byte, masked func(key string) bool) []byte {
	if mentionsMasked(raw, masked) {
		return []byte(`"` + MaskText + `"`)
	}
	return raw
}

// maskMembers replaces the values of masked members and reports whether there were any. Text that is not JSON is read as
// far as it looks like it.
func maskMembers(raw []byte, masked func(key string) bool) (out []byte, found bool) {
	p := printer{raw: raw}
	from := 0
	for p.pos < len(raw) {
		switch raw[p.pos] {
		case '{', '[':
			p.stack = append(p.stack, raw[p.pos])
			p.pos++
		case '}', ']':
			p.stack = p.stack[:max(len(p.stack)-1, 0)]
			p.pos++
		case '"':
			isKey := p.isKey()
			end := p.stringEnd(p.pos)
			name := raw[p.pos:end]
			p.pos = end
			if !isKey || !masked(unquote(string(name))) {
				continue
			}
			found = true
			for p.pos < len(raw) && (isSpace(raw[p.pos]) || raw[p.pos] == ':') {
				p.pos++
			}
			if p.pos == len(raw) {
				continue
			}
			out = append(append(out, raw[from:p.pos]...), `"`+MaskText+`"`...)
			p.pos = p.valueEnd(p.pos)
			from = p.pos
		default:
			p.pos++
		}
	}
	return append(out, raw[from:]...), found
}

// MaskKeys returns the predicate for a list of names: any case, '-' and '_' alike. A name matches where its words stand
// in the member's name, so that "token" hides accessToken and access_token, but not tokens.
func MaskKeys(names []string) func(string) bool {
	whole := make(map[string]bool, len(names))
	var parts []string
	for _, n := range names {
		w := words(n)
		whole[strings.ReplaceAll(w, "-", "")] = true
		parts = append(parts, "-"+w+"-")
	}
	return func(key string) bool {
		w := words(key)
		if whole[strings.ReplaceAll(w, "-", "")] {
			return true
		}
		for _, p := range parts {
			if strings.Contains("-"+w+"-", p) {
				return true
			}
		}
		return false
	}
}

// words spells a name in lower case with a dash between its words: "apiKey", "API_KEY" and "api-key" are "api-key".
func words(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		switch {
		case r == '-' || r == '_' || r == ' ' || r == '.':
			r = '-'
		case unicode.IsUpper(r) && lower:
			b.WriteByte('-')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Trim(b.String(), "-")
}

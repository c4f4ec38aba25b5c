package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a term cut out of a query: its key, if it has one, and its value.
type token struct {
	source string // as typed
	not    bool
	// key is what stands before the colon or comparison, as typed; "" for a bare word.
	key string
	// value is the rest without quotation marks; quoted says it stood in them whole.
	value  string
	quoted bool
}

// lexer cuts a query into tokens.
type lexer struct {
	text string
	pos  int
}

// next returns the next token; ok is false at the end.
func (l *lexer) next() (t token, ok bool, err *Error) {
	l.pos += len(l.text[l.pos:]) - len(strings.TrimLeftFunc(l.text[l.pos:], unicode.IsSpace))
	if l.pos == len(l.text) {
		return token{}, false, nil
	}
	start := l.pos
	if rest := l.text[l.pos:]; rest[0] == '-' && len(rest) > 1 {
		if r, _ := utf8.DecodeRuneInString(rest[1:]); !unicode.IsSpace(r) {
			t.not = true
			l.pos++
		}
	}
	if n := keyLength(l.text[l.pos:]); n > 0 {
		t.key = l.text[l.pos : l.pos+n]
		l.pos += n
		if l.text[l.pos] == ':' {
			l.pos++
		}
	}
	value, quoted, closed := l.value()
	t.source, t.value, t.quoted = l.text[start:l.pos], value, quoted
	if !closed {
		return t, true, &Error{Term: t.source, Problem: `a quotation mark is missing at the end of ` + t.source}
	}
	return t, true, nil
}

// value reads up to the next white space outside quotation marks. Inside them \" and \\ stand for themselves.
func (l *lexer) value() (value string, quoted, closed bool) {
	var b strings.Builder
	parts, inside := 0, false
	for l.pos < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.pos:])
		switch {
		case r == '"':
			inside = !inside
			if inside {
				parts++
			}
		case inside && r == '\\' && strings.IndexByte(`"\`, l.peek(size)) >= 0:
			l.pos += size
			b.WriteByte(l.text[l.pos])
			size = 1
		case !inside && unicode.IsSpace(r):
			return b.String(), quoted, true
		default:
			if !inside {
				parts++
			}
			b.WriteString(l.text[l.pos : l.pos+size])
		}
		l.pos += size
		quoted = !inside && parts == 1 && r == '"'
	}
	return b.String(), quoted, !inside
}

// peek is the byte at an offset from here, a space at the end.
func (l *lexer) peek(offset int) byte {
	if l.pos+offset < len(l.text) {
		return l.text[l.pos+offset]
	}
	return ' '
}

// keyLength is how many bytes of text are a key: a word of letters, perhaps followed by a path, before a colon or, for
// keys that compare, before < or >.
func keyLength(text string) int {
	n := 0
	for n < len(text) && isLetter(text[n]) {
		n++
	}
	if n == 0 {
		return 0
	}
	word := text[:n]
	for n < len(text) {
		switch text[n] {
		case ':':
			return n
		case '<', '>':
			if k, ok := keyNamed(word); ok && k.compares {
				return n
			}
			return 0
		case '"':
			end := quotedEnd(text[n:])
			if end == 0 || text[n-1] != '.' {
				return 0
			}
			n += end
		default:
			if text[n] <= ' ' || text[n] == 0x7f {
				return 0
			}
			n++
		}
	}
	return 0
}

// quotedEnd is the length of a quoted text at the start of text, 0 when it does not end.
func quotedEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// Package fold turns the text of an error into the text of its kind: what changes from job to job becomes a mark, so
// that failures with the same cause have the same text.
package fold

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLength is how many characters of an error's first line are looked at.
const MaxLength = 200

// The marks that take the place of what changes.
const (
	Number = "<n>"
	Text   = "<text>" // what was in quotation marks
	Addr   = "<addr>" // an IP address, with or without a port
	Email  = "<email>"
	UUID   = "<uuid>"
	Hex    = "<hex>" // eight or more hexadecimal digits
)

// Error folds the first line of an error: URLs to scheme and host, then e-mail addresses, UUIDs, long hexadecimal
// numbers, IP addresses, quoted parts and numbers each to a mark, and white space to single spaces.
func Error(text string) string {
	line, cut := firstLine(text)
	s := scanner{text: line, cut: cut}
	for s.pos < len(s.text) {
		s.step()
	}
	return strings.TrimRight(s.out.String(), " ")
}

// firstLine is the first line that has something in it, at most MaxLength characters of it.
func firstLine(text string) (line string, cut bool) {
	text = strings.TrimLeft(text, " \t\r\n")
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	n := 0
	for i := range text {
		if n == MaxLength {
			return text[:i], true
		}
		n++
	}
	return text, false
}

// scanner reads the line once from the left; at each place the first rule that fits takes what it matches.
type scanner struct {
	text string
	pos  int
	cut  bool // the line went on
	out  strings.Builder
	// space says that the output ends in one.
	space bool
}

// rules are tried in this order. Each returns what to write and how many bytes it stands for, 0 when it does not fit.
var rules = [...]func(*scanner) (string, int){
	(*scanner).url, (*scanner).quoted, (*scanner).email, (*scanner).uuid, (*scanner).address, (*scanner).hex, (*scanner).number,
}

func (s *scanner) step() {
	r, size := utf8.DecodeRuneInString(s.text[s.pos:])
	if unicode.IsSpace(r) {
		if !s.space && s.out.Len() > 0 {
			s.out.WriteByte(' ')
		}
		s.space = true
		s.pos += size
		return
	}
	s.space = false
	for _, rule := range rules {
		if mark, n := rule(s); n > 0 {
			s.out.WriteString(mark)
			s.pos += n
			return
		}
	}
	s.out.WriteString(s.text[s.pos : s.pos+size])
	s.pos += size
}

func (s *scanner) rest() string { return s.text[s.pos:] }

// starts says that no letter or digit stands before this place: words are taken whole or not at all.
func (s *scanner) starts() bool { return s.pos == 0 || !wordEnd(s.text[:s.pos]) }

func wordEnd(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func wordStart(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// span is how many bytes from the start of text belong to the class.
func span(text string, class func(byte) bool) int {
	n := 0
	for n < len(text) && class(text[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isHex(c byte) bool    { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

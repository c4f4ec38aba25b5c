// Package jsonview turns stored JSON into tokens for a page without passing anything through Go values: number
// digits, key order and duplicate keys stay as stored. Masked values never leave the package.
package jsonview

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind says what a token is, so that a page can colour it.
type Kind int

// The kinds of token.
const (
	Plain  Kind = iota // punctuation, white space, anything that is not JSON
	Key                // a member's name, quotes included
	String             // a string value, quotes included
	Number             // digits as stored
	Word               // true, false, null
	Mask               // stands for a value that must not be shown
)

// Token is a run of text of one kind.
type Token struct {
	Kind Kind
	Text string
}

// MaskText is what a masked value is shown as.
const MaskText = "masked"

// Options bound and mask a view.
type Options struct {
	// MaxBytes ends the view after about this many bytes of output; 0 means 64 KiB.
	MaxBytes int
	// Cut says raw is only the beginning of the stored text, so that it cannot be judged valid.
	Cut bool
	// Masked reports whether values of the member named key are hidden, at any depth; nil masks nothing.
	Masked func(key string) bool
}

// View is raw, indented and split into tokens.
type View struct {
	Tokens []Token
	// Valid is false when raw is not JSON; its text is then one plain token.
	Valid bool
	// Truncated says the view ended before the text did.
	Truncated bool
}

const (
	defaultMax = 64 << 10
	inlineMax  = 60 // a container this short, without another one inside, stays on its line
	indentUnit = "  "
)

// Render returns the view of raw. It never fails: text that is not JSON is shown as it is, made harmless. Such text
// is hidden whole when masking is on, because its members cannot be told apart.
func Render(raw []byte, o Options) View {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMax
	}
	if !json.Valid(raw) && !(o.Cut && beginsJSON(raw)) {
		return plainView(raw, o)
	}
	p := printer{raw: raw, o: o}
	p.run()
	p.flush()
	return View{Tokens: p.out, Valid: true, Truncated: p.full || o.Cut}
}

// beginsJSON reports whether raw is JSON as far as it goes.
func beginsJSON(raw []byte) bool {
	var value json.RawMessage
	var syntax *json.SyntaxError
	return errors.As(json.Unmarshal(raw, &value), &syntax) && syntax.Offset >= int64(len(raw))
}

func plainView(raw []byte, o Options) View {
	if o.Masked != nil && mentionsMasked(raw, o.Masked) {
		return View{Tokens: []Token{{Mask, MaskText}}}
	}
	cut := len(raw) > o.MaxBytes
	if cut {
		raw = raw[:o.MaxBytes]
	}
	return View{Tokens: []Token{{Plain, Visible(string(raw))}}, Truncated: cut || o.Cut}
}

// mentionsMasked looks for a masked name among the words of text that is not JSON, and among what look like members.
func mentionsMasked(raw []byte, masked func(string) bool) bool {
	if _, found := maskMembers(raw, masked); found {
		return true
	}
	words := strings.FieldsFunc(string(raw), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
	})
	for _, w := range words {
		if masked(w) {
			return true
		}
	}
	return false
}

// Visible replaces what could deceive a reader: invalid UTF-8 and control characters other than tab and line feed,
// and marks that turn the direction of text, are spelt as \u escapes.
func Visible(s string) string {
	harmless := true
	for _, r := range s {
		if r == utf8.RuneError || hidden(r) {
			harmless = false
			break
		}
	}
	if harmless {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i])|0x100, 16)[1:])
		case hidden(r):
			b.WriteString(`\u` + strconv.FormatUint(uint64(r)|0x10000, 16)[1:])
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func hidden(r rune) bool {
	switch {
	case r == '\t' || r == '\n':
		return false
	case unicode.IsControl(r):
		return true
	}
	return r == 0x061c || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0xfeff
}

// printer walks the text once. It is lenient: a cut text simply ends.
type printer struct {
	raw []byte
	o   Options
	pos int
	out []Token
	// plain gathers punctuation between tokens of other kinds.
	plain strings.Builder
	size  int
	full  bool
	// stack holds '{' or '[' per open container; inline counts those printed on one line.
	stack  []byte
	inline int
	// key is the name of the member whose value comes next.
	key    string
	hasKey bool
	// onMask, if set, gets every masked value.
	onMask func(name string, value []byte)
}

func (p *printer) run() {
	for p.pos < len(p.raw) && !p.full {
		c := p.raw[p.pos]
		switch c {
		case ' ', '\t', '\n', '\r':
			p.pos++
		case '{', '[':
			p.open(c)
		case '}', ']':
			p.close(c)
		case ',':
			p.pos++
			p.emit(Plain, ",")
			p.lineOrSpace()
		case ':':
			p.pos++
			p.emit(Plain, ": ")
		default:
			p.scalar(c)
		}
	}
}

func (p *printer) emit(k Kind, text string) {
	if p.size += len(text); p.size > p.o.MaxBytes {
		p.full = true
		text = strings.ToValidUTF8(text[:max(0, len(text)-(p.size-p.o.MaxBytes))], "")
	}
	if k == Plain {
		p.plain.WriteString(text)
		return
	}
	p.flush()
	p.out = append(p.out, Token{k, text})
}

// flush makes one token of the plain text gathered so far.
func (p *printer) flush() {
	if p.plain.Len() > 0 {
		p.out = append(p.out, Token{Plain, p.plain.String()})
		p.plain.Reset()
	}
}

func (p *printer) lineOrSpace() {
	if p.inline > 0 {
		p.emit(Plain, " ")
		return
	}
	p.emit(Plain, "\n"+strings.Repeat(indentUnit, len(p.stack)))
}

// masked consumes the value at pos when the member it belongs to is hidden.
func (p *printer) masked() bool {
	hide := p.hasKey && p.o.Masked != nil && p.o.Masked(p.key)
	p.hasKey = false
	if !hide {
		return false
	}
	start := p.pos
	p.pos = p.valueEnd(start)
	if p.onMask != nil {
		p.onMask(p.key, p.raw[start:p.pos])
	}
	p.emit(Mask, MaskText)
	return true
}

func (p *printer) open(c byte) {
	if p.masked() {
		return
	}
	p.pos++
	for p.pos < len(p.raw) && isSpace(p.raw[p.pos]) {
		p.pos++
	}
	if p.pos < len(p.raw) && p.raw[p.pos] == c+2 {
		p.pos++
		p.emit(Plain, string([]byte{c, c + 2}))
		return
	}
	p.emit(Plain, string(c))
	p.stack = append(p.stack, c)
	if p.inline > 0 || p.short() {
		p.inline++
		if c == '{' {
			p.emit(Plain, " ")
		}
		return
	}
	p.lineOrSpace()
}

func (p *printer) close(c byte) {
	p.pos++
	if len(p.stack) > 0 {
		p.stack = p.stack[:len(p.stack)-1]
	}
	if p.inline > 0 {
		p.inline--
		if c == '}' {
			p.emit(Plain, " ")
		}
	} else {
		p.lineOrSpace()
	}
	p.emit(Plain, string(c))
}

// short reports whether the container just opened ends within inlineMax bytes and holds no other. The top level is
// never short, so that a document always starts on lines of its own.
func (p *printer) short() bool {
	if len(p.stack) < 2 {
		return false
	}
	for i := p.pos; i < len(p.raw) && i < p.pos+inlineMax; {
		switch p.raw[i] {
		case '{', '[':
			return false
		case '}', ']':
			return true
		case '"':
			i = p.stringEnd(i)
		default:
			i++
		}
	}
	return false
}

func (p *printer) scalar(c byte) {
	isKey := c == '"' && p.isKey()
	if !isKey && p.masked() {
		return
	}
	end := p.valueEnd(p.pos)
	text := string(p.raw[p.pos:end])
	p.pos = end
	switch {
	case isKey:
		p.key, p.hasKey = unquote(text), true
		p.emit(Key, Visible(text))
	case c == '"':
		p.emit(String, Visible(text))
	case c == '-' || c >= '0' && c <= '9':
		p.emit(Number, text)
	case c == 't' || c == 'f' || c == 'n':
		p.emit(Word, text)
	default:
		p.emit(Plain, Visible(text))
	}
}

// isKey reports whether the string at pos is followed by a colon inside an object.
func (p *printer) isKey() bool {
	if len(p.stack) == 0 || p.stack[len(p.stack)-1] != '{' || p.hasKey {
		return false
	}
	i := p.stringEnd(p.pos)
	for i < len(p.raw) && isSpace(p.raw[i]) {
		i++
	}
	return i < len(p.raw) && p.raw[i] == ':'
}

// valueEnd returns the index after the value that starts at i, containers included.
func (p *printer) valueEnd(i int) int {
	switch p.raw[i] {
	case '"':
		return p.stringEnd(i)
	case '{', '[':
		return p.containerEnd(i)
	}
	start := i
	for i < len(p.raw) && !isSpace(p.raw[i]) && !strings.ContainsRune(",:{}[]\"", rune(p.raw[i])) {
		i++
	}
	return max(i, start+1)
}

func (p *printer) containerEnd(i int) int {
	depth := 0
	for i < len(p.raw) {
		switch p.raw[i] {
		case '"':
			i = p.stringEnd(i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if i++; depth == 0 {
			break
		}
	}
	return i
}

// stringEnd returns the index after the string that starts at i.
func (p *printer) stringEnd(i int) int {
	for i++; i < len(p.raw); i++ {
		switch p.raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(p.raw)
}

func unquote(s string) string {
	var v string
	if json.Unmarshal([]byte(s), &v) != nil {
		return strings.Trim(s, `"`)
	}
	return v
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

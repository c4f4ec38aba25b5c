package fold

import (
	"net/netip"
	"strings"
)

// url keeps scheme and host. A host that is an address is folded like one.
func (s *scanner) url() (string, int) {
	text := s.rest()
	n := span(text, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '+' || c == '.' || c == '-' })
	if n == 0 || !isLetter(text[0]) || !s.starts() || !strings.HasPrefix(text[n:], "://") {
		return "", 0
	}
	scheme := text[:n+3]
	end := n + 3 + span(text[n+3:], func(c byte) bool { return c > ' ' && strings.IndexByte("\"'`<>()|\\^", c) < 0 })
	end = n + 3 + len(strings.TrimRight(text[n+3:end], ".,;:!"))
	authority, _, _ := strings.Cut(text[n+3:end], "/")
	authority = authority[:span(authority, func(c byte) bool { return c != '?' && c != '#' })]
	host := authority[strings.LastIndexByte(authority, '@')+1:]
	if addressLength(host) == len(host) && host != "" {
		return scheme + Addr, end
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	return scheme + host, end
}

// closing is the quotation mark that ends what the key begins.
var closing = map[string]string{`"`: `"`, "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»", "„": "“"}

// quoted takes a part in quotation marks. A mark inside a word is an apostrophe.
func (s *scanner) quoted() (string, int) {
	text := s.rest()
	for open, end := range closing {
		if !strings.HasPrefix(text, open) {
			continue
		}
		if open == "'" && !s.starts() {
			return "", 0
		}
		for from := len(open); ; {
			i := strings.Index(text[from:], end)
			if i < 0 {
				break
			}
			after := from + i + len(end)
			if open == "'" && wordStart(text[after:]) {
				from = after
				continue
			}
			return Text, after
		}
		if s.cut && open == `"` {
			return Text, len(text) // its end was cut off with the rest of the line
		}
	}
	return "", 0
}

func (s *scanner) email() (string, int) {
	text := s.rest()
	local := span(text, func(c byte) bool { return isLetter(c) || isDigit(c) || strings.IndexByte("._%+-", c) >= 0 })
	if local == 0 || local == len(text) || text[local] != '@' || !s.starts() {
		return "", 0
	}
	domain := span(text[local+1:], func(c byte) bool { return isLetter(c) || isDigit(c) || c == '.' || c == '-' })
	domain = len(strings.TrimRight(text[local+1:local+1+domain], ".-"))
	if domain == 0 {
		return "", 0
	}
	return Email, local + 1 + domain
}

func (s *scanner) uuid() (string, int) {
	text := s.rest()
	const length = 36
	if len(text) < length || !s.starts() || wordStart(text[length:]) {
		return "", 0
	}
	for i := range length {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (text[i] == '-') || !dash && !isHex(text[i]) {
			return "", 0
		}
	}
	return UUID, length
}

func (s *scanner) address() (string, int) {
	n := addressLength(s.rest())
	if n == 0 || !s.starts() || wordStart(s.rest()[n:]) {
		return "", 0
	}
	return Addr, n
}

// addressLength is how many bytes from the start of text are an IP address with or without a port: 10.0.0.1,
// 10.0.0.1:80, [::1]:80, fe80::1.
func addressLength(text string) int {
	n := 0
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 || !isIP(text[1:end]) {
			return 0
		}
		n = end + 1
	} else {
		n = span(text, func(c byte) bool { return isHex(c) || c == '.' || c == ':' })
		switch v4 := span(text, func(c byte) bool { return isDigit(c) || c == '.' }); {
		case isIP(strings.TrimRight(text[:n], ".:")) && strings.Count(text[:n], ":") > 1:
			return len(strings.TrimRight(text[:n], ".:"))
		case isIP(strings.TrimRight(text[:v4], ".")):
			n = len(strings.TrimRight(text[:v4], "."))
		default:
			return 0
		}
	}
	if port := span(text[min(n+1, len(text)):], isDigit); port > 0 && text[n] == ':' {
		return n + 1 + port
	}
	return n
}

func isIP(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// hex takes eight hexadecimal digits or more that are not a plain number, with or without 0x before them.
func (s *scanner) hex() (string, int) {
	text := s.rest()
	prefix := 0
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X") {
		prefix = 2
	}
	n := span(text[prefix:], isHex)
	if n < 8 || !s.starts() || wordStart(text[prefix+n:]) || prefix == 0 && span(text, isDigit) == n {
		return "", 0
	}
	return Hex, prefix + n
}

// number takes digits, also with points or commas between them.
func (s *scanner) number() (string, int) {
	text := s.rest()
	n := span(text, isDigit)
	for n > 0 && n+1 < len(text) && (text[n] == '.' || text[n] == ',') && isDigit(text[n+1]) {
		n += 1 + span(text[n+1:], isDigit)
	}
	if n == 0 {
		return "", 0
	}
	return Number, n
}

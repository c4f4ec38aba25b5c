package web

import (
	"net/url"
	"strings"

	"bullpen/internal/engine/keys"
)

// links builds addresses. All of them start with the base path.
type links struct {
	base   string
	prefix string // of queues addressed by name alone
}

// to returns the address of a path such as "/failures".
func (l links) to(path string) string { return l.base + path }

// queue returns the address of a queue's page, or of something under it: queue(q, "jobs", id, "retry").
func (l links) queue(q keys.Queue, under ...string) string {
	return l.base + l.queuePath(q, under...)
}

// queuePath is queue without the base path.
func (l links) queuePath(q keys.Queue, under ...string) string {
	name := q.Name
	if q.Prefix != l.prefix {
		name = q.Qualified()
	}
	path := "/queues/" + escapeSegment(name)
	for _, u := range under {
		path += "/" + escapeSegment(u)
	}
	return path
}

// listPath is the address of the jobs in a state, without the base path.
func (l links) listPath(q keys.Queue, st keys.State) string {
	if st == keys.Unknown || st == "" {
		return l.queuePath(q)
	}
	return l.queuePath(q) + "?state=" + string(st)
}

// job returns the address of a job's page, or of something under it.
func (l links) job(q keys.Queue, id string, under ...string) string {
	return l.queue(q, append([]string{"jobs", id}, under...)...)
}

// parseQueue is the inverse of queue for the {queue} segment, already unescaped.
func (l links) parseQueue(segment string) keys.Queue {
	if i := strings.LastIndexByte(segment, ':'); i >= 0 {
		return keys.Queue{Prefix: segment[:i], Name: segment[i+1:]}
	}
	return keys.Queue{Prefix: l.prefix, Name: segment}
}

// withQuery returns path with the query v, if v has anything. Keys come in alphabetical order, so that one view has
// one address.
func withQuery(path string, v url.Values) string {
	if q := v.Encode(); q != "" {
		return path + "?" + q
	}
	return path
}

// escapeSegment makes any text one segment of a path that no proxy decodes, resolves or merges: bytes outside
// letters, digits, "-", "_", "." and ":" become "~" and two hex digits, and so does a dot at the start.
func escapeSegment(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if plain(c) && (i > 0 || c != '.') {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('~')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// unescapeSegment undoes escapeSegment; what is not one of its escapes stays as it is.
func unescapeSegment(s string) string {
	if !strings.Contains(s, "~") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '~' && i+2 < len(s) {
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.:", c) >= 0
}

func unhex(c byte) int { return strings.IndexByte("0123456789ABCDEF", c) }

package processor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"time"
)

const (
	// logRowLimit is the longest log row in bytes; the rest of a longer line is cut off.
	logRowLimit = 8 << 10
	// maxDelay is the longest delay_ms that is taken at its word.
	maxDelay = 10 * 365 * 24 * time.Hour
)

// output is what an attempt's process said. Its readers fill it; it is looked at when they are done.
type output struct {
	limit  int // of a message, in bytes
	record *recorder

	result           json.RawMessage // the last one
	failure          *string         // text of the last error message
	unrecoverable    *string
	delay, rateLimit *time.Duration
	oversize         bool     // a line that looked like a message was longer than limit
	tail             []string // last lines of stderr, at most textLimit bytes in all
}

// readStdout takes messages from r; other lines become log rows.
func (o *output) readStdout(r io.Reader) {
	eachLine(r, o.limit, func(line []byte, cut bool) {
		switch {
		case cut && bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("{")):
			o.oversize = true
			o.record.log(logRow(line, cut))
		case cut || !o.message(line):
			o.record.log(logRow(line, cut))
		}
	})
}

// readStderr makes every line of r a log row and remembers the last ones.
func (o *output) readStderr(r io.Reader) {
	eachLine(r, logRowLimit, func(line []byte, cut bool) {
		o.record.log(logRow(line, cut))
		if len(bytes.TrimSpace(line)) == 0 {
			return
		}
		o.tail = append(o.tail, head(string(line), textLimit))
		for size(o.tail) > textLimit {
			o.tail = o.tail[1:]
		}
	})
}

// logRow is a line as a log row of bounded length, which says so when something is missing.
func logRow(line []byte, cut bool) string {
	row := head(string(line), logRowLimit)
	if cut || len(line) > logRowLimit {
		row += " … (line cut)"
	}
	return row
}

// size is how long the lines are when joined.
func size(lines []string) int {
	n := len(lines) - 1
	for _, l := range lines {
		n += len(l)
	}
	return n
}

// lastWords is the end of stderr.
func (o *output) lastWords() string { return strings.Join(o.tail, "\n") }

// reason is what the process itself said about its failure: a message, else its last words.
func (o *output) reason() string {
	for _, text := range []*string{o.unrecoverable, o.failure} {
		if text != nil && *text != "" {
			return *text
		}
	}
	return o.lastWords()
}

// message takes a line as a message and reports whether it was one: a JSON object with at least one of the protocol's
// members, each of which makes sense.
func (o *output) message(line []byte) bool {
	if !jsonObject(line) {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil {
		return false
	}
	known := false
	for name, value := range members {
		known = o.take(name, value) || known
	}
	return known
}

// take acts on one member of a message; false if it is none or makes no sense.
func (o *output) take(name string, value json.RawMessage) bool {
	switch name {
	case "progress":
		o.record.progress(value)
	case "log":
		o.record.log(logRow([]byte(asText(value)), false))
	case "result":
		o.result = value
	case "error":
		o.failure = ptr(asText(value))
	case "unrecoverable":
		if string(value) == "false" {
			return false
		}
		text := asText(value)
		if string(value) == "true" {
			text = ""
		}
		o.unrecoverable = &text
	case "delay_ms":
		return setMillis(&o.delay, value, maxDelay)
	case "rate_limit_ms":
		return setMillis(&o.rateLimit, value, maxRetryAfter)
	default:
		return false
	}
	return true
}

// setMillis reads a number of milliseconds, at most limit.
func setMillis(field **time.Duration, value json.RawMessage, limit time.Duration) bool {
	var ms float64
	if json.Unmarshal(value, &ms) != nil || ms < 0 || string(value) == "null" {
		return false
	}
	ms = math.Min(math.Ceil(ms), float64(limit.Milliseconds()))
	*field = ptr(time.Duration(ms) * time.Millisecond)
	return true
}

// asText is a JSON string's text, an object's message, or else the JSON itself.
func asText(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil && string(value) != "null" {
		return s
	}
	if s = messageText(value); s != "" {
		return s
	}
	return string(value)
}

func ptr[T any](v T) *T { return &v }

// eachLine calls f with each line of r, without its line end. What is longer than limit is cut, and said so, but read on
// to its end, so that no output can fill the memory.
func eachLine(r io.Reader, limit int, f func(line []byte, cut bool)) {
	br := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	cut := false
	for {
		part, err := br.ReadSlice('\n')
		ended := err == nil
		part = bytes.TrimSuffix(part, []byte("\n"))
		if room := limit - len(line); len(part) > room {
			part, cut = part[:room], true
		}
		line = append(line, part...)
		if ended || (err != nil && err != bufio.ErrBufferFull && (len(line) > 0 || cut)) {
			f(bytes.TrimSuffix(line, []byte("\r")), cut)
			line, cut = line[:0], false
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

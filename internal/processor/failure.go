package processor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// textLimit is how much of an answer or of a process's output goes into a reason and into a trace, in bytes.
const textLimit = 1024

// failure is a failed attempt: reason is the job's failed reason, trace its longer entry in the stack traces.
type failure struct {
	reason, trace string
	cause         error
}

func (f *failure) Error() string { return f.reason }

// Stacktrace implements engine.Stacktracer.
func (f *failure) Stacktrace() string { return f.trace }

func (f *failure) Unwrap() error { return f.cause }

// timedOut is the cause of a context whose attempt took too long.
type timedOut struct{ after time.Duration }

func (t timedOut) Error() string { return "attempt timed out after " + seconds(t.after) }

// Is makes timedOut match context.DeadlineExceeded.
func (t timedOut) Is(target error) bool { return target == context.DeadlineExceeded }

// withTimeout bounds an attempt; d <= 0 means no bound.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, timedOut{after: d})
}

// stopped is the error of an attempt whose context ended: the time limit in its own words, else why it was stopped.
func stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	if t := (timedOut{}); errors.As(cause, &t) {
		return t
	}
	return fmt.Errorf("attempt stopped: %w", cause)
}

// shortest returns the smaller of two limits, of which 0 means none.
func shortest(a, b time.Duration) time.Duration {
	if a <= 0 || (b > 0 && b < a) {
		return b
	}
	return a
}

// seconds writes a duration as "10s" or "2m" and not as "2m0s".
func seconds(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// describe says what happened on the way to a server, in words that are the same for every request: no URL, no
// addresses.
func describe(err error) string {
	var (
		sys  *os.SyscallError
		op   *net.OpError
		name *net.DNSError
		cert *tls.CertificateVerificationError
		link *url.Error
	)
	switch {
	case errors.As(err, &name):
		return "lookup " + name.Name + ": " + name.Err
	case errors.As(err, &sys):
		return sys.Error()
	case errors.As(err, &cert):
		return cert.Error()
	case errors.As(err, &op):
		return op.Op + ": " + op.Err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed in the middle of the answer"
	case errors.Is(err, io.EOF):
		return "connection closed before an answer came"
	case errors.As(err, &link):
		return link.Err.Error()
	}
	return err.Error()
}

// bodyReason finds what an answer says about its failure: its error or message, as text, as texts or as an object with
// a message. Frameworks that put the name of the status into error, as NestJS and Spring do, tell more in message.
func bodyReason(body []byte, status int) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return ""
	}
	text, message := messageText(object["error"]), messageText(object["message"])
	if text == "" || message != "" && strings.EqualFold(text, http.StatusText(status)) {
		return message
	}
	return text
}

// messageText reads a JSON string, several of them, or the message of an object; "" if it is none of these.
func messageText(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return strings.TrimSpace(s)
	}
	var several []string
	if json.Unmarshal(value, &several) == nil {
		return strings.TrimSpace(strings.Join(several, "; "))
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil && json.Unmarshal(object["message"], &s) == nil {
		return strings.TrimSpace(s)
	}
	return ""
}

// head cuts s to n bytes of valid UTF-8 at the boundary of a character.
func head(s string, n int) string {
	if len(s) > n {
		s = s[:n]
		for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
			if c := s[len(s)-i]; utf8.RuneStart(c) {
				if !utf8.FullRuneInString(s[len(s)-i:]) {
					s = s[:len(s)-i]
				}
				break
			}
		}
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

package processor

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"bullpen/internal/engine"
)

// answer is what a server said to one attempt.
type answer struct {
	status   int
	text     string // as sent: "503 Service Unavailable"
	header   http.Header
	body     []byte
	oversize bool // body was cut at the limit
}

func (a *answer) ok() bool { return a.status/100 == 2 }

// line is "<status> <text>", with the standard text where there is one.
func (a *answer) line() string {
	if text := http.StatusText(a.status); text != "" {
		return fmt.Sprintf("%d %s", a.status, text)
	}
	return strings.TrimSpace(head(a.text, textLimit))
}

// decide turns the answer into the job's outcome. Bullpen-Retry beats the list of unrecoverable statuses, and that the
// meaning of 429 and 503.
func (h *httpWorker) decide(a *answer) (any, error) {
	if a.ok() {
		return h.result(a)
	}
	reason := bodyReason(a.body, a.status)
	if reason == "" {
		reason = a.line()
	}
	err := h.failed(errors.New(reason), a)
	retry := strings.TrimSpace(a.header.Get("Bullpen-Retry"))
	if strings.EqualFold(retry, "never") {
		return nil, engine.Unrecoverable(err)
	}
	if d, ok := delaySeconds(retry); ok {
		return nil, engine.RetryAfter(d, err)
	}
	if h.unrecoverable[a.status] {
		return nil, engine.Unrecoverable(err)
	}
	if !*h.Policy.RetryAfter {
		return nil, err
	}
	after, ok := retryAfter(a.header.Get("Retry-After"), h.Clock())
	switch {
	case a.status == http.StatusTooManyRequests:
		return nil, engine.RateLimit(rateLimit(after, ok))
	case a.status == http.StatusServiceUnavailable && ok:
		return nil, engine.RetryAfter(after, err)
	}
	return nil, err
}

// result reads the job's return value from a 2xx answer.
func (h *httpWorker) result(a *answer) (any, error) {
	switch {
	case a.oversize:
		return nil, h.failed(fmt.Errorf("the answer is longer than %d bytes (max_response)", h.MaxResponse), a)
	case len(a.body) == 0:
		return nil, nil
	case !isJSON(a.header.Get("Content-Type")):
		return json.RawMessage(quote(string(a.body))), nil
	case !utf8.Valid(a.body) || !json.Valid(a.body):
		return nil, h.failed(errors.New("the answer is not valid JSON"), a)
	}
	return json.RawMessage(a.body), nil
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// failed makes err a failed attempt: its text is the reason, and the trace adds method, host and, where there is an
// answer, its status and first KB. Nothing in it shows the URL's credentials or the secret.
func (h *httpWorker) failed(err error, a *answer) error {
	reason := head(h.secrets.Replace(err.Error()), textLimit)
	var trace strings.Builder
	fmt.Fprintf(&trace, "Error: %s\n    at POST %s", reason, h.host)
	if a != nil {
		fmt.Fprintf(&trace, ": %s", a.line())
		if len(a.body) > 0 {
			fmt.Fprintf(&trace, "\n\n%s", head(h.secrets.Replace(head(string(a.body), 8*textLimit)), textLimit))
		}
	}
	return &failure{reason: reason, trace: trace.String(), cause: err}
}

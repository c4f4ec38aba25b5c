package processor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// DefaultMaxResponse is the largest answer of an HTTP worker's server that is accepted, in bytes.
const DefaultMaxResponse = 1 << 20

// HTTPOptions configure HTTP.
type HTTPOptions struct {
	// Queue is the queue whose jobs are posted. Required.
	Queue keys.Queue
	// URL takes the POSTs; http or https, credentials allowed. Required.
	URL string
	// Policy gives the time limit of an attempt, whether Retry-After counts, and how many connections are kept.
	Policy policy.Policy
	// Timeout bounds one attempt; the smaller of it and the policy's holds. 0 = only the policy's.
	Timeout time.Duration
	// Secret signs the requests as Standard Webhooks do: "whsec_" and base64, or any text. "" = unsigned.
	Secret string
	// UnrecoverableStatuses replaces the statuses that fail a job for good; nil = 400, 401, 403, 404, 405, 410, 413,
	// 415 and 422.
	UnrecoverableStatuses []int
	// MaxResponse is the largest accepted answer in bytes; default DefaultMaxResponse.
	MaxResponse int64
	// Headers are sent with every request; the worker's own win, but for User-Agent.
	Headers map[string]string
	// Callbacks, if set, gives each attempt a URL for progress, logs, data and children.
	Callbacks *Callbacks
	// Transport carries the requests; default NewTransport with the policy's concurrency.
	Transport http.RoundTripper
	// Clock dates signatures and reads Retry-After dates; default time.Now.
	Clock func() time.Time
}

// httpWorker is the state behind HTTP; it does not change after construction.
type httpWorker struct {
	HTTPOptions
	client        http.Client
	host          string // of the URL, without credentials
	signer        *standardwebhooks.Webhook
	unrecoverable map[int]bool
	timeout       time.Duration
	secrets       *strings.Replacer
}

// HTTP returns a handler that posts each attempt to a URL and takes the job's outcome from the answer. The error begins
// with the option at fault, in lower case, and a colon.
func HTTP(o HTTPOptions) (engine.Handler, error) {
	u, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	signer, err := newSigner(o.Secret)
	if err != nil {
		return nil, err
	}
	if o.UnrecoverableStatuses == nil {
		o.UnrecoverableStatuses = []int{400, 401, 403, 404, 405, 410, 413, 415, 422}
	}
	if o.MaxResponse <= 0 {
		o.MaxResponse = DefaultMaxResponse
	}
	o.Policy = o.Policy.WithDefaults()
	if o.Transport == nil {
		o.Transport = NewTransport(o.Policy.Concurrency)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	h := &httpWorker{
		HTTPOptions: o, host: u.Host, signer: signer, unrecoverable: map[int]bool{},
		timeout: shortest(o.Policy.Timeout, o.Timeout), secrets: redactor(u, o.Secret, o.Headers),
		client: http.Client{Transport: o.Transport, CheckRedirect: keepRedirect},
	}
	for _, s := range o.UnrecoverableStatuses {
		h.unrecoverable[s] = true
	}
	return h.handle, nil
}

// liveConcurrency is how many connections are kept whatever the policy says: its concurrency can be raised at run time.
const liveConcurrency = 64

// NewTransport returns a transport that keeps one connection per running job of each server.
func NewTransport(concurrency int) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = max(concurrency, liveConcurrency)
	// Node's servers close an idle connection after 5 s; a request sent into that moment would fail an attempt.
	t.IdleConnTimeout = 4 * time.Second
	return t
}

// keepRedirect makes a redirect the answer: a POST that is followed elsewhere is not what the operator configured.
func keepRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("url: not a valid URL") // the parser's error repeats the URL with its credentials
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("url: must begin with http:// or https://")
	case u.Host == "":
		return nil, errors.New("url: no host")
	}
	return u, nil
}

func newSigner(secret string) (*standardwebhooks.Webhook, error) {
	switch {
	case secret == "":
		return nil, nil
	case strings.HasPrefix(secret, "whsec_"):
		w, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return nil, errors.New("secret: what follows whsec_ is not base64")
		}
		return w, nil
	default:
		return standardwebhooks.NewWebhookRaw([]byte(secret))
	}
}

// handle is the engine.Handler.
func (h *httpWorker) handle(ctx context.Context, j *engine.Job) (any, error) {
	ctx, cancel := withTimeout(ctx, h.timeout)
	defer cancel()
	req, err := h.request(ctx, j)
	if err != nil {
		return nil, err
	}
	if h.Callbacks != nil {
		link, end := h.Callbacks.begin(h.Queue, j, h.timeout)
		defer end()
		req.Header.Set("Bullpen-Callback", link)
	}
	a, err := h.post(req)
	if err != nil {
		return nil, h.failed(err, nil)
	}
	return h.decide(a)
}

// request builds the POST of one attempt.
func (h *httpWorker) request(ctx context.Context, j *engine.Job) (*http.Request, error) {
	body := payload(h.Queue, j)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the worker's URL cannot be requested")
	}
	// Without GetBody net/http cannot send the request a second time behind our back: one POST per attempt.
	req.GetBody = nil
	for name, value := range h.Headers {
		req.Header.Set(name, value)
	}
	h.setHeaders(ctx, req.Header, j)
	return req, h.sign(req.Header, body)
}

func (h *httpWorker) setHeaders(ctx context.Context, header http.Header, j *engine.Job) {
	header.Set("Content-Type", "application/json")
	if _, given := header["User-Agent"]; !given {
		header.Set("User-Agent", "Bullpen")
	}
	header.Set("Bullpen-Queue", headerText(h.Queue.Name))
	header.Set("Bullpen-Job-Id", headerText(j.ID))
	header.Set("Bullpen-Attempt", strconv.Itoa(attempt(j)))
	header.Set("Idempotency-Key", idempotencyKey(h.Queue, j.ID))
	// The span of this run if there is one, else whatever span added the job.
	parent, state := traceContext(cmp.Or(engine.TraceContext(ctx), j.Opts.TelemetryContext))
	if parent != "" {
		header.Set("Traceparent", parent)
	}
	if state != "" {
		header.Set("Tracestate", state)
	}
}

// sign adds the headers of Standard Webhooks. The message id is the idempotency key, so that a receiver that remembers
// ids takes a retry for the same message.
func (h *httpWorker) sign(header http.Header, body []byte) error {
	if h.signer == nil {
		return nil
	}
	id, now := header.Get("Idempotency-Key"), h.Clock()
	signature, err := h.signer.Sign(id, now, body)
	if err != nil {
		return fmt.Errorf("sign request: %w", err)
	}
	header.Set(standardwebhooks.HeaderWebhookID, id)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return nil
}

// idempotencyKey is the same for every attempt and replay of a job.
func idempotencyKey(q keys.Queue, id string) string {
	key := q.Name + ":" + id
	if q.Prefix != "" && q.Prefix != keys.DefaultPrefix {
		key = q.Prefix + ":" + key
	}
	return headerText(key)
}

// headerText percent-encodes what a header cannot carry unharmed, and the percent sign, so that it can be decoded.
func headerText(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		edge := c == ' ' && (i == 0 || i == len(s)-1) // would be trimmed
		if c < ' ' || c > '~' || c == '%' || edge {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[ -~]+)?$`)

// traceContext reads the W3C trace headers from telemetry metadata, a JSON object of carrier headers (features 7.1).
func traceContext(metadata string) (parent, state string) {
	var carrier struct{ Traceparent, Tracestate string }
	if json.Unmarshal([]byte(metadata), &carrier) != nil || !traceparent.MatchString(carrier.Traceparent) {
		return "", ""
	}
	return carrier.Traceparent, headerText(carrier.Tracestate)
}

// post sends the request and reads the answer, at most one byte over the limit.
func (h *httpWorker) post(req *http.Request) (*answer, error) {
	res, err := h.client.Do(req)
	if err != nil {
		return nil, h.because(req.Context(), err)
	}
	defer func() { _ = res.Body.Close() }()
	a := &answer{status: res.StatusCode, text: res.Status, header: res.Header}
	if a.status == http.StatusSwitchingProtocols { // its body is the connection and never ends
		return a, nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, h.MaxResponse+1))
	a.body = body
	if int64(len(body)) > h.MaxResponse {
		a.body, a.oversize = body[:h.MaxResponse], true
		return a, nil
	}
	// A status that already says failure decides, however its text ends.
	if err != nil && (a.ok() || req.Context().Err() != nil) {
		return nil, h.because(req.Context(), err)
	}
	return a, nil
}

// because explains a request that got no answer.
func (h *httpWorker) because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	return &failure{reason: describe(err), cause: err}
}

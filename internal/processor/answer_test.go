package processor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/policy"

	"github.com/stretchr/testify/require"
)

// outcome is what an error tells the engine, in words.
func outcome(err error) string {
	var (
		never *engine.UnrecoverableError
		later *engine.RetryAfterError
		limit *engine.RateLimitError
		delay *engine.DelayError
	)
	switch {
	case err == nil:
		return "completed"
	case errors.As(err, &never):
		return "unrecoverable: " + never.Error()
	case errors.As(err, &later):
		return fmt.Sprintf("retry after %s: %s", later.Delay, later)
	case errors.As(err, &limit):
		return "rate limit " + limit.Delay.String()
	case errors.As(err, &delay):
		return "delay " + delay.Delay.String()
	}
	return "failed: " + err.Error()
}

func TestHTTPAnswerTable(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	in := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	no := false
	plain := policy.Policy{RetryAfter: &no}
	for _, c := range []struct {
		status           int
		retryAfter, ours string // Retry-After, Bullpen-Retry
		body             string
		options          HTTPOptions
		want             string
	}{
		{status: 200, want: "completed"},
		{status: 202, ours: "never", want: "completed"},

		{status: 429, want: "rate limit 1s"},
		{status: 429, retryAfter: "7", want: "rate limit 7s"},
		{status: 429, retryAfter: "0.25", want: "rate limit 250ms"},
		{status: 429, retryAfter: "0", want: "rate limit 1s"},
		{status: 429, retryAfter: "-3", want: "rate limit 1s"},
		{status: 429, retryAfter: "soon", want: "rate limit 1s"},
		{status: 429, retryAfter: in(90 * time.Second), want: "rate limit 1m30s"},
		{status: 429, retryAfter: in(-time.Hour), want: "rate limit 1s"},
		{status: 429, retryAfter: "999999999", want: "rate limit 24h0m0s"},
		{status: 429, retryAfter: "7", ours: "never", want: "unrecoverable: 429 Too Many Requests"},
		{status: 429, retryAfter: "7", ours: "2.5", want: "retry after 2.5s: 429 Too Many Requests"},
		{status: 429, retryAfter: "7", options: HTTPOptions{Policy: plain}, want: "failed: 429 Too Many Requests"},
		{status: 429, options: HTTPOptions{UnrecoverableStatuses: []int{429}}, want: "unrecoverable: 429 Too Many Requests"},

		{status: 503, want: "failed: 503 Service Unavailable"},
		{status: 503, retryAfter: "3", want: "retry after 3s: 503 Service Unavailable"},
		{status: 503, retryAfter: "0", want: "retry after 0s: 503 Service Unavailable"},
		{status: 503, retryAfter: in(time.Minute), want: "retry after 1m0s: 503 Service Unavailable"},
		{status: 503, retryAfter: "?", want: "failed: 503 Service Unavailable"},
		{status: 503, retryAfter: "3", ours: "9", want: "retry after 9s: 503 Service Unavailable"},
		{status: 503, retryAfter: "3", options: HTTPOptions{Policy: plain}, want: "failed: 503 Service Unavailable"},
		{status: 503, ours: "9", options: HTTPOptions{Policy: plain}, want: "retry after 9s: 503 Service Unavailable"},

		{status: 400, want: "unrecoverable: 400 Bad Request"},
		{status: 401, want: "unrecoverable: 401 Unauthorized"},
		{status: 403, want: "unrecoverable: 403 Forbidden"},
		{status: 404, want: "unrecoverable: 404 Not Found"},
		{status: 405, want: "unrecoverable: 405 Method Not Allowed"},
		{status: 410, want: "unrecoverable: 410 Gone"},
		{status: 413, want: "unrecoverable: 413 Request Entity Too Large"},
		{status: 415, want: "unrecoverable: 415 Unsupported Media Type"},
		{status: 422, want: "unrecoverable: 422 Unprocessable Entity"},
		{status: 404, ours: "5", want: "retry after 5s: 404 Not Found"},
		{status: 404, ours: "perhaps", want: "unrecoverable: 404 Not Found"},
		{status: 404, options: HTTPOptions{UnrecoverableStatuses: []int{500}}, want: "failed: 404 Not Found"},
		{status: 500, options: HTTPOptions{UnrecoverableStatuses: []int{500}}, want: "unrecoverable: 500 Internal Server Error"},
		{status: 404, options: HTTPOptions{UnrecoverableStatuses: []int{}}, want: "failed: 404 Not Found"},

		{status: 500, want: "failed: 500 Internal Server Error"},
		{status: 500, retryAfter: "3", want: "failed: 500 Internal Server Error"},
		{status: 500, ours: "Never", want: "unrecoverable: 500 Internal Server Error"},
		{status: 500, ours: "90000", want: "retry after 24h0m0s: 500 Internal Server Error"},
		{status: 408, want: "failed: 408 Request Timeout"},
		{status: 302, want: "failed: 302 Found"},
		{status: 307, ours: "never", want: "unrecoverable: 307 Temporary Redirect"},
		{status: 599, want: "failed: 599 status code 599"},

		{status: 500, body: `{"error":"card declined","message":"other"}`, want: "failed: card declined"},
		{status: 500, body: `{"message":" no stock "}`, want: "failed: no stock"},
		{status: 500, body: `{"error":{"message":"deep","code":7}}`, want: "failed: deep"},
		{status: 500, body: `{"error":true,"message":"flag"}`, want: "failed: flag"},
		{status: 422, body: `{"message":"no recipient","error":"Unprocessable Entity","statusCode":422}`, want: "unrecoverable: no recipient"},
		{status: 400, body: `{"message":["to must be an email","n must be a number"],"error":"Bad Request"}`, want: "unrecoverable: to must be an email; n must be a number"},
		{status: 500, body: `{"error":"Internal Server Error"}`, want: "failed: Internal Server Error"},
		{status: 500, body: `{"error":""}`, want: "failed: 500 Internal Server Error"},
		{status: 500, body: `error: none`, want: "failed: 500 Internal Server Error"},
		{status: 422, body: `{"error":"` + strings.Repeat("é", 600) + `"}`, want: "unrecoverable: " + strings.Repeat("é", 512)},
	} {
		url, last := recorded(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			if c.retryAfter != "" {
				w.Header().Set("Retry-After", c.retryAfter)
			}
			if c.ours != "" {
				w.Header().Set("Bullpen-Retry", c.ours)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		o := c.options
		o.URL, o.Clock = url, func() time.Time { return now }
		_, err := worker(t, o)(t.Context(), aJob())
		require.Equal(t, c.want, outcome(err), "%d %q %q %q", c.status, c.retryAfter, c.ours, c.body)
		require.Equal(t, "/", last().path)
	}
}

func TestHTTPBadAnswersFailTheAttempt(t *testing.T) {
	for want, answer := range map[string]http.HandlerFunc{
		"the answer is not valid JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"half":`)
		},
		"the answer is longer than 1000 bytes (max_response)": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", 1001))
		},
		"connection closed in the middle of the answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "900")
			_, _ = io.WriteString(w, "start")
		},
		"connection closed before an answer came": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"attempt timed out after 200ms": func(w http.ResponseWriter, r *http.Request) { // a drip that never ends
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, ".")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		},
	} {
		url, _ := recorded(t, answer)
		_, err := worker(t, HTTPOptions{URL: url, MaxResponse: 1000, Timeout: 200 * time.Millisecond})(t.Context(), aJob())
		require.Equal(t, "failed: "+want, outcome(err))
	}
	url, _ := recorded(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "\"\xff\"")
	})
	_, err := worker(t, HTTPOptions{URL: url})(t.Context(), aJob())
	require.Equal(t, "failed: the answer is not valid JSON", outcome(err))
}

func TestHTTPAnswerAtTheLimitIsAccepted(t *testing.T) {
	url, _ := recorded(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 1000))
	})
	_, err := worker(t, HTTPOptions{URL: url, MaxResponse: 1000})(t.Context(), aJob())
	require.NoError(t, err)
}

// A failure stays the failure it is, however much text comes with it.
func TestHTTPLongFailureKeepsItsStatus(t *testing.T) {
	url, _ := recorded(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, strings.Repeat("x", 5000))
	})
	_, err := worker(t, HTTPOptions{URL: url, MaxResponse: 2000})(t.Context(), aJob())
	require.Equal(t, "unrecoverable: 404 Not Found", outcome(err))
	require.Len(t, strings.SplitN(trace(t, err), "\n\n", 2)[1], 1024)
}

func TestHTTPConnectionErrorsSayWhatHappened(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone := listener.Addr().String()
	require.NoError(t, listener.Close())
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()

	for url, want := range map[string]string{
		"http://ada:s3cret@" + gone + "/?token=t0ken":           "connect: connection refused",
		strings.Replace(secure.URL, "://", "://ada:s3cret@", 1): "tls: failed to verify certificate",
	} {
		_, err := worker(t, HTTPOptions{URL: url, Timeout: 5 * time.Second})(t.Context(), aJob())
		require.ErrorContains(t, err, want)
		for _, text := range []string{err.Error(), trace(t, err)} {
			for _, secret := range []string{"ada", "s3cret", "t0ken"} {
				require.NotContains(t, text, secret)
			}
		}
	}
}

func TestDescribeNamesNoServer(t *testing.T) {
	lookup := &net.DNSError{Err: "no such host", Name: "hooks.example", Server: "192.0.2.1:53", IsNotFound: true}
	for want, err := range map[string]error{
		"lookup hooks.example: no such host": &net.OpError{Op: "dial", Net: "tcp", Err: lookup},
		"dial: i/o timeout":                  &net.OpError{Op: "dial", Addr: &net.TCPAddr{Port: 9}, Err: os.ErrDeadlineExceeded},
		"unsupported protocol":               &url.Error{Op: "Post", URL: "http://ada:s3cret@h", Err: errors.New("unsupported protocol")},
	} {
		require.Equal(t, want, describe(fmt.Errorf("wrapped: %w", err)))
	}
}

// halfOpen accepts connections, reads, and never answers.
func halfOpen(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return "http://" + listener.Addr().String()
}

func TestHTTPShutdownIsNotATimeout(t *testing.T) {
	reason := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(reason) })
	_, err := worker(t, HTTPOptions{URL: halfOpen(t), Timeout: time.Hour})(ctx, aJob())
	require.ErrorIs(t, err, reason)
	require.EqualError(t, err, "attempt stopped: shutting down")

	_, err = worker(t, HTTPOptions{URL: halfOpen(t), Timeout: 50 * time.Millisecond})(t.Context(), aJob())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualError(t, err, "attempt timed out after 50ms")
}

func TestHTTPTraceHasTheAnswer(t *testing.T) {
	url, _ := recorded(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, `{"error":"upstream down","id":"r-1"}`+strings.Repeat(" ", 2000))
	})
	_, err := worker(t, HTTPOptions{URL: url})(t.Context(), aJob())
	first, body, _ := strings.Cut(trace(t, err), "\n\n")
	require.Equal(t, "Error: upstream down\n    at POST "+strings.TrimPrefix(url, "http://")+": 502 Bad Gateway", first)
	require.Len(t, body, 1024)
	require.True(t, strings.HasPrefix(body, `{"error":"upstream down","id":"r-1"}`))
}

// A server that echoes what it got must not put the operator's secrets on the job page.
func TestHTTPSecretsAreHiddenInEchoes(t *testing.T) {
	url, _ := recorded(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"error":"http://ada:s3cret@host%s Bearer b-9999 signing-secret"}`, r.URL.RequestURI())
	})
	o := HTTPOptions{
		URL: strings.Replace(url, "://", "://ada:s3cret@", 1) + "/?token=t%2Fken", Secret: "signing-secret",
		Headers: map[string]string{"X-Auth": "Bearer b-9999"},
	}
	_, err := worker(t, o)(t.Context(), aJob())
	require.EqualError(t, err, "http://***@host/?token=*** *** ***")
	for _, secret := range []string{"s3cret", "t%2Fken", "b-9999", "signing-secret"} {
		require.NotContains(t, trace(t, err), secret)
	}
}

package processor

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

// received is a request as the server saw it.
type received struct {
	method, path string
	header       http.Header
	body         []byte
}

// recorded serves answer and remembers the last request.
func recorded(t *testing.T, answer http.HandlerFunc) (url string, last func() received) {
	t.Helper()
	requests := make(chan received, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- received{r.Method, r.URL.RequestURI(), r.Header, body}
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, func() received { return <-requests }
}

// worker builds an HTTP handler whose connections are closed with the test.
func worker(t *testing.T, o HTTPOptions) engine.Handler {
	t.Helper()
	tr := NewTransport(2)
	t.Cleanup(tr.CloseIdleConnections)
	if o.Queue.Name == "" {
		o.Queue = hooks
	}
	o.Transport = tr
	h, err := HTTP(o)
	require.NoError(t, err)
	return h
}

func TestHTTPPostsTheJob(t *testing.T) {
	url, last := recorded(t, nil)
	_, err := worker(t, HTTPOptions{URL: url + "/in?x=1"})(t.Context(), aJob())
	require.NoError(t, err)

	got := last()
	require.Equal(t, http.MethodPost, got.method)
	require.Equal(t, "/in?x=1", got.path)
	require.Equal(t, string(payload(hooks, aJob())), string(got.body))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Bullpen-Queue": "hooks", "Bullpen-Job-Id": "17", "Bullpen-Attempt": "2",
		"Idempotency-Key": "hooks:17", "User-Agent": "Bullpen",
	} {
		require.Equal(t, []string{value}, got.header[http.CanonicalHeaderKey(name)], name)
	}
	for _, name := range []string{"Traceparent", "Tracestate", "Webhook-Id", "Webhook-Signature", "Bullpen-Callback", "Authorization"} {
		require.Empty(t, got.header.Values(name), name)
	}
}

func TestHTTPHeadersCarryAnyText(t *testing.T) {
	url, last := recorded(t, nil)
	j := aJob()
	j.ID = "zahl-ü\r\nX-Evil: 1%"
	q := keys.Queue{Prefix: "shop", Name: "größe x "}
	_, err := worker(t, HTTPOptions{URL: url, Queue: q})(t.Context(), j)
	require.NoError(t, err)
	h := last().header
	require.Equal(t, "gr%C3%B6%C3%9Fe x%20", h.Get("Bullpen-Queue"))
	require.Equal(t, "zahl-%C3%BC%0D%0AX-Evil: 1%25", h.Get("Bullpen-Job-Id"))
	require.Equal(t, "shop:gr%C3%B6%C3%9Fe x :zahl-%C3%BC%0D%0AX-Evil: 1%25", h.Get("Idempotency-Key"))
	require.Empty(t, h.Get("X-Evil"))
}

func TestHTTPPassesTheTraceOn(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	url, last := recorded(t, nil)
	handler := worker(t, HTTPOptions{URL: url})
	for metadata, want := range map[string][2]string{
		`{"traceparent":"` + parent + `"}`:                        {parent, ""},
		`{"traceparent":"` + parent + `","tracestate":"a=1,b=2"}`: {parent, "a=1,b=2"},
		`{"traceparent":"00-nonsense"}`:                           {},
		`{"traceparent":"` + parent + `\r\nX: 1"}`:                {},
		`{"traceparent":7}`:                                       {},
		parent:                                                    {},
		"":                                                        {},
	} {
		j := aJob()
		j.Opts.TelemetryContext = metadata
		_, err := handler(t.Context(), j)
		require.NoError(t, err)
		h := last().header
		require.Equal(t, want, [2]string{h.Get("Traceparent"), h.Get("Tracestate")}, metadata)
	}

	// The span of the run itself, as the worker's context has it, goes before the span of the producer.
	j := aJob()
	j.Opts.TelemetryContext = `{"traceparent":"` + strings.Replace(parent, "4bf9", "ffff", 1) + `"}`
	_, err := handler(engine.WithTraceContext(t.Context(), `{"traceparent":"`+parent+`"}`), j)
	require.NoError(t, err)
	require.Equal(t, parent, last().header.Get("Traceparent"))
}

func TestHTTPSignsAsStandardWebhooksDo(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	raw, err := standardwebhooks.NewWebhookRaw([]byte("just some text"))
	require.NoError(t, err)
	encoded, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	for s, verifier := range map[string]*standardwebhooks.Webhook{"just some text": raw, secret: encoded} {
		url, last := recorded(t, nil)
		_, err := worker(t, HTTPOptions{URL: url, Secret: s})(t.Context(), aJob())
		require.NoError(t, err)
		got := last()
		require.Equal(t, "hooks:17", got.header.Get("Webhook-Id"))
		require.NoError(t, verifier.Verify(got.body, got.header))
		require.Error(t, verifier.Verify(append(got.body, ' '), got.header))
	}
}

func TestHTTPSendsConfiguredHeadersAndCredentials(t *testing.T) {
	url, last := recorded(t, nil)
	withUser := strings.Replace(url, "http://", "http://ada:s3cret@", 1)
	_, err := worker(t, HTTPOptions{URL: withUser, Headers: map[string]string{
		"X-Team": "billing", "Bullpen-Queue": "forged", "user-agent": "billing/2",
	}})(t.Context(), aJob())
	require.NoError(t, err)
	h := last().header
	require.Equal(t, "billing", h.Get("X-Team"))
	require.Equal(t, "billing/2", h.Get("User-Agent"))
	require.Equal(t, "hooks", h.Get("Bullpen-Queue"))
	require.Equal(t, "Basic YWRhOnMzY3JldA==", h.Get("Authorization"))
}

func TestHTTPRefusesBadOptions(t *testing.T) {
	for want, o := range map[string]HTTPOptions{
		"http://":    {URL: "s3cret:x@h"},
		"no host":    {URL: "http:///x"},
		"not base64": {URL: "http://h", Secret: "whsec_%%%"},
		"valid URL":  {URL: "http://ada:s3cret@h:port/"},
	} {
		_, err := HTTP(o)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestHTTPReusesConnections(t *testing.T) {
	addresses := make(chan string, 10)
	url, _ := recorded(t, func(w http.ResponseWriter, r *http.Request) {
		addresses <- r.RemoteAddr
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(strings.Repeat("x", 100_000)))
	})
	handler := worker(t, HTTPOptions{URL: url})
	for range 3 {
		_, err := handler(t.Context(), aJob())
		require.Error(t, err)
	}
	first := <-addresses
	require.Equal(t, first, <-addresses)
	require.Equal(t, first, <-addresses)
}

// A connection that breaks after the request was sent must not make net/http send it again within the attempt.
func TestHTTPPostsOncePerAttempt(t *testing.T) {
	requests := make(chan struct{}, 10)
	broken := false
	url, _ := recorded(t, func(http.ResponseWriter, *http.Request) {
		requests <- struct{}{}
		if broken {
			panic(http.ErrAbortHandler)
		}
		broken = true
	})
	handler := worker(t, HTTPOptions{URL: url})
	_, err := handler(t.Context(), aJob())
	require.NoError(t, err)
	<-requests
	_, err = handler(t.Context(), aJob())
	require.EqualError(t, err, "connection closed before an answer came")
	<-requests
	require.Empty(t, requests)
}

func TestHTTPTimeLimitIsTheSmallerOne(t *testing.T) {
	release := make(chan struct{})
	url, _ := recorded(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	for _, o := range []HTTPOptions{
		{Timeout: 50 * time.Millisecond, Policy: policy.Policy{Timeout: time.Hour}},
		{Timeout: time.Hour, Policy: policy.Policy{Timeout: 50 * time.Millisecond}},
		{Timeout: 50 * time.Millisecond},
		{Policy: policy.Policy{Timeout: 50 * time.Millisecond}},
	} {
		o.URL = url
		_, err := worker(t, o)(t.Context(), aJob())
		require.EqualError(t, err, "attempt timed out after 50ms")
		require.Contains(t, trace(t, err), "at POST 127.0.0.1:")
	}
}

func TestHTTPResultIsStoredAsItCame(t *testing.T) {
	for _, c := range []struct{ contentType, body, want string }{
		{"application/json", "{ \"n\": 12345678901234567890, \"a\":1,\"a\":2 }\n", "{ \"n\": 12345678901234567890, \"a\":1,\"a\":2 }\n"},
		{"application/json; charset=utf-8", `"x"`, `"x"`},
		{"application/vnd.api+json", `[1]`, `[1]`},
		{"text/plain", `{"a":1}`, `"{\"a\":1}"`},
		{"text/html", "<b>ü & \xff</b>", `"<b>ü & \ufffd</b>"`},
		{"", "plain", `"plain"`},
	} {
		url, _ := recorded(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			if c.contentType != "" {
				w.Header().Set("Content-Type", c.contentType)
			}
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, c.body)
		})
		got, err := worker(t, HTTPOptions{URL: url})(t.Context(), aJob())
		require.NoError(t, err)
		require.Equal(t, c.want, string(got.(json.RawMessage)), c.contentType)
	}
	for _, status := range []int{200, 204} {
		url, _ := recorded(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
		})
		got, err := worker(t, HTTPOptions{URL: url})(t.Context(), aJob())
		require.NoError(t, err)
		require.Nil(t, got)
	}
}

// trace is the text an error leaves in the job's stack traces.
func trace(t *testing.T, err error) string {
	t.Helper()
	var s engine.Stacktracer
	require.True(t, errors.As(err, &s), "%v has no trace", err)
	return s.Stacktrace()
}

package web

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"bullpen/internal/web/openapi"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/stretchr/testify/require"
)

// contract is the API's document as somebody else reads it.
type contract struct {
	mu sync.Mutex
	v  validator.Validator
}

// agreed is the document that every answer of these tests is held against; all servers have the same one, but for the
// address in front.
var agreed = sync.OnceValues(func() (*contract, error) {
	s, err := New(Options{Monitor: newFakeMonitor(), Queue: noQueues, Audit: &recorder{}})
	if err != nil {
		return nil, err
	}
	doc, err := libopenapi.NewDocument(s.apiText)
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return &contract{v: v}, nil
})

// holds fails the test when an answer of the API is not as the document says.
func (b *bench) holds(r *http.Request, a answer) {
	b.t.Helper()
	at := strings.Index(r.URL.Path, apiVersion+"/")
	if at < 0 || a.status == http.StatusMethodNotAllowed {
		return
	}
	if a.status >= 400 {
		require.Contains(b.t, []string{openapi.Problem, openapi.JSON}, a.header.Get("Content-Type"), r.URL.Path)
	}
	if strings.Contains(a.body, "Nothing is at this address.") {
		return // no route, so nothing in the document
	}
	c, err := agreed()
	require.NoError(b.t, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := r.Clone(b.t.Context())
	asked.URL.Path, asked.URL.RawPath = asked.URL.Path[at:], ""
	if kind := a.header.Get("Content-Type"); kind == openapi.JSON && a.header.Get("Content-Disposition") != "" {
		return // what is stored, which need not be JSON
	}
	bodies := []string{a.body}
	if a.header.Get("Content-Type") == ndjson {
		bodies = strings.Split(strings.TrimSpace(a.body), "\n")
	}
	for _, body := range bodies {
		ok, wrong := c.v.GetResponseBodyValidator().ValidateResponseBody(asked, &http.Response{
			StatusCode: a.status, Header: a.header, Body: io.NopCloser(strings.NewReader(body)),
		})
		for _, w := range wrong {
			b.t.Errorf("%s %s, %d: %s: %s %v", r.Method, r.URL, a.status, w.Message, w.Reason, w.SchemaValidationErrors)
		}
		require.True(b.t, ok, clip(body, 2000))
	}
}

// TestTheDocumentIsValid asks a library of others.
func TestTheDocumentIsValid(t *testing.T) {
	c, err := agreed()
	require.NoError(t, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	ok, wrong := c.v.ValidateDocument()
	for _, w := range wrong {
		t.Errorf("%s: %s %v", w.Message, w.Reason, w.SchemaValidationErrors)
	}
	require.True(t, ok)
}

// TestTheDocumentIsComplete compares the routes with the document, both ways.
func TestTheDocumentIsComplete(t *testing.T) {
	b := newBench(t)
	a := b.get("/api/v1/openapi.json")
	require.Equal(t, http.StatusOK, a.status)
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(a.body), &doc))
	told := map[string]bool{}
	for path, methods := range doc.Paths {
		for method := range methods {
			if method != "parameters" {
				told[strings.ToUpper(method)+" "+path] = true
			}
		}
	}
	require.Greater(t, len(told), 40)
	for _, r := range b.echo.Routes() {
		path, api := strings.CutPrefix(r.Path, apiVersion)
		if !api {
			continue
		}
		key := r.Method + " " + openapi.PathOf(path)
		require.True(t, told[key], "%s is not in the document", key)
		delete(told, key)
	}
	require.Empty(t, told, "in the document and nowhere else")
}

// TestEveryActIsDescribed wants words for each act, and no words for acts that are gone.
func TestEveryActIsDescribed(t *testing.T) {
	docs := actDocs()
	for _, a := range newBench(t).acts {
		require.NotEmpty(t, docs[a.Path].about, a.Path)
		delete(docs, a.Path)
	}
	require.Empty(t, docs)
}

// TestEveryPageIsInTheAPI finds for each page the read that tells a program the same.
func TestEveryPageIsInTheAPI(t *testing.T) {
	b := newBench(t)
	reads := map[string]bool{}
	for _, r := range b.apiReads() {
		reads[r.path] = true
	}
	for pattern := range b.pages() {
		if pattern == "/" {
			pattern = "/queues"
		}
		require.True(t, reads[pattern], pattern)
	}
}

func TestUnknownMembersAreRefused(t *testing.T) {
	b := newBench(t)
	a := b.call("/api/v1/queues/email/jobs", `{"name":"send","dleay":"3s"}`)
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
	has(t, a.body, `\"dleay\" is not known here; this act takes name, data, delay`)
	has(t, a.body, `"field": "dleay"`)
	require.Empty(t, b.dump())
}

package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"bullpen/internal/web/openapi"

	"github.com/stretchr/testify/require"
	spec "github.com/sv-tools/openapi"
)

// contract is the API's document as somebody else reads it.
type contract struct {
	*spec.Validator
	paths map[string]map[string]struct {
		Responses map[string]struct{ Content map[string]any }
	}
}

// agreed is the document that every answer of these tests is held against; all servers have the same one, but for the
// address in front.
var agreed = sync.OnceValues(func() (*contract, error) {
	s, err := New(Options{Monitor: newFakeMonitor(), Queue: noQueues, Audit: &recorder{}})
	if err != nil {
		return nil, err
	}
	var c contract
	var doc spec.Extendable[spec.OpenAPI]
	var paths struct{ Paths *json.RawMessage }
	err = errors.Join(json.Unmarshal(s.apiText, &doc), json.Unmarshal(s.apiText, &paths))
	if err == nil {
		_ = json.Unmarshal(*paths.Paths, &c.paths) // "parameters" has another form than methods and is not looked at
		c.Validator, err = spec.NewValidator(&doc)
	}
	return &c, err
})

// path finds the path in the document that an address is of: the one with the most words in common.
func (c *contract) path(address string) string {
	parts := strings.Split(address, "/")
	found, most := "", -1
	for path := range c.paths {
		same := 0
		names := strings.Split(path, "/")
		for i, name := range names {
			if len(names) != len(parts) {
				same = -1
				break
			}
			if name == parts[i] {
				same++
			} else if !strings.HasPrefix(name, "{") {
				same = -1
				break
			}
		}
		if same > most {
			found, most = path, same
		}
	}
	return found
}

// holds fails the test when an answer of the API is not as the document says.
func (b *bench) holds(r *http.Request, a answer) {
	b.t.Helper()
	_, address, api := strings.Cut(r.URL.EscapedPath(), apiVersion)
	if !api || address == "" || a.status == http.StatusMethodNotAllowed {
		return
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if a.status >= 400 {
		require.Contains(b.t, []string{openapi.Problem, openapi.JSON}, kind, r.URL.Path)
	}
	if strings.Contains(a.body, "Nothing is at this address.") {
		return // no route, so nothing in the document
	}
	c, err := agreed()
	require.NoError(b.t, err)
	path, method := c.path(address), strings.ToLower(r.Method)
	responses := c.paths[path][method].Responses
	status := strconv.Itoa(a.status)
	if _, known := responses[status]; !known {
		status = "default"
	}
	if kind == openapi.JSON && a.header.Get("Content-Disposition") != "" {
		return // what is stored, which need not be JSON
	}
	require.Contains(b.t, responses[status].Content, kind, "%s %s, as %s: %d", r.Method, r.URL, path, a.status)
	bodies := []string{a.body}
	switch kind {
	case openapi.JSON, openapi.Problem:
	case ndjson:
		bodies = strings.Split(strings.TrimSpace(a.body), "\n")
	default:
		return // text
	}
	place := "#"
	for _, step := range []string{"paths", path, method, "responses", status, "content", kind, "schema"} {
		place += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	for _, body := range bodies {
		require.NoError(b.t, c.ValidateDataAsJSON(place, body), "%s %s, %d: %s", r.Method, r.URL, a.status, clip(body, 2000))
	}
}

// TestTheDocumentIsValid asks a library of others.
func TestTheDocumentIsValid(t *testing.T) {
	c, err := agreed()
	require.NoError(t, err)
	require.NoError(t, c.ValidateSpec())
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

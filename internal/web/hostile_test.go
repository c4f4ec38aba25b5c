package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bullpen/internal/audit"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// What jobs of somebody else may hold: markup, a way out of an attribute, control characters, marks that turn the
// direction of text, bytes that are no UTF-8.
const evil = "<script>alert(1)</script>\"' onmouseover=\"alert(2)\" <img src=x onerror=alert(3)>\x00\x1b[31m\u202etxt\u2066\xff\xfe</textarea></pre>"

// haunt gives the bench a job in each state whose every field is hostile, two with lines of 10 MB, and the same for
// everything else that people can name. It returns the ids.
func (b *bench) haunt() []string {
	b.t.Helper()
	ctx, now := b.t.Context(), time.Now()
	long := strings.Repeat("x<blink>", 10<<20/8)
	p := b.client.Pipeline()
	var ids []string
	job := func(st keys.State, id string, fields ...any) {
		id = string(st) + id
		ids = append(ids, id)
		p.HSet(ctx, b.queue.JobKey(id), append([]any{
			"name", evil, "data", `{"` + "a<script>\u202e" + `":"` + "\xff<img onerror=x>" + `"}`, "opts", `{"attempts":3,"` + "x<blink>" + `":1}`, "timestamp", now.UnixMilli() - 5000,
			"processedOn", now.UnixMilli() - 3000, "finishedOn", now.UnixMilli() - 1000, "atm", 1, "failedReason", evil, "pb", evil, "parentKey", "bull:" + evil + ":1",
			"stacktrace", `["` + "Error: <blink>\\u202e\xff" + `"]`, "returnvalue", evil, "progress", evil, "defa", evil,
		}, fields...)...)
		p.RPush(ctx, b.queue.Queue.Logs(id), evil, "plain")
		switch st {
		case keys.Waiting, keys.Active:
			p.LPush(ctx, b.queue.Key(map[keys.State]string{keys.Waiting: "wait", keys.Active: "active"}[st]), id)
		default:
			p.ZAdd(ctx, b.queue.Key(string(st)), redis.Z{Score: float64(now.UnixMilli()), Member: id})
		}
	}
	for _, st := range keys.States {
		job(st, evil)
	}
	job(keys.Failed, "long", "failedReason", long, "stacktrace", `["`+long+`"]`, "name", long)
	job(keys.Completed, "long", "data", `{"line":"`+long+`"}`, "returnvalue", long, "progress", long)
	p.RPush(ctx, b.queue.Queue.Logs(ids[len(ids)-1]), long)
	_, err := p.Exec(ctx)
	require.NoError(b.t, err)
	b.recountAll()
	snap := *b.monitor.Snapshot()
	snap.Workers = []monitor.Worker{{Queue: b.queue.Queue, Name: evil, Addr: evil, Bullpen: true, Host: evil, Version: evil, PolicyHash: evil}}
	hostileQueue := &monitor.Queue{Queue: keys.Queue{Prefix: b.queue.Prefix, Name: strings.ReplaceAll(evil, ":", "")}, Reason: "No worker", Version: evil, Counts: map[keys.State]int64{}}
	snap.Queues = append(slices.Clone(snap.Queues), hostileQueue)
	snap.At = time.Now()
	b.monitor.publish(&snap)
	b.o.Audit.Record(ctx, Entry{Who: evil, Action: evil, Queue: b.queue.Qualified(), Target: evil, Jobs: []string{evil}, Outcome: audit.Done, Message: evil, Remote: evil})
	return ids
}

// inert fails the test unless a page is bounded and nothing in it can run or deceive.
func inert(t *testing.T, about, page string) {
	t.Helper()
	require.Less(t, len(page), 6<<20, about)
	require.True(t, utf8.ValidString(page), "%s is not UTF-8", about)
	doc, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	for n := range doc.Descendants() {
		switch n.Type {
		case html.TextNode:
			if n.Parent.Data != "textarea" { // what is edited is as it is
				honest(t, about, n.Data)
			}
		case html.ElementNode:
			require.NotContains(t, []string{"img", "blink", "iframe", "object", "style", "base"}, n.Data, about)
			require.False(t, n.Data == "script" && n.FirstChild != nil, "%s: a script", about)
			for _, a := range n.Attr {
				require.False(t, strings.HasPrefix(a.Key, "on"), "%s: %s in %s", about, a.Key, n.Data)
				if a.Key == "href" || a.Key == "src" || a.Key == "action" || a.Key == "formaction" {
					require.Regexp(t, `^[/#?]`, a.Val, "%s: %s", about, a.Key)
				}
				if a.Key != "value" && !strings.HasPrefix(a.Key, "data-") { // for forms and scripts, not shown
					honest(t, about+" "+a.Key, a.Val)
				}
			}
		}
	}
}

// honest fails the test when a text holds what nobody would see, or what turns the text around it.
func honest(t *testing.T, about, text string) {
	t.Helper()
	for i, r := range text {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			t.Errorf("%s shows %U: …%q…", about, r, clip(text[max(0, i-60):], 150))
			return
		}
	}
}

// TestHostileJobsAreInert walks every read, as page and API, and every question, for every hostile job.
func TestHostileJobsAreInert(t *testing.T) {
	t.Parallel()
	b := withActivity(t)
	ids := b.haunt()
	server := b.serveLive()
	asked := 0
	for _, route := range b.Routes() {
		method, path, _ := strings.Cut(route, " ")
		if method != http.MethodGet || path == "/live" || strings.HasPrefix(path, "/static") {
			continue
		}
		queries := []string{""}
		switch path {
		case "/queues/:queue", "/queues/:queue/export", apiVersion + "/queues/:queue/jobs", apiVersion + "/queues/:queue/export":
			queries = nil
			for _, st := range keys.States {
				queries = append(queries, "?state="+string(st))
			}
			queries = append(queries, "?state=failed&q="+url.QueryEscape(`"<img"`))
		case "/search", apiVersion + "/search":
			queries = []string{"?q=" + url.QueryEscape(evil), "?q=" + url.QueryEscape(`error:"<img"`), "?q=" + url.QueryEscape(ids[0])}
		case "/queues/:queue/jobs/:id":
			queries = []string{"", "?open=data&log=" + url.QueryEscape("<")}
		}
		each := []string{""}
		if strings.Contains(path, ":id") {
			each = ids
		}
		for _, id := range each {
			for _, query := range queries {
				address := FillIn(t, path, escapeSegment(id)) + query
				a := b.get(address)
				about := clip(address, 120)
				require.Less(t, a.status, 500, "%s: %s", about, clip(a.body, 300))
				b.harmless(about, a)
				asked++
			}
		}
	}
	require.Greater(t, asked, 100)

	for _, view := range []string{"/", "/queues/email?state=failed", "/failures", "/workers", "/redis", "/queues/email/jobs/" + escapeSegment(ids[0])} {
		s := b.open(server, "", view)
		parts, _ := s.pass()
		for name, markup := range parts {
			inert(t, "stream of "+view+" "+name, markup)
		}
	}
}

// harmless judges an answer by its type.
func (b *bench) harmless(about string, a answer) {
	b.t.Helper()
	require.Equal(b.t, "nosniff", a.header.Get("X-Content-Type-Options"), about)
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	switch kind {
	case "text/html":
		inert(b.t, about, a.body)
	case ndjson:
		require.Contains(b.t, a.header.Get("Content-Disposition")+about, "attachment", about)
		require.Less(b.t, len(a.body), 128<<20, about)
		require.True(b.t, utf8.ValidString(a.body), "%s is not UTF-8", about)
		for line := range strings.Lines(a.body) {
			require.True(b.t, json.Valid([]byte(line)), about)
		}
	case "application/json", "application/problem+json":
		if a.header.Get("Content-Disposition") != "" {
			return // what is stored, byte for byte
		}
		require.Less(b.t, len(a.body), 6<<20, about)
		require.True(b.t, utf8.ValidString(a.body), "%s is not UTF-8", about)
		require.True(b.t, json.Valid([]byte(a.body)), about)
		hasNot(b.t, a.body, "<script>", about)
	case "text/plain", "text/markdown", "image/svg+xml", "":
	default:
		b.t.Fatalf("%s has the type %s", about, kind)
	}
}

// TestHostileActsAreInert asks and does things to hostile jobs: questions, notices and what is recorded.
func TestHostileActsAreInert(t *testing.T) {
	t.Parallel()
	b := withActivity(t)
	ids := b.haunt()
	for _, a := range b.acts {
		for _, id := range []string{ids[0], ids[len(ids)-1], evil} {
			path := FillIn(t, a.Path, escapeSegment(id))
			form := url.Values{"id": {id}, "name": {evil}, "data": {evil}, "state": {evil}, "q": {evil}, "why": {evil}, "duration": {evil}, "age": {evil}, "back": {"/"}}
			about := fmt.Sprintf("POST %s for %s", a.Path, clip(escapeSegment(id), 30))
			b.harmless(about, b.post(path, form))
			r := formRequest(apiVersion+path, form)
			w := httptest.NewRecorder()
			b.Handler().ServeHTTP(w, r)
			b.harmless(about, answer{w.Code, w.Header(), w.Body.String()})
		}
	}
	b.harmless("/activity", b.get("/activity"))
}

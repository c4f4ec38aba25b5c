package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"bullpen/internal/audit"
	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// withActivity gives the bench a log in Redis, empty at first.
func withActivity(t *testing.T, change ...func(*Options)) *bench {
	t.Helper()
	c := redisServer.Client(t)
	require.NoError(t, c.Del(t.Context(), keys.Audit).Err())
	return newBench(t, append([]func(*Options){func(o *Options) {
		l, err := audit.New(audit.Options{Client: c, ReadOnly: o.ReadOnly})
		require.NoError(t, err)
		o.Audit = l
	}}, change...)...)
}

func TestActivityShowsWhoDidWhat(t *testing.T) {
	b := withActivity(t, func(o *Options) { o.Auth = fixed{Identity{Name: "<b>ada</b>", Role: Admin}} })
	has(t, b.get("/activity").body, "Nobody has changed anything yet")
	ids := b.fail(2)
	b.post("/queues/email/retry", url.Values{"state": {"failed"}, "id": ids})
	b.post("/queues/email/pause", url.Values{"seen": {"running"}})
	b.post("/queues/email/jobs/no-such/retry", url.Values{})
	page := b.get("/activity").body
	has(t, page, "&lt;b&gt;ada&lt;/b&gt;, admin")
	for _, id := range ids {
		has(t, page, `<a class="mono" href="/queues/email/jobs/`+id+`">`)
	}
	has(t, page, `<a class="mono" href="/queues/email/jobs/no-such">`)
	has(t, page, "No such job")
	require.Less(t, strings.Index(page, "Pause"), strings.LastIndex(page, "Retry"), "newest first")

	page = b.get("/activity?result=refused").body
	has(t, page, "no-such")
	hasNot(t, page, "Pause")
	has(t, b.get("/activity?q=PAUSE").body, ">email</a>")
	hasNot(t, b.get("/activity?q=pause").body, "no-such")
	has(t, b.get("/activity?q=zzz").body, "Nothing that matches")
}

func TestActivityNamesTheAddedJob(t *testing.T) {
	b := withActivity(t)
	b.call("/api/v1/queues/email/jobs", `{"name":"send","data":"{}"}`)
	ids, err := b.client.LRange(t.Context(), b.queue.Wait(), 0, -1).Result()
	require.NoError(t, err)
	require.Len(t, ids, 1)
	has(t, b.get("/activity").body, `href="/queues/email/jobs/`+ids[0]+`"`)
}

func TestActivityPages(t *testing.T) {
	b := withActivity(t)
	for i := range activityRows + 3 {
		b.o.Audit.Record(t.Context(), Entry{Who: fmt.Sprintf("person-%d-", i), Action: "pause", Outcome: audit.Done})
	}
	page := b.get("/activity").body
	has(t, page, "person-52-")
	hasNot(t, page, "person-2-")
	next := page[strings.Index(page, "/activity?before="):]
	next, _, _ = strings.Cut(next, `"`)
	page = b.get(next).body
	has(t, page, "person-2-")
	has(t, page, "person-0-")
	hasNot(t, page, "person-52-")
	back, _, _ := strings.Cut(page[strings.Index(page, "/activity?after="):], `"`)
	page = b.get(back).body
	has(t, page, "person-52-")
	hasNot(t, page, "person-2-")
	require.Equal(t, http.StatusBadRequest, b.get("/activity?before=x").status)
}

func TestActivityOfHiddenQueuesIsNotShown(t *testing.T) {
	b := withActivity(t, func(o *Options) {
		o.Auth = fixed{Identity{Name: "eve", Role: Viewer, Queues: []string{"other-*"}}}
	})
	b.o.Audit.Record(t.Context(), Entry{Who: "ada", Action: "pause", Queue: b.queue.Qualified(), Outcome: audit.Done})
	hasNot(t, b.get("/activity").body, "ada")
}

func TestReadOnlyRecordsNothing(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.ReadOnly = true
		l, err := audit.New(audit.Options{Client: redisServer.Client(t), ReadOnly: true})
		require.NoError(t, err)
		o.Audit = l
	})
	require.NoError(t, b.client.Del(t.Context(), keys.Audit).Err())
	require.Equal(t, http.StatusForbidden, b.post("/queues/email/pause", url.Values{"seen": {"running"}}).status)
	n, err := b.client.Exists(t.Context(), keys.Audit).Result()
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, http.StatusOK, b.get("/activity").status)
}

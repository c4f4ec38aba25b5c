package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// more adds a queue to the bench's snapshot.
func (b *bench) more(name string) *engine.Queue {
	b.t.Helper()
	q, err := b.o.Queue(keys.Queue{Prefix: b.queue.Prefix, Name: name})
	require.NoError(b.t, err)
	snap := *b.monitor.Snapshot()
	snap.Queues = append(append([]*monitor.Queue{}, snap.Queues...), &monitor.Queue{Queue: q.Queue, Counts: map[keys.State]int64{}})
	b.monitor.publish(&snap)
	return q
}

// recountAll puts the counts of all queues into the snapshot.
func (b *bench) recountAll() {
	b.t.Helper()
	snap := *b.monitor.Snapshot()
	queues := make([]*monitor.Queue, len(snap.Queues))
	for i, old := range snap.Queues {
		q := *old
		eq, err := b.o.Queue(q.Queue)
		require.NoError(b.t, err)
		q.Counts, err = eq.Counts(b.t.Context())
		require.NoError(b.t, err)
		queues[i] = &q
	}
	snap.Queues, snap.At = queues, time.Now()
	b.monitor.publish(&snap)
}

// ended writes n jobs that failed or completed as a worker leaves them, a millisecond apart, the newest a minute ago,
// and returns their ids. In reason and data a # is the job's number.
func (b *bench) ended(q *engine.Queue, st keys.State, n int, name, reason, data string) []string {
	b.t.Helper()
	ctx, now := b.t.Context(), time.Now().Add(-time.Minute)
	before, err := b.client.ZCard(ctx, q.Key(string(st))).Result()
	require.NoError(b.t, err)
	p := b.client.Pipeline()
	ids := make([]string, n)
	for i := range ids {
		at := now.Add(-time.Duration(n-i) * time.Millisecond).UnixMilli()
		ids[i] = fmt.Sprintf("%s-%d", name, before+int64(i))
		number := func(s string) string { return strings.ReplaceAll(s, "#", fmt.Sprint(i)) }
		p.HSet(ctx, q.JobKey(ids[i]), "name", name, "data", number(data), "opts", `{"attempts":1}`, "timestamp", at-1000,
			"processedOn", at-10, "finishedOn", at, "atm", 1, "failedReason", number(reason))
		p.ZAdd(ctx, q.Key(string(st)), redis.Z{Score: float64(at), Member: ids[i]})
		if p.Len() > 2000 {
			_, err := p.Exec(ctx)
			require.NoError(b.t, err)
		}
	}
	_, err = p.Exec(ctx)
	require.NoError(b.t, err)
	b.recountAll()
	return ids
}

func secrets(o *Options) { o.Mask = jsonview.MaskKeys([]string{"password", "token"}) }

const secretData = `{"n":#,"user":"ada","password":"hunter2","items":[{"token":"t1"},{"token":"t2"}]}`

func TestSearchByID(t *testing.T) {
	b := newBench(t)
	other := b.more("video")
	for _, q := range []*engine.Queue{b.queue, other} {
		_, err := q.Add(t.Context(), "send", nil, engine.JobOptions{ID: "order/7 ä:b:c"})
		require.NoError(t, err)
	}
	b.recountAll()
	for _, text := range []string{"order/7 ä:b:c", ` order/7 ä:b:c `, `id:"order/7 ä:b:c"`, `"order/7 ä:b:c"`} {
		page := b.get("/search?q=" + url.QueryEscape(text)).body
		has(t, page, "2\u00a0jobs found", text)
		has(t, page, `href="/queues/email/jobs/order~2F7~20~C3~A4:b:c"`, text)
		has(t, page, `href="/queues/video/jobs/order~2F7~20~C3~A4:b:c"`, text)
	}
	has(t, b.get("/search?q=id:nope").body, "No job has the id nope")
	hasNot(t, b.get("/search?q=meta").body, "1\u00a0job found", "the queue's own keys are no jobs")
	var found lookJSON
	require.NoError(t, json.Unmarshal([]byte(b.get("/api/v1/search?q="+url.QueryEscape("order/7 ä:b:c")).body), &found))
	require.Equal(t, "id", found.By)
	require.Len(t, found.Jobs, 2)
	require.True(t, found.Complete)
}

// TestSearchShowsWhatTheViewerMaySee: neither by id nor by text does a search leave the viewer's queues.
func TestSearchShowsWhatTheViewerMaySee(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Auth = fixed{Identity{Name: "vic", Role: Viewer, Queues: []string{"video"}}} })
	other := b.more("video")
	b.ended(b.queue, keys.Failed, 3, "secret", "boom", "{}")
	b.ended(other, keys.Failed, 2, "mine", "boom", "{}")
	hasNot(t, b.get("/search?q=secret-1").body, "/queues/email")
	page := b.get("/search?q=boom").body
	has(t, page, "2\u00a0jobs found")
	hasNot(t, page, "secret-")
	hasNot(t, b.get("/failures").body, "secret")
	has(t, b.get("/failures").body, "2\u00a0failed jobs in 1\u00a0group")
}

// TestSearchLooksIntoTheQueuesAskedFor: the others cost nothing and do not count in how far it got.
func TestSearchLooksIntoTheQueuesAskedFor(t *testing.T) {
	b := newBench(t)
	b.ended(b.queue, keys.Failed, 3, "send", "boom", "{}")
	b.ended(b.more("video"), keys.Failed, 2, "cut", "boom", "{}")
	for text, want := range map[string]int64{"queue:video boom": 2, "-queue:video boom": 3, "boom": 5} {
		q, err := b.parseQuery(url.Values{"q": {text}}, b.o.Clock())
		require.NoError(t, err)
		_, total, err := b.listsOf(b.monitor.Snapshot().Queues, q)
		require.NoError(t, err)
		require.Equal(t, want, total, text)
	}
}

func TestSearchGoesOn(t *testing.T) {
	b := newBench(t)
	b.ended(b.queue, keys.Failed, 250, "send", "no such host", "{}")
	b.ended(b.more("video"), keys.Failed, 30, "cut", "no such host", "{}")
	seen := map[string]bool{}
	address, turns := "/search?q="+url.QueryEscape(`error:"such host"`), 0
	rows := regexp.MustCompile(`data-row="/queues/([^"]+)"`)
	next := regexp.MustCompile(`href="(/search[^"]+)" rel="next"`)
	for ; address != ""; turns++ {
		require.Less(t, turns, 5)
		page := b.get(address).body
		for _, m := range rows.FindAllStringSubmatch(page, -1) {
			require.False(t, seen[m[1]], "%s twice", m[1])
			seen[m[1]] = true
		}
		address = ""
		if m := next.FindStringSubmatch(page); m != nil {
			address = strings.ReplaceAll(m[1], "&amp;", "&")
			has(t, page, " found so far")
			has(t, page, "Looked at ")
		}
	}
	require.Len(t, seen, 280)
	require.Equal(t, 3, turns, "a hundred at a time")
	last := b.get("/api/v1/search?q=cut").body
	has(t, last, `"complete": true`)
	has(t, last, `"looked": 280`)
	require.Equal(t, http.StatusBadRequest, b.get("/search?q=x&from=nonsense").status)
}

func TestSearchTellsWhatIsWrong(t *testing.T) {
	b := newBench(t, secrets)
	b.ended(b.queue, keys.Failed, 3, "send", "boom", secretData)
	page := b.get("/search?q=colour:red").body
	has(t, page, "There is no key colour; known are id, name, state, error, data.…")
	has(t, page, `value="colour:red"`, "nothing typed is lost")
	has(t, page, `aria-invalid="true"`)
	masked := b.get("/search?q=data.password:hunter2").body
	has(t, masked, "What is masked cannot be searched: data.password.")
	a := b.get("/api/v1/search?q=data.password:hunter2")
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
	has(t, a.body, `"field": "q"`)
	has(t, b.get("/search?q=data:hunter2").body, "No job found", "masked values are found by no search")
	has(t, b.get("/search?q=data.user:ada").body, "3\u00a0jobs found")
	has(t, b.get("/search").body, "What can be asked")
}

// TestSearchIsNotLive: a stream of a search would look through all jobs every second.
func TestSearchIsNotLive(t *testing.T) {
	b := newBench(t)
	b.ended(b.queue, keys.Failed, 3, "send", "boom", "{}")
	hasNot(t, b.get("/search?q=boom").body, `data-topic="/search`)
	s := b.open(b.serveLive(), "", "/search?q=boom")
	got, _ := s.pass()
	require.NotContains(t, got["title"], "found")
}

const markup = `<script>alert(1)</script>`

func TestHostileTextIsInert(t *testing.T) {
	b := newBench(t)
	id := markup + "\u202e/?#%"
	at := time.Now().UnixMilli()
	require.NoError(t, b.client.HSet(t.Context(), b.queue.JobKey(id), "name", markup, "failedReason", markup+" \x00\xff\u202e 42", "timestamp", at, "finishedOn", at,
		"data", `{"k":"`+markup+`"}`, "opts", "{}").Err())
	require.NoError(t, b.client.ZAdd(t.Context(), b.queue.Failed(), redis.Z{Score: float64(at), Member: id}).Err())
	b.recountAll()
	q := url.QueryEscape(`"` + markup + `"`)
	for _, path := range []string{
		"/search?q=" + q, "/search?q=" + url.QueryEscape(markup+":x"), "/failures?q=" + q, "/queues/email?state=failed&q=" + q,
		"/queues/email?state=failed&q=" + url.QueryEscape(markup+":x"), "/queues/email/jobs/" + escapeSegment(id) + "/edit",
		"/queues/email/jobs/" + escapeSegment(id) + "/duplicate", "/queues/email/remove?all=1&state=failed&q=" + q, "/failures",
	} {
		page := b.get(path).body
		hasNot(t, page, "<script>alert", path)
		text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, "") // an id is an id where a form sends it
		hasNot(t, text, "\u202e", path)
		hasNot(t, text, "\xff", path)
		has(t, page, "&lt;script&gt;alert", path)
	}
	line := b.get("/queues/email/export?state=failed&q=" + q).body
	require.True(t, json.Valid([]byte(strings.Split(line, "\n")[0])), line)
	require.Equal(t, "application/x-ndjson", b.get("/queues/email/export?state=failed").header.Get("Content-Type"))
}

func TestFilteredList(t *testing.T) {
	b := newBench(t)
	b.ended(b.queue, keys.Failed, 60, "send", "no such host #", `{"n":#}`)
	b.ended(b.queue, keys.Failed, 5, "other", "boom", `{}`)
	page := b.get("/queues/email?state=failed&q=name:send&q=data.n:%3E=20").body
	has(t, page, `<b>name</b> <span class="cut">send</span>`)
	has(t, page, `href="/queues/email?q=data.n%3A%3E%3D20&amp;state=failed" aria-label="Drop name send"`)
	has(t, page, "25\u00a0jobs that match")
	has(t, page, "Retry all that match…")
	has(t, page, "Looked at ")
	hasNot(t, page, ">other-61<")
	m := regexp.MustCompile(`href="([^"]+from=[^"]+)" rel="next"`).FindStringSubmatch(page)
	require.NotNil(t, m)
	second := b.get(strings.ReplaceAll(m[1], "&amp;", "&")).body
	has(t, second, "15\u00a0jobs that match")
	has(t, second, ">First <")
	has(t, b.get("/queues/email?state=failed&q=name:nobody").body, "No failed job matches")
	broken := b.get("/queues/email?state=failed&q=name:other&q=colour:red").body
	has(t, broken, "There is no key colour")
	has(t, broken, ">other-61<", "the other terms stay in force")
	var found struct {
		lookJSON
		State string
	}
	require.NoError(t, json.Unmarshal([]byte(b.get("/api/v1/queues/email/jobs?state=failed&q=name:other&size=2").body), &found))
	require.Equal(t, "failed", found.State)
	require.Len(t, found.Jobs, 2)
	require.NotEmpty(t, found.Next)
}

// TestFilteredListsShareTheirScans: those who watch one list look once, and an act makes all look again.
func TestFilteredListsShareTheirScans(t *testing.T) {
	now := time.Now()
	b := newBench(t, func(o *Options) { o.Clock = func() time.Time { return now } })
	ids := b.ended(b.queue, keys.Failed, 3, "send", "boom", "{}")
	view := func() string {
		r := viewRequest{snap: b.monitor.Snapshot(), now: now, who: Identity{Role: Admin}, path: "/queues/email", params: map[string]string{"queue": "email"}, query: url.Values{"state": {"failed"}, "q": {"boom"}}, stream: true}
		v, err := b.queuePage(t.Context(), r)
		require.NoError(t, err)
		for _, reg := range v.live {
			if reg.name == "jobs" {
				html, err := renderText(t.Context(), reg.component)
				require.NoError(t, err)
				return html
			}
		}
		return ""
	}
	has(t, view(), ids[0])
	require.NoError(t, b.client.ZRem(t.Context(), b.queue.Failed(), ids[0]).Err())
	has(t, view(), ids[0], "the same look serves again")
	now = now.Add(time.Second)
	hasNot(t, view(), ids[0])
	now = now.Add(time.Millisecond)
	b.post("/queues/email/jobs/"+ids[1]+"/retry", url.Values{"seen": {"failed"}})
	now = now.Add(time.Millisecond)
	hasNot(t, view(), ids[1], "an act is seen at once")
}

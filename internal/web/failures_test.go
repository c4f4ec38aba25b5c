package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/search"

	"github.com/stretchr/testify/require"
)

func TestFailuresAcrossQueues(t *testing.T) {
	b := newBench(t)
	video := b.more("video")
	b.ended(b.queue, keys.Failed, 40, "send", "User # not found", "{}")
	b.ended(video, keys.Failed, 20, "send", "User # not found", "{}")
	b.ended(video, keys.Failed, 3, "cut", "boom", "{}")
	id := search.FailureID("send", "User 7 not found")
	page := b.get("/failures").body
	for _, want := range []string{
		"63\u00a0failed jobs in 2\u00a0groups", `>User <i class="ph">n</i> not found</a>`, "95\u00a0% have one error in common, in email, video.", ">60<", ">3<",
		`href="/search?q=failure%3A` + id + `"`, `href="/queues/video?q=failure%3A` + search.FailureID("cut", "boom") + `&amp;state=failed"`,
		"Counted over all 63\u00a0failed jobs", `action="/failures/` + id + `/retry"`, "Remove 60…", "Retry one first", "Open one of them", `aria-current="page" data-key="g f"`,
	} {
		has(t, page, want)
	}
	filtered := b.get("/failures?q=boom&within=24h&sort=newest").body
	has(t, filtered, ">boom<")
	hasNot(t, filtered, "not found")
	has(t, b.get("/failures?q=nothing").body, "No group matches")
	has(t, b.get("/search?q=failure:"+id).body, "60\u00a0jobs found")

	var api struct {
		Seen, Total int64
		Complete    bool
		Groups      []groupJSON
	}
	require.NoError(t, json.Unmarshal([]byte(b.get("/api/v1/failures").body), &api))
	require.True(t, api.Complete)
	require.EqualValues(t, 63, api.Total)
	require.Equal(t, id, api.Groups[0].ID)
	require.Equal(t, map[string]int64{b.queue.Qualified(): 40, video.Qualified(): 20}, api.Groups[0].Queues)
	require.EqualValues(t, 60, api.Groups[0].Trend[23])
}

// TestRetryAGroup: few with one click, many after a question, and always exactly the group, in all of its queues.
func TestRetryAGroup(t *testing.T) {
	b := newBench(t)
	video := b.more("video")
	b.ended(b.queue, keys.Failed, 30, "send", "User # not found", "{}")
	b.ended(b.queue, keys.Failed, 5, "send", "boom", "{}")
	b.ended(video, keys.Failed, 20, "send", "User # not found", "{}")
	id := search.FailureID("send", "User 7 not found")
	a := b.post("/failures/"+id+"/retry", url.Values{"back": {"/failures?sort=newest"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	require.Equal(t, "/failures?sort=newest", a.header.Get("Location"), "one click, and back to where it was")
	<-b.ops.Get(1).Over()
	st := b.ops.Get(1).Status()
	require.Empty(t, st.Error)
	require.EqualValues(t, 50, st.Done)
	require.Equal(t, id, st.Group)
	require.EqualValues(t, 5, b.count(keys.Failed), "other errors stay")
	counts, err := video.Counts(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 20, counts[keys.Waiting])
	e := b.audit.take()
	require.Equal(t, id, e[0].Target)
	for _, of := range e {
		require.ElementsMatch(t, []string{b.queue.Qualified(), video.Qualified()}, of.Queues, "who may not see them is not shown it")
	}
	page := b.get("/operations/1").body
	has(t, page, "Retried 50 failed jobs of 2\u00a0queues")
	has(t, page, "email, video")

	b.recountAll()
	gone := b.call("/api/v1/failures/"+id+"/retry", `{}`)
	require.Equal(t, http.StatusNotFound, gone.status, gone.body)
}

func TestLargeGroupsAsk(t *testing.T) {
	b := newBench(t)
	b.ended(b.queue, keys.Failed, 150, "send", "User # not found", "{}")
	id := search.FailureID("send", "User 7 not found")
	q := b.get("/failures/" + id + "/retry?back=/failures").body
	has(t, q, "Retry 150\u00a0failed jobs?")
	has(t, q, `href="/failures" aria-current="page"`, "the question belongs to the failures")
	has(t, q, "Five of them")
	has(t, q, "User 149 not found")
	has(t, b.get("/failures").body, "Retry 150…")
	byProgram := b.call("/api/v1/failures/"+id+"/remove", `{}`)
	require.Equal(t, http.StatusOK, byProgram.status)
	has(t, byProgram.body, `"matched": 150`)
	require.EqualValues(t, 150, b.count(keys.Failed), "a question is not an act")
	done := b.call("/api/v1/failures/"+id+"/remove", `{"confirm":"yes"}`)
	require.Equal(t, http.StatusAccepted, done.status, done.body)
	<-b.ops.Get(1).Over()
	require.EqualValues(t, 0, b.count(keys.Failed))
	require.EqualValues(t, 0, b.count(keys.Waiting))
}

// TestGroupsAreChangedOnlyWhereAllowed: the group spans two queues, the operator has one.
func TestGroupsAreChangedOnlyWhereAllowed(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.Auth = fixed{Identity{Name: "oz", Role: Operator, Queues: []string{"video"}}}
	})
	video := b.more("video")
	b.ended(b.queue, keys.Failed, 4, "send", "boom", "{}")
	b.ended(video, keys.Failed, 3, "send", "boom", "{}")
	id := search.FailureID("send", "boom")
	a := b.call("/api/v1/failures/"+id+"/retry", `{}`)
	require.Equal(t, http.StatusAccepted, a.status, a.body)
	<-b.ops.Get(1).Over()
	require.EqualValues(t, 3, b.ops.Get(1).Status().Done)
	require.EqualValues(t, 4, b.count(keys.Failed), "the other queue is not touched")
}

func TestUnrecoverableGroupsOfferRemoval(t *testing.T) {
	b := newBench(t)
	for _, id := range b.ended(b.queue, keys.Failed, 3, "send", "410 Gone", "{}") {
		require.NoError(t, b.client.HSet(t.Context(), b.queue.JobKey(id), "opts", `{"attempts":5}`).Err())
	}
	page := b.get("/failures").body
	has(t, page, "not retryable")
	has(t, page, "Remove 3…")
	has(t, page, "Retry anyway")
}

func TestMatchingJobsRunAsOperation(t *testing.T) {
	b := newBench(t, secrets)
	b.ended(b.queue, keys.Failed, 300, "send", "no such host", secretData)
	b.ended(b.queue, keys.Failed, 50, "other", "boom", "{}")
	form := url.Values{"all": {"1"}, "state": {"failed"}, "q": {"data.n:>=150"}, "back": {"/queues/email?state=failed&q=data.n:>=150"}}
	q := b.post("/queues/email/retry", form)
	require.Equal(t, http.StatusOK, q.status, q.body)
	has(t, q.body, "Retry 150\u00a0failed jobs?")
	has(t, q.body, "matches data.n:&gt;=150.")
	has(t, q.body, `name="q" value="data.n:&gt;=150"`)
	form.Set("confirm", "yes")
	a := b.post("/queues/email/retry", form)
	require.Equal(t, "/operations/1", a.header.Get("Location"), a.body)
	<-b.ops.Get(1).Over()
	require.EqualValues(t, 150, b.ops.Get(1).Status().Done)
	require.EqualValues(t, 200, b.count(keys.Failed))
	has(t, b.get("/operations/1").body, "matched data.n:&gt;=150")

	masked := b.call("/api/v1/queues/email/remove", `{"all":true,"state":"failed","q":"data.password:hunter2","confirm":"yes"}`)
	require.Equal(t, http.StatusUnprocessableEntity, masked.status, "what is masked selects nothing")
	wrong := b.call("/api/v1/queues/email/remove", `{"all":true,"state":"failed","q":"colour:red","confirm":"yes"}`)
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	require.EqualValues(t, 200, b.count(keys.Failed))
	none := b.call("/api/v1/queues/email/remove", `{"all":true,"state":"failed","q":"name:nobody"}`)
	require.Equal(t, http.StatusConflict, none.status)
	has(t, none.body, "No failed job of email matches")
}

// TestMatchingLongPayloads finds all that match also where their payloads are more than is held at once.
func TestMatchingLongPayloads(t *testing.T) {
	b := newBench(t)
	long := `{"n":7,"text":"` + strings.Repeat("x", 900<<10) + `"}`
	b.ended(b.queue, keys.Failed, 2*batchBytes>>20, "send", "boom", long)
	a := b.call("/api/v1/queues/email/remove", `{"all":true,"state":"failed","q":"data.n:7","confirm":"yes"}`)
	require.Equal(t, http.StatusAccepted, a.status, a.body)
	<-b.ops.Get(1).Over()
	require.EqualValues(t, 2*batchBytes>>20, b.ops.Get(1).Status().Done)
	require.Zero(t, b.count(keys.Failed))
}

// TestMatchingIsASnapshot: jobs that come after the start are not touched, nor those that moved on meanwhile.
func TestMatchingIsASnapshot(t *testing.T) {
	b := newBench(t)
	ids := b.add(40, engine.JobOptions{})
	b.recountAll()
	c := &Call{Action: &Action{Name: "remove"}, Queue: b.queue.Queue, Now: b.o.Clock(), Who: Identity{Name: "ada"}}
	query, err := search.Parse("name:send", b.searchOptions(c.Now))
	require.NoError(t, err)
	spec := b.overMatching(b.spec(c, "waiting jobs"), c, query, []target{{b.queue, keys.Waiting, removing(b.queue, keys.Waiting)}})
	n, err := spec.Prepare(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 40, n)
	late := b.add(1, engine.JobOptions{})
	require.NoError(t, b.client.LRem(t.Context(), b.queue.Wait(), 1, ids[5]).Err())
	require.NoError(t, b.client.LPush(t.Context(), b.queue.Active(), ids[5]).Err())
	var done, refused int64
	for last := false; !last; {
		batch, err := spec.Step(t.Context(), 7)
		require.NoError(t, err)
		done, refused, last = done+batch.Done, refused+int64(len(batch.Refused)), batch.Last
		for _, r := range batch.Refused {
			require.Equal(t, ids[5], r.ID)
			require.Equal(t, "no longer waiting when its turn came", r.Reason)
		}
	}
	require.EqualValues(t, 39, done)
	require.EqualValues(t, 1, refused)
	st, err := b.queue.State(t.Context(), late[0])
	require.NoError(t, err)
	require.Equal(t, keys.Waiting, st)
}

func TestVeryManyMatchesWantTheName(t *testing.T) {
	b := newBench(t)
	b.ended(b.queue, keys.Failed, 10_050, "send", "boom", "{}")
	q := b.post("/queues/email/remove", url.Values{"all": {"1"}, "state": {"failed"}, "q": {"boom"}})
	has(t, q.body, "Type <code>email</code> to go on")
	has(t, q.body, "Remove 10,050\u00a0failed jobs?")
	wrong := b.post("/queues/email/remove", url.Values{"all": {"1"}, "state": {"failed"}, "q": {"boom"}, "confirm": {"yes"}})
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	require.EqualValues(t, 10_050, b.count(keys.Failed))
	group := b.get("/failures/" + search.FailureID("send", "boom") + "/retry").body
	has(t, group, "Type <code>email</code> to go on")
}

// TestFailuresMove: who watches the page sees new groups come.
func TestFailuresMove(t *testing.T) {
	var ahead atomic.Int64
	b := newBench(t, func(o *Options) { o.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) } })
	b.ended(b.queue, keys.Failed, 2, "send", "boom", "{}")
	s := b.open(b.serveLive(), "", "/failures")
	first, _ := s.pass()
	has(t, first["groups"], "boom")
	ahead.Add(int64(3 * time.Second))
	b.ended(b.queue, keys.Failed, 1, "cut", "no space left", "{}")
	got, _ := s.pass()
	has(t, got["groups"], "no space left")
	has(t, got["finding"], "3\u00a0failed jobs in 2\u00a0groups")
	require.Contains(t, got["title"], "3\u00a0failed jobs")
}

package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// writes are all routes that are not reads, with their parameters filled in. The choice of a time zone is a cookie and no
// write.
func writes(b *bench, id string) []string {
	var out []string
	for _, r := range b.echo.Routes() {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || strings.HasPrefix(r.Path, "/callback/") || r.Path == "/zone" {
			continue
		}
		if r.Method != http.MethodPost {
			b.t.Fatalf("%s %s: writes are POSTs", r.Method, r.Path)
		}
		out = append(out, FillIn(b.t, r.Path, id))
	}
	require.Greater(b.t, len(out), 20)
	return out
}

// TestEveryWritePassesTheGate walks the route table: whatever is not a read is refused by the gate, and recorded, when
// the role, the origin or the mode forbids it; and nothing changes in Redis.
func TestEveryWritePassesTheGate(t *testing.T) {
	tests := []struct {
		name    string
		options func(*Options)
		request func(*http.Request)
	}{
		{"viewer", func(o *Options) { o.Auth = fixed{Identity{Name: "vic", Role: Viewer}} }, func(*http.Request) {}},
		{"operator of other queues", func(o *Options) { o.Auth = fixed{Identity{Name: "oz", Role: Admin, Queues: []string{"video-*"}}} }, func(*http.Request) {}},
		{"viewer's token, which needs no origin", func(o *Options) { o.Auth = fixed{Identity{Name: "ci", Role: Viewer, Token: true}} }, func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }},
		{"somebody without a role", func(o *Options) { o.Auth = fixed{Identity{Name: "eve"}} }, func(*http.Request) {}},
		{"sibling site", func(*Options) {}, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }},
		{"other origin", func(*Options) {}, func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "http://127.0.0.1:8081") }},
		{"sandboxed page", func(*Options) {}, func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "null") }},
		{"other site", func(*Options) {}, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }},
		{"no origin", func(*Options) {}, func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }},
		{"read-only", func(o *Options) { o.ReadOnly = true }, func(*http.Request) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.options)
			id := b.add(1, engine.JobOptions{Delay: time.Hour})[0]
			b.recount()
			before := b.dump()
			for _, path := range writes(b, id) {
				if tt.name == "operator of other queues" && !strings.Contains(path, "/queues/") {
					continue // nothing names a queue here; the act itself checks its target
				}
				r := formRequest(path, url.Values{"confirm": {"email"}, "all": {"1"}, "id": {id}, "name": {"x"}, "age": {"0"}, "force": {"1"}})
				tt.request(r)
				a := b.do(r)
				require.Equal(t, http.StatusForbidden, a.status, "%s: %s", path, a.body)
				entries := b.audit.take()
				require.Len(t, entries, 1, path)
				require.Equal(t, "refused", entries[0].Outcome, path)
			}
			require.Equal(t, before, b.dump(), "a refused write changed something")
		})
	}
}

// TestReadsDoNotWrite asks every GET route and compares Redis.
func TestReadsDoNotWrite(t *testing.T) {
	b := newBench(t)
	id := b.fail(1)[0]
	b.add(2, engine.JobOptions{Delay: time.Hour})
	b.recount()
	before := b.dump()
	for _, r := range b.echo.Routes() {
		if r.Method != http.MethodGet || r.Path == "/live" {
			continue
		}
		a := b.get(FillIn(t, r.Path, id) + "?all=1&confirm=email")
		require.Less(t, a.status, 500, "%s: %s", r.Path, a.body)
	}
	require.Equal(t, before, b.dump())
}

func TestRetryAJob(t *testing.T) {
	b := newBench(t)
	id := b.fail(1)[0]
	a := b.post("/queues/email/jobs/"+id+"/retry", url.Values{"seen": {"failed"}, "back": {"/queues/email?state=failed"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	require.Equal(t, "/queues/email?state=failed", a.header.Get("Location"))
	has(t, b.notice(a), "Retried job "+id+".")
	require.Equal(t, int64(1), b.count(keys.Waiting))
	require.Equal(t, 1, b.monitor.refreshed)
	e := b.audit.take()
	require.Equal(t, "done", e[0].Outcome)
	require.Equal(t, id, e[0].Target)
	require.Equal(t, "local", e[0].Who)

	again := b.post("/queues/email/jobs/"+id+"/retry", url.Values{"seen": {"failed"}, "back": {"/queues/email?state=failed"}})
	require.Equal(t, http.StatusSeeOther, again.status)
	has(t, b.notice(again), "is no longer failed, it is waiting now")
	require.Equal(t, "refused", b.audit.take()[0].Outcome)

	byProgram := b.call("/api/v1/queues/email/jobs/"+id+"/retry", `{}`)
	require.Equal(t, http.StatusConflict, byProgram.status)
	require.Equal(t, "application/problem+json", byProgram.header.Get("Content-Type"))
	has(t, byProgram.body, "only failed and completed jobs can be retried")

	gone := b.call("/api/v1/queues/email/jobs/nope/retry", `{}`)
	require.Equal(t, http.StatusNotFound, gone.status)
	reserved := b.call("/api/v1/queues/email/jobs/meta/remove", `{"confirm":"yes"}`)
	require.Equal(t, http.StatusNotFound, reserved.status, reserved.body)
}

func TestRemoveAsksFirst(t *testing.T) {
	b := newBench(t)
	ids := b.fail(3)
	form := url.Values{"id": ids[:2], "state": {"failed"}, "back": {"/queues/email"}}
	a := b.post("/queues/email/remove", form)
	require.Equal(t, http.StatusOK, a.status)
	has(t, a.body, "Remove 2\u00a0failed jobs?")
	require.Equal(t, int64(3), b.count(keys.Failed), "a question is not an act")
	require.Equal(t, "asked", b.audit.take()[0].Outcome)

	form.Set("confirm", "yes")
	form.Add("id", "404")
	a = b.post("/queues/email/remove", form)
	require.Equal(t, http.StatusSeeOther, a.status)
	has(t, b.notice(a), "Removed")
	require.Equal(t, int64(1), b.count(keys.Failed))

	none := b.post("/queues/email/remove", url.Values{"state": {"failed"}, "back": {"/queues/email"}})
	has(t, b.notice(none), "Tick the jobs first")
	active := b.call("/api/v1/queues/email/remove", `{"id":["1"],"state":"active","confirm":"yes"}`)
	require.Equal(t, http.StatusUnprocessableEntity, active.status)
}

func TestBulkRetryTellsRefusals(t *testing.T) {
	b := newBench(t)
	ids := b.fail(3)
	require.NoError(t, b.client.Del(t.Context(), b.queue.Queue.Job(ids[2])).Err())
	_, _, err := b.queue.Remove(t.Context(), ids[1:2], false)
	require.NoError(t, err)
	body, err := json.Marshal(map[string]any{"id": ids, "state": "failed"})
	require.NoError(t, err)
	a := b.call("/api/v1/queues/email/retry", string(body))
	require.Equal(t, http.StatusOK, a.status, a.body)
	var res Result
	require.NoError(t, json.Unmarshal([]byte(a.body), &res))
	require.Equal(t, int64(1), res.Done)
	require.Equal(t, int64(2), res.Refused)
	require.Equal(t, "Retried 1\u00a0job.", res.Message)
	for _, r := range res.Refusals {
		require.NotEmpty(t, r.Reason)
	}
}

func TestRetryAllRunsAsOperation(t *testing.T) {
	b := newBench(t)
	b.fail(2500)
	q := b.post("/queues/email/retry", url.Values{"all": {"1"}, "state": {"failed"}})
	require.Equal(t, http.StatusOK, q.status)
	has(t, q.body, "Retry 2,500\u00a0failed jobs?")
	has(t, q.body, "Five of them")
	has(t, q.body, "no such &lt;b&gt;host&lt;/b&gt;", "text of jobs is escaped")

	a := b.post("/queues/email/retry", url.Values{"all": {"1"}, "state": {"failed"}, "confirm": {"yes"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	require.Equal(t, "/operations/1", a.header.Get("Location"))
	<-b.ops.Get(1).Over()
	require.Equal(t, int64(2500), b.ops.Get(1).Status().Done)
	require.Equal(t, int64(2500), b.count(keys.Waiting))
	page := b.get("/operations/1").body
	has(t, page, "Retried 2,500 failed jobs of email")
	has(t, b.get("/operations").body, "Retry failed jobs")
	has(t, b.get("/api/v1/operations/1").body, `"done": 2500`)
}

func TestTypedConfirmation(t *testing.T) {
	b := newBench(t)
	b.add(3, engine.JobOptions{})
	b.recount()
	q := b.get("/queues/email/obliterate")
	has(t, q.body, "Type <code>email</code> to go on")
	wrong := b.post("/queues/email/obliterate", url.Values{"confirm": {"emali"}})
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	has(t, wrong.body, "That is not email.")
	require.Equal(t, int64(3), b.count(keys.Waiting))
	byProgram := b.call("/api/v1/queues/email/obliterate", `{}`)
	has(t, byProgram.body, `"confirm": "email"`)
	right := b.post("/queues/email/obliterate", url.Values{"confirm": {"email"}})
	require.Equal(t, http.StatusSeeOther, right.status, right.body)
	<-b.ops.Get(1).Over()
	require.Empty(t, b.ops.Get(1).Status().Error)
	require.Empty(t, b.dump())
}

func TestPauseComparesWhatWasSeen(t *testing.T) {
	b := newBench(t)
	b.add(1, engine.JobOptions{})
	a := b.post("/queues/email/pause", url.Values{"seen": {"running"}, "back": {"/queues/email"}})
	has(t, b.notice(a), "Paused email.")
	late := b.post("/queues/email/pause", url.Values{"seen": {"running"}, "back": {"/queues/email"}})
	has(t, b.notice(late), "The queue is no longer running, it is paused now")
	b.recount()
	has(t, b.get("/queues/email").body, "Resume")
	a = b.post("/queues/email/resume", url.Values{"seen": {"paused"}, "back": {"/queues/email"}})
	has(t, b.notice(a), "Resumed email.")
	paused, err := b.queue.IsPaused(t.Context())
	require.NoError(t, err)
	require.False(t, paused)
}

func TestCleanInTwoSteps(t *testing.T) {
	b := newBench(t)
	b.fail(120)
	form := b.get("/queues/email/clean?state=failed")
	has(t, form.body, "Older than")
	bad := b.post("/queues/email/clean", url.Values{"state": {"failed"}, "age": {"soon"}, "limit": {"-1"}})
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	has(t, bad.body, `value="soon"`, "nothing typed is lost")
	has(t, bad.body, "write a number and a unit")
	ask := b.post("/queues/email/clean", url.Values{"state": {"failed"}, "age": {"0"}, "limit": {"100"}})
	has(t, ask.body, "Remove 100\u00a0failed jobs?")
	a := b.post("/queues/email/clean", url.Values{"state": {"failed"}, "age": {"0"}, "limit": {"100"}, "confirm": {"yes"}})
	require.Equal(t, http.StatusSeeOther, a.status)
	<-b.ops.Get(1).Over()
	require.Equal(t, int64(20), b.count(keys.Failed))
	old := b.post("/queues/email/clean", url.Values{"state": {"failed"}, "age": {"7d"}, "confirm": {"yes"}})
	require.Equal(t, http.StatusConflict, old.status)
	has(t, old.body, "No job of email is failed and older than 7\u00a0days.")
	require.Equal(t, int64(20), b.count(keys.Failed), "young jobs stay")
}

func TestPromoteAllAndDrain(t *testing.T) {
	b := newBench(t)
	b.add(300, engine.JobOptions{Delay: time.Hour})
	b.recount()
	a := b.post("/queues/email/promote", url.Values{"all": {"1"}, "confirm": {"yes"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	<-b.ops.Get(1).Over()
	require.Equal(t, int64(300), b.count(keys.Waiting))
	b.add(5, engine.JobOptions{Delay: time.Hour})
	a = b.post("/queues/email/drain", url.Values{"confirm": {"yes"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	<-b.ops.Get(2).Over()
	require.Equal(t, int64(0), b.count(keys.Waiting))
	require.Equal(t, int64(5), b.count(keys.Delayed), "delayed jobs stay unless asked")
}

func TestAddJob(t *testing.T) {
	b := newBench(t)
	has(t, b.get("/queues/email/jobs").body, "Add a job to email")
	bad := b.post("/queues/email/jobs", url.Values{"confirm": {"yes"}, "name": {""}, "data": {"{\n  nope"}, "delay": {"later"}, "attempts": {"0"}, "priority": {"x"}, "id": {"a"}})
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	for _, want := range []string{"A job needs a name.", "This is not JSON: line 2", "Write a number and a unit", "A whole number from 1 to", "A whole number from 0 to", "{\n  nope", `value="later"`} {
		has(t, bad.body, want)
	}
	reserved := b.post("/queues/email/jobs", url.Values{"confirm": {"yes"}, "name": {"send"}, "id": {"meta"}})
	require.Equal(t, http.StatusUnprocessableEntity, reserved.status, "the engine's own findings go beside the field")
	has(t, reserved.body, `aria-invalid="true"`)
	require.Empty(t, b.dump(), "nothing was written")

	data := `{"z":1, "a":12345678901234567890, "a":1.10}`
	a := b.post("/queues/email/jobs", url.Values{"confirm": {"yes"}, "name": {"send"}, "data": {data}, "delay": {"30s"}, "attempts": {"4"}, "id": {"order/7"}, "back": {"/queues/email"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	has(t, b.notice(a), "Added job order/7.")
	j, err := b.queue.Job(t.Context(), "order/7")
	require.NoError(t, err)
	require.Equal(t, data, string(j.Data), "byte for byte")
	require.Equal(t, 4, j.Opts.Attempts)
	require.Equal(t, 30*time.Second, j.Delay)

	twice := b.post("/queues/email/jobs", url.Values{"confirm": {"yes"}, "name": {"send"}, "id": {"order/7"}})
	has(t, twice.body, "There is a job with this id already.")
	byProgram := b.call("/api/v1/queues/email/jobs", `{"name":"send","data":{"x":[1,2]},"priority":3}`)
	require.Equal(t, http.StatusOK, byProgram.status, byProgram.body)
	has(t, byProgram.body, `"jobId": "`)
	wrong := b.call("/api/v1/queues/email/jobs", `{"name":"send","priority":-1}`)
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	has(t, wrong.body, `"field": "priority"`)
}

func TestLegacyQueuesAreLeftAlone(t *testing.T) {
	b := newBench(t)
	b.monitor.snap.Queues[0].Legacy = true
	a := b.call("/api/v1/queues/email/pause", `{}`)
	require.Equal(t, http.StatusConflict, a.status)
	has(t, a.body, "never writes")
	hasNot(t, b.get("/queues/email").body, "Add job")
}

func TestUnreadableRequests(t *testing.T) {
	b := newBench(t)
	require.Equal(t, http.StatusBadRequest, b.call("/api/v1/queues/email/pause", `{nope`).status)
	require.Equal(t, http.StatusBadRequest, b.call("/api/v1/queues/email/pause", `[]`).status)
	require.Equal(t, http.StatusNotFound, b.call("/api/v1/queues/nope/pause", `{}`).status)
	require.Equal(t, http.StatusNotFound, b.call("/api/v1/nope", `{}`).status)
	require.Equal(t, http.StatusMethodNotAllowed, b.call("/", `{}`).status)
	large := b.call("/api/v1/queues/email/jobs", `{"name":"x","data":"`+strings.Repeat("x", maxForm)+`"}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, large.status)
	has(t, large.body, "at most 8.4")
}

// TestPausedListIsATabOfItsOwn: BullMQ 5 moves waiting jobs into a list of their own while a queue is paused.
func TestPausedListIsATabOfItsOwn(t *testing.T) {
	b := newBench(t)
	waiting := b.add(2, engine.JobOptions{})
	held := b.add(3, engine.JobOptions{})
	for _, id := range held {
		require.NoError(t, b.client.LRem(t.Context(), b.queue.Wait(), 1, id).Err())
		require.NoError(t, b.client.LPush(t.Context(), b.queue.Queue.Paused(), id).Err())
	}
	b.recount()
	b.monitor.snap.Queues[0].PausedList = 3
	page := b.get("/queues/email?state=paused").body
	has(t, page, `href="/queues/email?state=paused" data-key="2" aria-current="page"`)
	has(t, page, "1–3 of 3")
	for _, order := range []string{"", "&order=desc"} {
		for state, ids := range map[string][]string{"paused": held, "waiting": waiting} {
			body := b.get("/api/v1/queues/email/jobs?state=" + state + order).body
			var list struct {
				Total int64
				Jobs  []struct{ ID string }
			}
			require.NoError(t, json.Unmarshal([]byte(body), &list))
			var got []string
			for _, j := range list.Jobs {
				got = append(got, j.ID)
			}
			require.ElementsMatch(t, ids, got, "%s%s", state, order)
			require.Equal(t, int64(len(ids)), list.Total)
		}
	}
	hasNot(t, b.get("/queues/email").body, "No such state")
}

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/search"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// buried is a bench whose jobs have failed for good, each with its letter in the queue "dead".
type buried struct {
	*bench
	dead         *engine.Queue
	ids, letters []string
}

// bury fails n jobs, and makes the monitor show both queues.
func bury(t *testing.T, n int, change ...func(*Options)) *buried {
	t.Helper()
	b := &buried{bench: newBench(t, change...)}
	b.ids = b.add(n, engine.JobOptions{})
	w, err := engine.NewWorker(engine.WorkerOptions{
		Queue: b.queue, Concurrency: 50, DeadLetter: "dead",
		Handler: func(context.Context, *engine.Job) (any, error) { return nil, errors.New("no such <b>host</b>") },
		Blocking: func(name string) redis.UniversalClient {
			o := redisServer.Options()
			o.ClientName, o.MaxRetries, o.ReadTimeout = name, -1, 20*time.Second
			return redis.NewClient(o)
		},
	})
	require.NoError(t, err)
	require.NoError(t, w.Start(t.Context()))
	require.Eventually(t, func() bool { return b.count(keys.Failed) == int64(n) }, 20*time.Second, 5*time.Millisecond)
	_, err = w.Stop(t.Context())
	require.NoError(t, err)
	b.dead, err = b.o.Queue(keys.Queue{Prefix: b.queue.Prefix, Name: "dead"})
	require.NoError(t, err)
	found, err := b.dead.IDs(t.Context(), keys.Waiting, 0, int64(n), time.Time{})
	require.NoError(t, err)
	for _, id := range b.ids {
		i := slices.IndexFunc(found, func(letter string) bool { return strings.HasPrefix(letter, "email."+id+".") })
		require.GreaterOrEqual(t, i, 0)
		b.letters = append(b.letters, found[i])
	}
	b.recount()
	snap := *b.monitor.Snapshot()
	counts, err := b.dead.Counts(t.Context())
	require.NoError(t, err)
	snap.Queues = append(slices.Clone(snap.Queues), &monitor.Queue{Queue: b.dead.Queue, DeadLetter: true, Health: monitor.Quiet, Reason: "Nothing to do", Counts: counts})
	b.monitor.publish(&snap)
	return b
}

func TestReplayFromTheLettersPage(t *testing.T) {
	b := bury(t, 1)
	list := b.get("/queues/dead")
	has(t, list.body, "no such &lt;b&gt;host&lt;/b&gt;", "the list says why")
	has(t, list.body, "/queues/dead/jobs/"+b.letters[0]+"/replay")
	has(t, list.body, "/queues/dead/replay?all=1")
	page := b.get("/queues/dead/jobs/" + b.letters[0])
	has(t, page.body, "Dead letter of job "+b.ids[0]+" of email")
	has(t, page.body, `href="/queues/email/jobs/`+b.ids[0]+`"`)

	a := b.post("/queues/dead/jobs/"+b.letters[0]+"/replay", url.Values{"seen": {"waiting"}, "back": {"/queues/dead"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	require.Equal(t, "/queues/email/jobs/"+b.ids[0], a.header.Get("Location"), "on to the job, the letter is gone")
	has(t, b.notice(a), "Replayed job "+b.ids[0]+" of email.")
	require.Equal(t, int64(1), b.count(keys.Waiting))
	e := b.audit.take()
	require.Len(t, e, 1)
	require.Equal(t, b.letters[0], e[0].Target, "the log names the letter")
	require.Contains(t, e[0].Message, "job "+b.ids[0]+" of email", "and the original")

	original := b.get("/queues/email/jobs/" + b.ids[0])
	has(t, original.body, "Replayed from")
	has(t, original.body, b.letters[0])
	gone := b.get("/queues/dead/jobs/" + b.letters[0])
	require.Equal(t, http.StatusNotFound, gone.status)
	has(t, gone.body, "It was a dead letter and was replayed on")
	has(t, gone.body, `href="/queues/email/jobs/`+b.ids[0]+`"`)

	again := b.call("/api/v1/queues/dead/jobs/"+b.letters[0]+"/replay", `{}`)
	require.Equal(t, http.StatusConflict, again.status)
	has(t, again.body, "was replayed on")
	other := b.call("/api/v1/queues/email/jobs/"+b.ids[0]+"/replay", `{}`)
	require.Equal(t, http.StatusConflict, other.status)
	has(t, other.body, "is not a dead letter")
}

func TestReplayTicked(t *testing.T) {
	b := bury(t, 3)
	require.NoError(t, b.queue.RetryJob(t.Context(), keys.Failed, b.ids[1], true))
	body, err := json.Marshal(map[string]any{"id": b.letters[:2]})
	require.NoError(t, err)
	a := b.call("/api/v1/queues/dead/replay", string(body))
	require.Equal(t, http.StatusOK, a.status, a.body)
	var res Result
	require.NoError(t, json.Unmarshal([]byte(a.body), &res))
	require.Equal(t, "Replayed 1\u00a0job.", res.Message)
	require.Equal(t, []Refusal{{ID: b.letters[1], Reason: "job " + b.ids[1] + " of email is waiting, not failed"}}, res.Refusals)
	left, err := b.dead.IDs(t.Context(), keys.Waiting, 0, 9, time.Time{})
	require.NoError(t, err)
	require.ElementsMatch(t, b.letters[1:], left)
}

func TestReplayAllIsAnOperation(t *testing.T) {
	b := bury(t, 1500)
	q := b.post("/queues/dead/replay", url.Values{"all": {"1"}})
	require.Equal(t, http.StatusOK, q.status)
	has(t, q.body, "Replay 1,500\u00a0waiting jobs?")
	has(t, q.body, "Five of them")
	a := b.post("/queues/dead/replay", url.Values{"all": {"1"}, "confirm": {"yes"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	require.Eventually(t, func() bool { return b.count(keys.Waiting) == 1500 }, 20*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		return strings.Contains(b.get(a.header.Get("Location")).body, "Replayed 1,500 waiting jobs of dead")
	}, 20*time.Second, 10*time.Millisecond)
	n, err := b.dead.Counts(t.Context())
	require.NoError(t, err)
	require.Zero(t, n[keys.Waiting])
}

func TestReplayAGroup(t *testing.T) {
	b := bury(t, 6)
	require.NoError(t, b.client.HSet(t.Context(), b.dead.JobKey(b.letters[0]), "failedReason", "503 from downstream").Err())
	require.NoError(t, b.client.HSet(t.Context(), b.dead.JobKey(b.letters[3]), "failedReason", "503 from upstream").Err())
	list := b.get("/queues/dead?q=error:503")
	has(t, list.body, "Replay all that match…")
	q := b.post("/queues/dead/replay", url.Values{"all": {"1"}, "state": {"waiting"}, "q": {"error:503"}})
	require.Equal(t, http.StatusOK, q.status, q.body)
	a := b.post("/queues/dead/replay", url.Values{"all": {"1"}, "state": {"waiting"}, "q": {"error:503"}, "confirm": {"yes"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	require.Eventually(t, func() bool { return b.count(keys.Waiting) == 2 }, 20*time.Second, 10*time.Millisecond)
	back, err := b.queue.IDs(t.Context(), keys.Waiting, 0, 9, time.Time{})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{b.ids[0], b.ids[3]}, back)
}

// TestReplayNeedsTheOriginalsQueue refuses somebody who may change the dead-letter queue alone: a replay writes elsewhere.
func TestReplayNeedsTheOriginalsQueue(t *testing.T) {
	b := bury(t, 2, func(o *Options) { o.Auth = fixed{Identity{Name: "dee", Role: Operator, Queues: []string{"dead"}}} })
	a := b.call("/api/v1/queues/dead/jobs/"+b.letters[0]+"/replay", `{}`)
	require.Equal(t, http.StatusForbidden, a.status, a.body)
	has(t, a.body, "its original is of email, which dee may not change")
	body, err := json.Marshal(map[string]any{"id": b.letters})
	require.NoError(t, err)
	a = b.call("/api/v1/queues/dead/replay", string(body))
	require.Equal(t, http.StatusConflict, a.status, a.body)
	require.Equal(t, int64(2), b.count(keys.Failed))
}

func TestOriginalOf(t *testing.T) {
	t.Parallel()
	dead := keys.Queue{Prefix: "bull", Name: "dead"}
	snap := &monitor.Snapshot{Queues: []*monitor.Queue{{Queue: keys.Queue{Prefix: "bull", Name: "a"}}, {Queue: keys.Queue{Prefix: "bull", Name: "a.b"}}}}
	for letter, want := range map[string]string{
		"a.17.1764500000000": "a 17", "a.b.17.1764500000000": "a.b 17", "a.x.y.1764500000000": "a x.y",
		"c.17.1764500000000": "", "a.17.soon": "", "nothing": "", ".1": "", "a.1": "",
	} {
		q, id, ok := originalOf(snap, dead, letter)
		require.Equal(t, want != "", ok, letter)
		if ok {
			require.Equal(t, want, q.Name+" "+id)
		}
	}
}

// TestReplayAGroupOfLetters: the letters of one error go back with one click, the others stay.
func TestReplayAGroupOfLetters(t *testing.T) {
	b := bury(t, 7)
	for i, letter := range b.letters {
		reason := "boom"
		if i < 4 {
			reason = fmt.Sprintf("User %d not found", i)
		}
		require.NoError(t, b.client.HSet(t.Context(), b.dead.JobKey(letter), "failedReason", reason).Err())
	}
	id := search.FailureID("send", "User 7 not found")
	page := b.get("/failures/letters").body
	for _, want := range []string{
		"7\u00a0dead letters in 2\u00a0groups", `>User <i class="ph">n</i> not found</a>`, `action="/failures/letters/` + id + `/replay"`, "Replay 4", "Remove 4…",
		`href="/queues/dead?q=letter%3A` + id + `&amp;state=waiting"`, `<a href="/failures">Failed jobs</a>`, `aria-current="page">Dead letters</a>`,
	} {
		has(t, page, want)
	}
	has(t, b.get("/failures").body, `<a href="/failures/letters">Dead letters</a>`)
	has(t, b.get("/queues/dead?state=waiting&q=letter:"+id).body, "Replay all that match…")

	a := b.post("/failures/letters/"+id+"/replay", nil)
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	<-b.ops.Get(1).Over()
	st := b.ops.Get(1).Status()
	require.Empty(t, st.Error)
	require.EqualValues(t, 4, st.Done)
	require.EqualValues(t, 4, b.count(keys.Waiting), "the originals wait again")
	require.EqualValues(t, 3, b.count(keys.Failed), "other errors stay")
	require.Equal(t, id, b.audit.take()[0].Target)

	var api struct{ Total int64 }
	require.NoError(t, json.Unmarshal([]byte(b.get("/api/v1/failures/letters").body), &api))
	require.EqualValues(t, 3, api.Total)
}

package processor

import (
	"bytes"
	"context"
	"encoding/base64"
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

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

var callbackKey = []byte("0123456789abcdef")

// callbackTest is a queue with one active job and a server for its callbacks.
type callbackTest struct {
	*testing.T
	client redis.UniversalClient
	queue  *engine.Queue
	job    *engine.Job
	server *httptest.Server
	now    time.Time
}

func newCallbackTest(t *testing.T) *callbackTest {
	ct := &callbackTest{T: t, client: srv.Client(t), now: time.Now()}
	q, err := engine.NewQueue(engine.QueueOptions{Client: ct.client, Prefix: srv.Prefix(), Name: "hooks"})
	require.NoError(t, err)
	ct.queue = q
	added, err := q.Add(t.Context(), "n", json.RawMessage(`{}`), engine.JobOptions{})
	require.NoError(t, err)
	ct.activate(added.ID)
	ct.server = httptest.NewServer(nil)
	t.Cleanup(ct.server.Close)
	return ct
}

// activate puts the job where a worker's fetch would.
func (ct *callbackTest) activate(id string) {
	ctx := context.Background()
	_, err := ct.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.LRem(ctx, ct.queue.Wait(), 0, id)
		p.LPush(ctx, ct.queue.Active(), id)
		p.HIncrBy(ctx, ct.queue.JobKey(id), "ats", 1)
		p.Set(ctx, ct.queue.Lock(id), "token", time.Minute)
		return nil
	})
	require.NoError(ct, err)
	ct.job, err = ct.queue.Job(ctx, id)
	require.NoError(ct, err)
}

// replica is a Callbacks that shares the key; the last one made serves.
func (ct *callbackTest) replica(key []byte) *Callbacks {
	c, err := NewCallbacks(CallbackOptions{
		URL: ct.server.URL + "/base/", Key: key, Clock: func() time.Time { return ct.now },
		Queue: func(k keys.Queue) (*engine.Queue, error) {
			return engine.NewQueue(engine.QueueOptions{Client: ct.client, Prefix: k.Prefix, Name: k.Name})
		},
	})
	require.NoError(ct, err)
	ct.server.Config.Handler = c
	return c
}

func (ct *callbackTest) call(method, url, body string) (int, string) {
	ct.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	require.NoError(ct, err)
	res, err := ct.server.Client().Do(req)
	require.NoError(ct, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	require.NoError(ct, err)
	require.Equal(ct, "no-store", res.Header.Get("Cache-Control"))
	return res.StatusCode, strings.TrimSpace(string(b))
}

func TestCallbackUpdatesTheRunningJob(t *testing.T) {
	ct := newCallbackTest(t)
	c := ct.replica(callbackKey)
	link, end := c.begin(ct.queue.Queue, ct.job, time.Minute)
	defer end()
	require.True(t, strings.HasPrefix(link, ct.server.URL+"/base/callback/"))

	for _, body := range []string{
		`{"progress":{"n": 12345678901234567890}}`, `{"log":"one"}`, `{"log":"two","data":[1, 2]}`,
	} {
		status, text := ct.call(http.MethodPost, link, body)
		require.Equal(t, http.StatusNoContent, status, text)
	}
	j, err := ct.queue.Job(t.Context(), ct.job.ID)
	require.NoError(t, err)
	require.Equal(t, `{"n": 12345678901234567890}`, string(j.Progress))
	require.Equal(t, `[1, 2]`, string(j.Data))
	rows, _, err := ct.queue.Logs(t.Context(), j.ID, 0, -1, true)
	require.NoError(t, err)
	require.Equal(t, []string{"one", "two"}, rows)
}

func TestCallbackGivesChildrenValues(t *testing.T) {
	ct := newCallbackTest(t)
	link, end := ct.replica(callbackKey).begin(ct.queue.Queue, ct.job, 0)
	defer end()
	status, text := ct.call(http.MethodGet, link+"/children", "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `{}`, text)

	require.NoError(t, ct.client.HSet(t.Context(), ct.queue.Processed(ct.job.ID),
		"bull:a:1", `{"n": 12345678901234567890}`, "bull:a:2", "null", "bull:a:3", "not json").Err())
	for _, url := range []string{link + "/children", link, link + "?children"} {
		status, text = ct.call(http.MethodGet, url, "")
		require.Equal(t, http.StatusOK, status)
	}
	require.JSONEq(t, `{"bull:a:1":{"n":12345678901234567890},"bull:a:2":null,"bull:a:3":"not json"}`, text)
	require.Contains(t, text, "12345678901234567890")
}

func TestCallbackRefusesWhatMakesNoSense(t *testing.T) {
	ct := newCallbackTest(t)
	link, end := ct.replica(callbackKey).begin(ct.queue.Queue, ct.job, 0)
	defer end()
	for body, want := range map[string]int{
		``: 400, `{}`: 400, `[]`: 400, `null`: 400, `{"progress":1`: 400, `{"log":7}`: 400, `{"log":null}`: 400,
		`{"progres":1}`: 400, `{"log":"` + strings.Repeat("x", callbackLimit) + `"}`: 413,
	} {
		status, text := ct.call(http.MethodPost, link, body)
		require.Equal(t, want, status, "%.40s", body)
		require.Contains(t, text, `{"error":"`)
	}
	for _, r := range [][2]string{{http.MethodDelete, ""}, {http.MethodPut, ""}, {http.MethodPost, "/children"}, {http.MethodGet, "/else"}} {
		status, _ := ct.call(r[0], link+r[1], `{"log":"x"}`)
		require.Equal(t, http.StatusMethodNotAllowed, status, r)
	}
	rows, _, err := ct.queue.Logs(t.Context(), ct.job.ID, 0, -1, true)
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestCallbackForgeryIsRefused(t *testing.T) {
	ct := newCallbackTest(t)
	foreign, endForeign := ct.replica([]byte("another key 0123")).begin(ct.queue.Queue, ct.job, 0)
	defer endForeign()
	link, end := ct.replica(callbackKey).begin(ct.queue.Queue, ct.job, 0)
	defer end()
	base, sealed, _ := strings.Cut(link, "/callback/")
	body, signature, _ := strings.Cut(sealed, ".")
	payload, err := base64.RawURLEncoding.DecodeString(body)
	require.NoError(t, err)
	other := base64.RawURLEncoding.EncodeToString(bytes.Replace(payload, []byte(`"i":"`), []byte(`"i":"9`), 1))

	for name, token := range map[string]string{
		"another job": other + "." + signature, "no signature": body, "empty signature": body + ".",
		"not base64": body + ".!!", "empty": "", "cut": sealed[:len(sealed)-2],
		"longer": sealed + "AA", "payload only signed by itself": body + "." + body,
	} {
		status, text := ct.call(http.MethodPost, base+"/callback/"+token, `{"log":"evil"}`)
		require.Equal(t, http.StatusForbidden, status, name)
		require.Equal(t, `{"error":"this callback was not issued here"}`, text)
	}
	status, _ := ct.call(http.MethodPost, foreign, `{"log":"evil"}`)
	require.Equal(t, http.StatusForbidden, status)
	rows, _, err := ct.queue.Logs(t.Context(), ct.job.ID, 0, -1, true)
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestCallbackEndsWithItsTime(t *testing.T) {
	ct := newCallbackTest(t)
	link, end := ct.replica(callbackKey).begin(ct.queue.Queue, ct.job, time.Second)
	defer end()
	issued := ct.now
	ct.now = issued.Add(time.Second + callbackSlack - 2*time.Second)
	status, _ := ct.call(http.MethodPost, link, `{"progress":1}`)
	require.Equal(t, http.StatusNoContent, status)
	ct.now = issued.Add(time.Second + callbackSlack)
	status, text := ct.call(http.MethodPost, link, `{"progress":2}`)
	require.Equal(t, http.StatusGone, status)
	require.Equal(t, `{"error":"the attempt of this callback is over"}`, text)
}

func TestCallbackReachesAReplicaThatDoesNotRunTheJob(t *testing.T) {
	ct := newCallbackTest(t)
	link, end := ct.replica(callbackKey).begin(ct.queue.Queue, ct.job, 0)
	defer end()
	ct.replica(callbackKey)
	status, _ := ct.call(http.MethodPost, link, `{"progress":7}`)
	require.Equal(t, http.StatusNoContent, status)

	// The job's next attempt is not this one's.
	ct.activate(ct.job.ID)
	status, _ = ct.call(http.MethodPost, link, `{"progress":8}`)
	require.Equal(t, http.StatusGone, status)
}

func TestCallbackEndsWithItsAttempt(t *testing.T) {
	ct := newCallbackTest(t)
	c := ct.replica(callbackKey)
	over := func(link string) {
		t.Helper()
		status, _ := ct.call(http.MethodPost, link, `{"progress":1}`)
		require.Equal(t, http.StatusGone, status)
	}
	link, end := c.begin(ct.queue.Queue, ct.job, 0)
	end()
	require.NoError(t, ct.client.Del(t.Context(), ct.queue.Lock(ct.job.ID)).Err())
	over(link)

	link, end = c.begin(ct.queue.Queue, ct.job, 0)
	_, _, err := ct.queue.Remove(t.Context(), []string{ct.job.ID}, false)
	require.NoError(t, err)
	over(link) // removed while it ran
	end()
	over(link)
	require.Empty(t, c.running)
}

func TestCallbackSaysWhenRedisIsAway(t *testing.T) {
	ct := newCallbackTest(t)
	c := ct.replica(callbackKey)
	c.Queue = func(keys.Queue) (*engine.Queue, error) { return nil, errors.New("dial redis://:s3cret@h: refused") }
	link, end := c.begin(ct.queue.Queue, ct.job, 0)
	end()
	status, text := ct.call(http.MethodPost, link, `{"progress":1}`)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NotContains(t, text, "s3cret")
}

// slowJob blocks in Log until it is let go.
type slowJob struct {
	attemptJob
	entered, release chan struct{}
}

func (s slowJob) Log(context.Context, string) (int64, error) {
	close(s.entered)
	<-s.release
	return 1, nil
}

func TestCallbackEndWaitsForACallUnderWay(t *testing.T) {
	ct := newCallbackTest(t)
	c := ct.replica(callbackKey)
	link, end := c.begin(ct.queue.Queue, ct.job, 0)
	slow := slowJob{entered: make(chan struct{}), release: make(chan struct{})}
	for _, a := range c.running {
		a.job = slow
	}
	answered, ended := make(chan int, 1), make(chan struct{})
	go func() {
		status, _ := ct.call(http.MethodPost, link, `{"log":"x"}`)
		answered <- status
	}()
	<-slow.entered
	go func() {
		end()
		close(ended)
	}()
	select {
	case <-ended:
		t.Fatal("the attempt ended under a running callback")
	case <-time.After(50 * time.Millisecond):
	}
	close(slow.release)
	<-ended
	require.Equal(t, http.StatusNoContent, <-answered)
}

func TestNewCallbacksNamesWhatIsMissing(t *testing.T) {
	open := func(keys.Queue) (*engine.Queue, error) { return nil, nil }
	for want, o := range map[string]CallbackOptions{
		"URL":   {Key: callbackKey, Queue: open},
		"key":   {URL: "http://h", Key: []byte("short"), Queue: open},
		"queue": {URL: "http://h", Key: callbackKey},
	} {
		_, err := NewCallbacks(o)
		require.ErrorContains(t, err, want)
	}
}

func TestHTTPSendsACallbackThatWorksWhileTheAttemptRuns(t *testing.T) {
	ct := newCallbackTest(t)
	c := ct.replica(callbackKey)
	links := make(chan string, 1)
	url, _ := recorded(t, func(w http.ResponseWriter, r *http.Request) {
		link := r.Header.Get("Bullpen-Callback")
		links <- link
		status, _ := ct.call(http.MethodPost, link, `{"progress":42}`)
		w.WriteHeader(status)
	})
	_, err := worker(t, HTTPOptions{URL: url, Queue: ct.queue.Queue, Callbacks: c})(t.Context(), ct.job)
	require.NoError(t, err)
	j, err := ct.queue.Job(t.Context(), ct.job.ID)
	require.NoError(t, err)
	require.Equal(t, "42", string(j.Progress))

	require.NoError(t, ct.client.Del(t.Context(), ct.queue.Lock(ct.job.ID)).Err())
	status, _ := ct.call(http.MethodPost, <-links, `{"progress":43}`)
	require.Equal(t, http.StatusGone, status)
}

package judge

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// manyFailed makes failed jobs as BullMQ leaves them, with the trace of each attempt.
const manyFailed = `local base = "bull:webhooks:"
local trace = '["Error: connect ECONNREFUSED 203.0.113.24:443\\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1595:16)\\n    at deliver (/srv/app/webhooks.js:88:11)"]'
local from, to, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
for i = from, to do
	local at = string.format("%.0f", now - 86400000 + i * 80)
	redis.call("HSET", base .. i, "name", "deliver", "data", '{"endpoint":"https://hooks.example/' .. i .. '","event":"order.paid","order":{"id":' .. i .. ',"total":4200}}',
		"opts", '{"attempts":3,"backoff":{"type":"exponential","delay":1000}}', "timestamp", at, "delay", 0, "priority", 0,
		"processedOn", at, "finishedOn", at, "atm", 3, "ats", 3, "failedReason", "connect ECONNREFUSED 203.0.113.24:443", "stacktrace", trace)
	redis.call("ZADD", base .. "failed", at, i)
end
redis.call("HSET", base .. "meta", "opts.maxLenEvents", "10000", "version", "bullmq:6.7.0")
redis.call("SET", base .. "id", to)`

// judgeFailed measures with many failed jobs: lists, and what acts on all of them do to other clients.
func judgeFailed(t *testing.T, s scale, r *report) {
	w := newWorld(t)
	w.seed(s.failed, 5000, manyFailed)
	n := thousands(float64(s.failed)) + " failed jobs"
	r.note("From the start until the queue with "+n+" is known", "%.1f s", w.start(1).Seconds())
	const list = "/queues/webhooks?state=failed"
	last := strconv.Itoa((s.failed + 24) / 25)
	r.within("First page of "+n, w.time(list, s.requests), 50*time.Millisecond)
	r.within("Last page of "+n, w.time(list+"&page="+last, s.requests), 50*time.Millisecond)
	r.within("One job of "+n, w.time("/queues/webhooks/jobs/"+strconv.Itoa(s.failed/2), s.requests), 0)
	r.within("First page filtered by name, "+n, w.time(list+"&q=name%3Adeliver", s.requests/10+1), 0)
	transferred, body := w.get(list)
	r.bound("Page of 25 jobs, size", "under 50 KB", len(body) < 50<<10, "%.1f KB, %.1f KB transferred", kb(len(body)), kb(transferred))

	before := w.others(func() { time.Sleep(s.window / 2) })
	done := 0
	var took time.Duration
	during := w.others(func() {
		done, took = w.operate("/queues/webhooks/retry", `{"state":"failed","all":"1","confirm":"webhooks"}`)
	})
	require.Equal(t, s.failed, done, "every job is retried")
	require.EqualValues(t, s.failed, w.client.LLen(t.Context(), "bull:webhooks:wait").Val())
	r.note("Other clients of an idle Redis", "median %s, p99 %s, of %s requests", milli(before.at(0.5)), milli(before.at(0.99)), thousands(float64(len(before))))
	r.bound("Other clients while all "+n+" are retried: p99", "under 10 ms", !r.timed || during.at(0.99) < 10*time.Millisecond,
		"median %s, p99 %s, p99.9 %s, of %s requests", milli(during.at(0.5)), milli(during.at(0.99)), milli(during.at(0.999)), thousands(float64(len(during))))
	r.note("Retrying all "+n, "%.1f s, %s jobs/s", took.Seconds(), thousands(float64(done)/took.Seconds()))

	during = w.others(func() {
		done, took = w.operate("/queues/webhooks/remove", `{"state":"waiting","all":"1","confirm":"webhooks"}`)
	})
	require.Equal(t, s.failed, done, "every job is removed")
	r.bound("Other clients while as many waiting jobs are removed: p99", "under 10 ms", !r.timed || during.at(0.99) < 10*time.Millisecond,
		"median %s, p99 %s, p99.9 %s; %.1f s, %s jobs/s", milli(during.at(0.5)), milli(during.at(0.99)), milli(during.at(0.999)), took.Seconds(), thousands(float64(done)/took.Seconds()))
}

// operate starts an operation and waits for its end.
func (w *world) operate(path, body string) (done int, took time.Duration) {
	w.t.Helper()
	began := time.Now()
	status, _, text := w.send(http.MethodPost, "/api/v1"+path, body)
	require.Equal(w.t, http.StatusAccepted, status, string(text))
	id := decoded[struct{ Operation string }](w.t, text).Operation
	var op struct {
		State string
		Done  int
	}
	w.until("the operation has ended", func() bool {
		_, text := w.get("/api/v1/operations/" + id)
		op = decoded[struct {
			State string
			Done  int
		}](w.t, text)
		return op.State != "queued" && op.State != "preparing" && op.State != "running"
	})
	took = time.Since(began)
	require.Equal(w.t, "done", op.State)
	return op.Done, took
}

// otherClients is how many other clients there are; each sends a command, waits for the answer and then for a millisecond.
const otherClients = 4

// others measures how long other clients wait for their answers while work is done.
func (w *world) others(work func()) latencies {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	all := make([]latencies, otherClients)
	var clients sync.WaitGroup
	for i := range all {
		c := redis.NewClient(w.srv.Options())
		clients.Go(func() {
			defer func() { _ = c.Close() }()
			key := "other:" + strconv.Itoa(i)
			for ctx.Err() == nil {
				began := time.Now()
				if err := c.Incr(ctx, key).Err(); err != nil {
					if ctx.Err() == nil {
						w.t.Error(err)
					}
					return
				}
				all[i] = append(all[i], time.Since(began))
				time.Sleep(time.Millisecond)
			}
		})
	}
	work()
	cancel()
	clients.Wait()
	l := slices.Concat(all...)
	slices.Sort(l)
	return l
}

func decoded[T any](t *testing.T, text []byte) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(text, &v), string(text))
	return v
}

func kb(n int) float64 { return float64(n) / 1024 }

// thousands writes a count with separators.
func thousands(f float64) string {
	s := strconv.Itoa(int(f))
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

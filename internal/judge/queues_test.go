package judge

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// manyQueues makes queues of which one in ten is busy; all have an event stream and jobs that completed and failed.
const manyQueues = `for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
	local base = string.format("bull:team-%02d.queue-%04d:", i % 40, i)
	local now = tonumber(ARGV[3])
	redis.call("HSET", base .. "meta", "opts.maxLenEvents", "10000", "version", "bullmq:6.7.0")
	redis.call("SET", base .. "id", 20)
	for j = 1, 20 do
		local job = base .. j
		redis.call("HSET", job, "name", "send", "data", '{"order":' .. j .. '}', "opts", '{"attempts":3}', "timestamp", now - 60000)
		if j <= 12 then
			redis.call("HSET", job, "processedOn", now - 5000, "finishedOn", now - 4000 + j, "atm", 1, "returnvalue", '"ok"')
			redis.call("ZADD", base .. "completed", now - 4000 + j, j)
		elseif j <= 16 or i % 10 > 0 then
			redis.call("HSET", job, "processedOn", now - 5000, "finishedOn", now - 4000 + j, "atm", 3, "failedReason", "connect ECONNREFUSED 203.0.113.24:443", "stacktrace", "[]")
			redis.call("ZADD", base .. "failed", now - 4000 + j, j)
		else
			redis.call("LPUSH", base .. "wait", j)
		end
		redis.call("XADD", base .. "events", "*", "event", "added", "jobId", j, "name", "send")
	end
end`

// judgeQueues measures with many queues: pages, connections, what the collector costs, and tabs.
func judgeQueues(t *testing.T, s scale, r *report) {
	w := newWorld(t)
	w.seed(s.queues, 250, manyQueues)
	n := thousands(float64(s.queues)) + " queues"
	r.note("From the start until all "+n+" are known", "%.1f s", w.start(s.queues).Seconds())

	r.within("Overview, "+n, w.time("/", s.requests), 300*time.Millisecond)
	transferred, body := w.get("/")
	r.note("Overview, "+n+", size", "%d KB, %d KB transferred", len(body)>>10, transferred>>10)
	r.within("Overview filtered by name, grouped and sorted, "+n, w.time("/?q=queue-1&group=1&sort=failed", s.requests), 300*time.Millisecond)
	r.within("Page of one queue among "+n, w.time("/queues/team-01.queue-0001?state=failed", s.requests), 0)
	r.within("Job found by its id in "+n, w.time("/search?q=17", s.requests), 0)
	r.within("/metrics, "+n, w.time("/metrics", s.requests/4+1), 0)
	judgeScan(w, s, r)
	judgeCollector(w, s, r)
	judgeTabs(w, s, r)
	connections := w.connections()
	r.bound("Connections to Redis after all of this", "at most 8", connections <= 8 && connections > 0, "%d", connections)
	r.note("Memory of the program, "+n, "%d MB, at most %d MB", w.status("VmRSS")>>10, w.status("VmHWM")>>10)
}

// judgeScan measures how far a search that must look at every job comes in one request, and that it ends in time.
func judgeScan(w *world, s scale, r *report) {
	w.t.Helper()
	var looked int64
	began, requests := time.Now(), 0
	var slowest time.Duration
	for next := "/api/v1/search?q=" + url.QueryEscape(`data.order:21`); next != ""; requests++ {
		one := time.Now()
		_, body := w.get(next)
		slowest = max(slowest, time.Since(one))
		a := decoded[struct {
			Looked int64
			Next   string
		}](w.t, body)
		looked += a.Looked
		if next = ""; a.Next != "" {
			next = "/api/v1/search?q=" + url.QueryEscape(`data.order:21`) + "&from=" + url.QueryEscape(a.Next)
		}
	}
	took := time.Since(began)
	require.EqualValues(w.t, s.queues*20, looked, "it looks at every job")
	r.note("Search in the data of all "+thousands(float64(looked))+" jobs of "+thousands(float64(s.queues))+" queues", "%s jobs/s, %d requests, the slowest %s", thousands(float64(looked)/took.Seconds()), requests, milli(slowest))
}

// judgeCollector measures what watching costs while nobody looks.
func judgeCollector(w *world, s scale, r *report) {
	w.t.Helper()
	busy, cpu, began := w.info("cpu", "used_cpu_user_main_thread")+w.info("cpu", "used_cpu_sys_main_thread"), w.cpu(), time.Now()
	time.Sleep(s.window)
	took := time.Since(began).Seconds()
	busy = w.info("cpu", "used_cpu_user_main_thread") + w.info("cpu", "used_cpu_sys_main_thread") - busy
	r.note("Redis's time spent on the collector, "+thousands(float64(s.queues))+" queues", "%.1f %% of one core", 100*busy/took)
	r.note("The program's own time for it, "+thousands(float64(s.queues))+" queues", "%.0f %% of one core", 100*(w.cpu()-cpu).Seconds()/took)
}

// judgeTabs compares the commands that Redis executes for one open tab and for many.
func judgeTabs(w *world, s scale, r *report) {
	w.t.Helper()
	same := make([]string, s.tabs)
	pages := []string{"/", "/queues/team-01.queue-0001?state=failed", "/queues/team-01.queue-0001/jobs/17", "/workers", "/redis"}
	mixed := make([]string, s.tabs)
	apart := make([]string, s.tabs)
	for i := range s.tabs {
		same[i], mixed[i] = "/", pages[i%len(pages)]
		apart[i] = fmt.Sprintf("/queues/team-%02d.queue-%04d?state=failed", (i+1)%40, i+1)
	}
	for i, c := range []struct {
		what      string
		few, many []string
	}{
		{"the overview", same[:1], same},
		{"five kinds of pages", mixed[:len(pages)], mixed},
		{"failed jobs, each of another queue", apart[:1], apart},
	} {
		if i == s.rounds {
			break // at the small size one kind is enough
		}
		ratio, few, many, cost := w.compare(c.few, c.many, s)
		r.bound(fmt.Sprintf("Commands a second with %d tabs against %d, %s", len(c.many), len(c.few), c.what), "within 5 %",
			!r.timed || ratio < 1.05, "%+.1f %% (%s against %s); the program's own time %.0f %% of one core", 100*(ratio-1), thousands(many), thousands(few), 100*cost)
	}
}

// compare measures commands per second with few and with many tabs, in turn and several times; cost is the program's
// share of a core with many.
func (w *world) compare(few, many []string, s scale) (ratio, a, b, cost float64) {
	w.t.Helper()
	n := float64(s.rounds)
	for range s.rounds {
		x, _ := w.commands(few, s.window)
		y, c := w.commands(many, s.window)
		a, b, cost = a+x/n, b+y/n, cost+c/n
	}
	return b / a, a, b, cost
}

// commands is how many commands a second Redis executes while tabs are open.
func (w *world) commands(addresses []string, window time.Duration) (perSecond, cost float64) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	var readers sync.WaitGroup
	var beats atomic.Int64
	for _, a := range addresses {
		readers.Go(func() { w.read(ctx, a, &beats) })
	}
	w.until("every tab has been told something", func() bool { return beats.Load() >= int64(2*len(addresses)) })
	count, cpu, began := w.info("stats", "total_commands_processed"), w.cpu(), time.Now()
	time.Sleep(window)
	took := time.Since(began).Seconds()
	perSecond = (w.info("stats", "total_commands_processed") - count) / took
	cost = (w.cpu() - cpu).Seconds() / took
	cancel()
	readers.Wait()
	return perSecond, cost
}

// read is an open tab: it reads the event stream of a page.
func (w *world) read(ctx context.Context, address string, beats *atomic.Int64) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/live?topics="+url.QueryEscape(address), nil)
	if err != nil {
		w.t.Error(err)
		return
	}
	res, err := w.http.Do(r)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		w.t.Errorf("%s: %s", address, res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event: beat") {
			beats.Add(1)
		}
	}
}

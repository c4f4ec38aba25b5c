package judge

import (
	"fmt"
	"testing"
	"time"
)

// manyLarge makes jobs whose data is as large as ARGV[4] says; each has its own.
const manyLarge = `local base, now = "bull:imports:", tonumber(ARGV[3])
local data = '{"rows":"' .. string.rep("0123456789abcdef", math.floor(tonumber(ARGV[4]) / 16)) .. '"}'
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
	redis.call("HSET", base .. i, "name", "import", "data", data, "opts", "{}", "timestamp", now, "processedOn", now, "finishedOn", now + i,
		"atm", 1, "ats", 1, "failedReason", "row 17 has no customer", "stacktrace", "[]")
	redis.call("ZADD", base .. "failed", now + i, i)
end
redis.call("HSET", base .. "meta", "opts.maxLenEvents", "10000", "version", "bullmq:6.7.0")
redis.call("SET", base .. "id", ARGV[2])`

// judgePayload measures a page of jobs that each carry a large payload.
func judgePayload(t *testing.T, s scale, r *report) {
	w := newWorld(t)
	w.seed(25, 1, manyLarge, s.payload)
	w.start(1)
	size := fmt.Sprintf("%d MB", s.payload>>20)
	const list = "/queues/imports?state=failed"
	transferred, body := w.get(list)
	r.bound("Page of 25 jobs of "+size+" each, size", "under 50 KB", len(body) < 50<<10, "%.1f KB, %.1f KB transferred", kb(len(body)), kb(transferred))
	r.within("Page of 25 jobs of "+size+" each", w.time(list, s.requests), 50*time.Millisecond)
	transferred, body = w.get("/queues/imports/jobs/7")
	r.bound("Page of one job of "+size+", size", "under 100 KB", len(body) < 100<<10, "%.1f KB, %.1f KB transferred", kb(len(body)), kb(transferred))
	r.within("Page of one job of "+size, w.time("/queues/imports/jobs/7", s.requests/4+1), 0)
	r.within("Download of its data", w.time("/queues/imports/jobs/7/data", s.requests/20+1), 0)
	r.note("Memory of the program after these", "%d MB, at most %d MB", w.status("VmRSS")>>10, w.status("VmHWM")>>10)
}

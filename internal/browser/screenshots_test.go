package browser

import (
	"bytes"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/chromedp/chromedp"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// screenshotsVariable names the folder that gets the pictures. Without it they are taken all the same, of a demo that
// has just started, and thrown away.
const screenshotsVariable = "BULLPEN_SCREENSHOTS"

// TestScreenshots takes the pictures of the documentation: the demo after some minutes, on a store that knows an hour.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv(screenshotsVariable)
	keep := dir != ""
	if !keep {
		t.Parallel()
		dir = t.TempDir()
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	b := demoWithPast(t)
	shoot := func(p *tab, name string) {
		t.Helper()
		p.shoot(filepath.Join(dir, name+".png"))
	}
	desk := look{width: 1440, height: 900}
	night := look{width: 1440, height: 900, dark: true}

	p := b.tab(desk)
	p.open("/")
	p.sees("invoices")
	if keep {
		p.patience = 4 * time.Minute
		p.sees("No worker for at least 2 min")
	}
	shoot(p, "overview")
	p.openQueue("webhooks", "failed")
	p.until("a failed job", `document.querySelector('main tr[data-row]')`)
	shoot(p, "queue")
	p.clickAt("a job that used all its attempts", `[...document.querySelectorAll('main tr[data-row]')].find((r) => /4\/4/.test(r.innerText))?.querySelector('[data-open]')`)
	p.at("/jobs/")
	p.sees("What happened")
	job := p.address()
	shoot(p, "job")
	for suffix, l := range map[string]look{"-dark": night, "-phone": phone} {
		p := b.tab(l)
		for name, path := range map[string]string{"overview": "/", "queue": "/queues/webhooks?state=failed", "job": job} {
			p.open(path)
			shoot(p, name+suffix)
		}
	}

	p.openQueue("audit-log", "failed")
	p.click("Retry all…")
	p.sees("Type audit-log to go on")
	shoot(p, "confirm")
	p.fill("confirm", "audit-log")
	p.clickIn("dialog.over", "Retry 86,000 jobs")
	p.at("/operations/")
	p.awaitProgress(40_000)
	shoot(p, "operation")

	for _, name := range []string{"overview", "queue", "job"} {
		for _, suffix := range []string{"", "-dark", "-phone"} {
			info, err := os.Stat(filepath.Join(dir, name+suffix+".png"))
			require.NoError(t, err)
			require.Less(t, info.Size(), int64(200<<10), name+suffix)
		}
	}
}

// shoot writes what the window shows to a file, once the page is live.
func (p *tab) shoot(path string) {
	p.t.Helper()
	p.until("the page is live", `document.readyState === 'complete' && (!document.body.dataset.topic || `+status("Live")+`)`)
	p.do(chromedp.MouseEvent("mouseMoved", 0, 0))
	raw, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	picture, err := png.Decode(bytes.NewReader(raw))
	require.NoError(p.t, err)
	var small bytes.Buffer
	require.NoError(p.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, picture))
	require.NoError(p.t, os.WriteFile(path, small.Bytes(), 0o644))
	p.t.Logf("%s: %d KB", path, small.Len()/1024)
}

// demoWithPast is the demo on a private store that has seen an hour of the same work, and queues that need somebody.
func demoWithPast(t *testing.T) *bullpen {
	t.Helper()
	dir, err := os.MkdirTemp("", "demo") // not t.TempDir: the store's socket must have a short path
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	args := []string{"-data", dir, "-listen", "127.0.0.1:0", "-log-level", "warn"}

	before := &bullpen{t: t, prefix: keys.DefaultPrefix}
	before.run(t.TempDir(), args...)
	before.client = redis.NewClient(&redis.Options{Network: "unix", Addr: filepath.Join(dir, "redis.sock")})
	past{before, rand.New(rand.NewPCG(1, 2)), time.Now()}.write()
	require.NoError(t, before.client.Close())
	before.stop()

	b := &bullpen{t: t, prefix: keys.DefaultPrefix}
	b.run(t.TempDir(), append(args, "-demo")...)
	t.Cleanup(b.stop)
	return b
}

// past writes what an hour of work leaves in Redis.
type past struct {
	*bullpen
	rand *rand.Rand
	now  time.Time
}

func (p past) write() {
	p.minutes("emails", "completed", 165, 0.1)
	p.minutes("emails", "failed", 5, 0.9)
	p.minutes("thumbnails", "completed", 125, 0.5)
	p.minutes("partner-sync", "completed", 24, 0.2)
	p.minutes("partner-sync", "failed", 0.3, 1)
	p.minutes("webhooks", "completed", 122, 0.15)
	p.minutes("webhooks", "failed", 52, 0.3)
	p.minutes("reminders", "completed", 28, 0.2)
	p.minutes("audit-log", "failed", 1400, 0.1)
	p.jobs("invoices", "render", 318, 14*time.Minute, "wait")
	p.jobs("search-index", "reindex", 420, 2*time.Hour, "wait")
	p.set("search-index:meta", "paused", 1)
	p.jobs("audit-log", "append", 86_000, time.Hour, "failed")
}

// minutes writes BullMQ's metrics of the last hour: about mean finished jobs a minute.
func (p past) minutes(queue, state string, mean, spread float64) {
	p.t.Helper()
	key := p.prefix + ":" + queue + ":metrics:" + state
	total := 0
	for range 60 {
		n := int(max(0, mean*(1+spread*(2*p.rand.Float64()-1))+p.rand.Float64()-0.5))
		total += n
		require.NoError(p.t, p.client.RPush(p.t.Context(), key+":data", n).Err())
	}
	p.set(strings.TrimPrefix(key, p.prefix+":"), "prevTS", p.now.Truncate(time.Minute).UnixMilli(), "count", total, "prevCount", total)
}

func (p past) set(key string, fields ...any) {
	p.t.Helper()
	require.NoError(p.t, p.client.HSet(p.t.Context(), p.prefix+":"+key, fields...).Err())
}

// jobs adds n jobs that came evenly over a time until now.
func (p past) jobs(queue, name string, n int, over time.Duration, list string) {
	p.t.Helper()
	const script = `local from, to, now, over, n = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
	for i = from, to do
		local at = string.format("%.0f", now - over * (n - i) / n)
		local key = KEYS[1] .. i
		redis.call("HSET", key, "name", ARGV[6], "data", '{"n":' .. i .. '}', "opts", '{"attempts":3}', "timestamp", at)
		if ARGV[7] == "failed" then
			redis.call("HSET", key, "atm", 3, "ats", 3, "processedOn", at, "finishedOn", at, "failedReason", ARGV[8], "stacktrace", "[]")
			redis.call("ZADD", KEYS[2], at, i)
		else
			redis.call("LPUSH", KEYS[2], i)
		end
	end
	return redis.call("SET", KEYS[1] .. "id", to)`
	key := p.prefix + ":" + queue + ":"
	const chunk = 2000
	for from := 1; from <= n; from += chunk {
		require.NoError(p.t, p.client.Eval(p.t.Context(), script, []string{key, key + list}, from, min(from+chunk-1, n), p.now.UnixMilli(),
			over.Milliseconds(), n, name, list, "insert into audit_2026_11: no space left on device").Err())
	}
	p.set(queue+":meta", "opts.maxLenEvents", 10_000)
}

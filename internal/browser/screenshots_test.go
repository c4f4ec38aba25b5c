package browser

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
	b := demoWithPast(t, keep)
	shoot := func(p *tab, name string) {
		t.Helper()
		p.shoot(filepath.Join(dir, name+".png"))
	}
	wide := look{width: 1440, height: 900}
	night := look{width: 1440, height: 900, dark: true}

	p := b.tab(wide)
	p.open("/")
	p.sees("invoices")
	if keep {
		p.patience = 7 * time.Minute
		p.sees("No worker for at least 5 min")
	}
	shoot(p, "overview-light")
	p.openQueue("webhooks", "failed")
	p.until("a failed job", `document.querySelector('main tr[data-row]')`)
	p.tick(must[[]string](p, `[...document.querySelectorAll('main tr[data-row]')].slice(0, 4).slice(-3).map((r) => r.dataset.row)`)...)
	shoot(p, "queue-light")
	p.clickIn(".bulk", "Untick all")
	p.do(chromedp.MouseEvent("mouseMoved", 1, 1)) // under the mouse the list would stand still
	attempts := "/"
	if keep {
		attempts = "4/4"
	}
	p.clickAt("a job", `[...document.querySelectorAll('main tr[data-row]')].find((r) => r.innerText.includes('`+attempts+`'))?.querySelector('[data-open]')`)
	p.at("/jobs/")
	p.sees("What happened")
	job := p.address()
	shoot(p, "job-light")
	b.seenActs()
	pages := map[string]string{
		"overview": "/", "queue": "/queues/webhooks?state=failed", "job": job, "failures": "/failures", "search": "/search?q=error:timeout",
		"schedulers": "/schedulers", "scheduler": "/queues/reminders/schedulers/morning-digest", "workers": "/workers", "redis": "/redis?sample=queue",
		"alerts": "/alerts", "runbook": "/runbooks/no-workers", "operations": "/operations", "activity": "/activity",
		"policy": "/queues/webhooks/policy", "add": "/queues/emails/jobs", "grouped": "/?group=1&sort=name",
		"empty": "/queues/webhooks?state=failed&q=error:nothing-says-so", "missing": "/queues/webhooks/jobs/no-such-job",
	}
	p.open("/queues/emails?state=waiting-children")
	if flow := must[string](p, `document.querySelector('main tr[data-row] [data-open]')?.getAttribute('href') || ''`); flow != "" {
		pages["flow"] = flow
	}
	looks := map[string]look{"-phone": phone, "-light": wide, "-dark": night}
	if !keep { // TestEveryPage looks at all pages; here it is the pictures that are tried
		pages, looks = map[string]string{"policy": pages["policy"]}, map[string]look{"-phone": phone}
	}
	for suffix, l := range looks {
		p := b.tab(l)
		for _, name := range slices.Sorted(maps.Keys(pages)) {
			if suffix == "-light" && (name == "overview" || name == "queue" || name == "job") {
				continue // they are there
			}
			p.open(pages[name])
			p.expect("404")
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

	files, err := filepath.Glob(filepath.Join(dir, "*.png"))
	require.NoError(t, err)
	total := int64(0)
	for _, f := range files {
		info, err := os.Stat(f)
		require.NoError(t, err)
		total += info.Size()
	}
	require.Less(t, total, int64(3<<20), "the pictures make the repository large")
}

// seenActs does some of what people do, so that there is something to see on the pages about it.
func (b *bullpen) seenActs() {
	b.post("/queues/reminders/pause", map[string]any{})
	b.post("/queues/reminders/resume", map[string]any{})
	b.post("/queues/emails/clean", map[string]any{"state": "completed", "age": "0", "limit": "5", "confirm": "yes"})
	b.post("/queues/partner-sync/limit", map[string]any{"duration": "5s", "confirm": "yes"})
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
	require.NoError(p.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, fewColours(picture)))
	require.NoError(p.t, os.WriteFile(path, small.Bytes(), 0o644))
	p.t.Logf("%s: %d KB", path, small.Len()/1024)
}

// fewColours paints a picture with at most 256 colours, which makes its file a third. Of colours that look the same the
// most frequent one stands for all; what is lost are shades at the edges of letters.
func fewColours(picture image.Image) image.Image {
	box := picture.Bounds()
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA) }
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	best := map[color.RGBA]color.RGBA{} // by what colours that look the same have in common
	for c, n := range count {
		alike := color.RGBA{c.R >> 3, c.G >> 3, c.B >> 3, 0}
		if b, ok := best[alike]; !ok || n > count[b] {
			best[alike] = c
		}
	}
	chosen := slices.SortedFunc(maps.Values(best), func(a, b color.RGBA) int { return count[b] - count[a] })
	var palette color.Palette
	for _, c := range chosen[:min(len(chosen), 256)] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	for c := range count {
		nearest[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			out.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return out
}

// demoWithPast is the demo on a private store that has seen an hour of the same work, and queues that need somebody. It
// may wait for a minute to begin, so that no minute is seen in part.
func demoWithPast(t *testing.T, wholeMinutes bool) *bullpen {
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
	if wholeMinutes {
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
	}

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
	for _, m := range []metric{
		{"emails", "completed", 165, 0.1, 60, 0},
		{"emails", "failed", 5, 0.9, 60, 0},
		{"thumbnails", "completed", 125, 0.5, 60, 0},
		{"partner-sync", "completed", 24, 0.2, 60, 0},
		{"partner-sync", "failed", 0.3, 1, 60, 0},
		{"webhooks", "completed", 122, 0.15, 60, 0},
		{"webhooks", "failed", 52, 0.3, 60, 0},
		{"reminders", "completed", 28, 0.2, 60, 0},
		{"audit-log", "completed", 310, 0.1, 60, 44},
		{"audit-log", "failed", 2400, 0.05, 44, 8},
	} {
		p.measured(m)
	}
	p.jobs("invoices", "render", 318, 14*time.Minute, "wait")
	p.jobs("search-index", "reindex", 420, 2*time.Hour, "wait")
	p.set("search-index:meta", "paused", 1)
	p.jobs("audit-log", "append", 86_000, 44*time.Minute, "failed")
}

// metric is what BullMQ's metrics say of a queue: about mean jobs a minute, more or less by spread, between two numbers
// of minutes ago.
type metric struct {
	queue, state string
	mean, spread float64
	since, until int
}

// measured writes BullMQ's metrics of the last hour.
func (p past) measured(m metric) {
	p.t.Helper()
	key := p.prefix + ":" + m.queue + ":metrics:" + m.state
	total := 0
	for ago := range 60 {
		n := 0
		if ago >= m.until && ago < m.since {
			n = int(max(0, m.mean*(1+m.spread*(2*p.rand.Float64()-1))+p.rand.Float64()-0.5))
		}
		total += n
		require.NoError(p.t, p.client.RPush(p.t.Context(), key+":data", n).Err())
	}
	present := 0 // what this minute has seen when it ends
	if m.until == 0 {
		present = int(m.mean)
	}
	p.set(m.queue+":metrics:"+m.state, "prevTS", p.now.Truncate(time.Minute).UnixMilli(), "count", total+present, "prevCount", total)
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

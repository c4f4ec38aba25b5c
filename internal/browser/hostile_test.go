package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// hostile is text that somebody could put into a job to break the page, the terminal or the reader.
var hostile = []string{
	`<script>document.body.dataset.broken=1</script>`,
	`"><img src=x onerror="document.body.dataset.broken=1">`,
	`'-document.write(1)-'`,
	`</td></tr></table></main><h1>mine</h1>`,
	`</title><style>*{display:none}</style>`,
	"\x1b[31mred\x07\x00\x08 control",
	"right \u202eotfel\u2066 to left",
	"not \xff\xfe\xc3 UTF-8",
	`javascript:alert(1)`,
	`../../../etc/passwd`,
	`a b/c?d=e#f%2Fg%`,
	`{{constructor.constructor('alert(1)')()}}`,
	strings.Repeat("W", 500),
}

// Text of jobs is text wherever it is shown, and every job can be opened and acted on, whatever its id.
func TestHostileJobsAreInert(t *testing.T) {
	t.Parallel()
	b := serve(t, "")
	q := b.queue("mail")
	for i, text := range hostile {
		q.plant(text, map[string]any{
			"name": text, "data": fmt.Sprintf(`{%q:%q}`, text, text), "failedReason": text + "\nsecond line", "returnvalue": text,
			"stacktrace": fmt.Sprintf(`[%q]`, text), "opts": fmt.Sprintf(`{"attempts":2,%q:%q}`, text, text), "pb": text, "progress": text,
		}, float64(i))
		require.NoError(t, b.client.RPush(t.Context(), q.JobKey(text)+":logs", text, text+"\nand more").Err())
	}
	require.NoError(t, b.client.HSet(t.Context(), b.prefix+":<img src=x> \u202e\x07:meta", "opts.maxLenEvents", 1).Err())
	p := b.tab(look{})
	p.openQueue("mail", "failed")
	p.until("a row for each", fmt.Sprintf(`document.querySelectorAll('main tr[data-row]').length === %d`, len(hostile)))
	p.inert()
	p.sees(hostile[0])
	p.fits()
	links := must[[]string](p, `[...document.querySelectorAll('main tr[data-row] [data-open]')].map((a) => a.getAttribute('href'))`)
	require.Len(t, links, len(hostile))
	for _, link := range links {
		p.open(link)
		p.sees("What happened")
		p.inert()
	}
	p.open("/")
	p.sees("<img src=x>")
	p.inert()

	// The row's own button works for the oddest id, and the bulk act for the rest.
	for _, l := range []look{{}, plain} {
		p := b.tab(l)
		p.open("/queues/mail?state=failed")
		p.point("a row", row(hostile[10]))
		p.clickAt("Retry", row(hostile[10])+`.querySelector('button[formaction$="/retry"]')`)
		p.sees("Retried job " + hostile[10])
		require.NoError(t, q.RemoveJob(t.Context(), hostile[10], false))
		q.plant(hostile[10], map[string]any{"name": "again", "data": "{}", "opts": "{}"}, 10)
	}
	p.openQueue("mail", "failed")
	p.click("Retry all…")
	p.clickIn("dialog", fmt.Sprintf("Retry %d jobs", len(hostile)))
	p.sees(fmt.Sprintf("Retried %d failed jobs of mail", len(hostile)))
	q.holds(keys.Waiting, int64(len(hostile)))
}

// A huge payload, a huge log row and a huge error cost the pages nothing; the payload can be fetched whole.
func TestHugeJobStaysOutOfThePages(t *testing.T) {
	t.Parallel()
	b := serve(t, "")
	q := b.queue("mail")
	payload := `{"text":"` + strings.Repeat("0123456789abcdef", 30<<20/16) + `"}`
	q.plant("huge", map[string]any{"name": "huge", "data": payload, "failedReason": strings.Repeat("x", 5<<20), "opts": "{}", "stacktrace": "[]"}, 60_000)
	require.NoError(t, b.client.RPush(t.Context(), q.JobKey("huge")+":logs", strings.Repeat("y", 10<<20), "short").Err())
	ids := q.addMany(60, engine.JobOptions{})
	for i, id := range ids {
		require.NoError(t, q.RemoveJob(t.Context(), id, false))
		q.plant(id, map[string]any{"name": "send", "data": "{}", "failedReason": "connect ECONNREFUSED 203.0.113.24:443", "opts": "{}"}, float64(-i))
	}
	p := b.tab(look{})
	p.openQueue("mail", "failed")
	p.sees("31 MB")
	require.Less(t, p.weight(), 50<<10, "a list with a job of 45 MB")

	p.open("/queues/mail/jobs/huge")
	p.sees("huge")
	require.Less(t, p.weight(), 300<<10, "the page of a job of 45 MB")
	file := must[string](p, `document.querySelector('main a[download][href*="data"]').href`)
	res, err := http.Get(file)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	whole, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.True(t, string(whole) == payload, "the download is the payload, byte for byte")
}

// plant puts a failed job into Redis as it is, past every check.
func (q *queue) plant(id string, fields map[string]any, score float64) {
	q.t.Helper()
	ctx, c, now := q.t.Context(), q.redis.Client(q.t), time.Now().UnixMilli()
	require.NoError(q.t, c.HSet(ctx, q.JobKey(id), fields).Err())
	require.NoError(q.t, c.HSet(ctx, q.JobKey(id), "timestamp", now, "finishedOn", now, "processedOn", now, "atm", 1, "ats", 1).Err())
	require.NoError(q.t, c.ZAdd(ctx, q.JobKey("failed"), redis.Z{Score: float64(now) + score, Member: id}).Err())
	require.NoError(q.t, c.HSet(ctx, q.JobKey("meta"), "opts.maxLenEvents", 10_000).Err())
}

// weight is the size of the page in bytes, before compression.
func (p *tab) weight() int {
	p.t.Helper()
	return must[int](p, `performance.getEntriesByType('navigation')[0].decodedBodySize`)
}

// inert expects that nothing of a job's text has become part of the page, and that none of it plays with the reader.
func (p *tab) inert() {
	p.t.Helper()
	require.Zero(p.t, must[int](p, `document.querySelectorAll('img, iframe, object, main script, main style, main h1 ~ h1').length`))
	require.False(p.t, must[bool](p, `'broken' in document.body.dataset`), "a script of a job ran")
	require.Empty(p.t, must[[]string](p, `[...new Set(document.documentElement.innerText.match(/[\u0000-\u0008\u000e-\u001f\u007f\u0080-\u009f\u202a-\u202e\u2066-\u2069]/g) || [])].map((c) => c.codePointAt(0).toString(16))`),
		"characters that control terminals or turn text around")
	require.Empty(p.t, must[[]string](p, `[...document.querySelectorAll('a[href]')].map((a) => a.protocol).filter((s) => !/^https?:$/.test(s))`))
	u, err := url.Parse(p.base)
	require.NoError(p.t, err)
	require.Empty(p.t, must[[]string](p, `performance.getEntriesByType('resource').map((r) => r.name).filter((n) => !n.startsWith('http://`+u.Host+`/'))`))
}

package browser

import (
	"testing"

	"bullpen/internal/engine"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The zone of times is a choice of the reader, with and without a script; a browser that has one offers its own.
func TestZone(t *testing.T) {
	t.Parallel()
	b := serve(t, "")
	b.queue("mail").addMany(1, engine.JobOptions{})
	foot := func(zone string) string { return shows(`document.querySelector('#zone')`, "Times in "+zone) }
	for name, l := range map[string]look{"script": {}, "no script": plain} {
		t.Run(name, func(t *testing.T) {
			p := chrome.tab(t, b.URL, l)
			_, err := chromedp.Call(p.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Pacific/Auckland"})
			require.NoError(t, err)
			p.open("workers?x=1")
			p.until("times are in UTC at first", foot("UTC"))
			p.clickIn("footer", "Times in UTC, change")
			p.sees("Show times in which zone?")
			want := "Pacific/Auckland" // the browser's, which comes first
			if l.plain {
				want = "Asia/Tokyo"
				must[string](p, `document.querySelector('#in-zone').value = 'Asia/Tokyo'`)
			}
			require.Equal(t, want, must[string](p, `document.querySelector('#in-zone').value`))
			p.click("Show times so")
			p.at("/workers?x=1")
			p.until("times are in that zone", foot(want))
			exact := must[string](p, `document.querySelector('#read time').title`)
			require.Contains(t, exact, map[string]string{"Asia/Tokyo": "JST", "Pacific/Auckland": "NZDT"}[want])
		})
	}
}

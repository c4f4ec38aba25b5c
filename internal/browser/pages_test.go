package browser

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"bullpen/internal/testnode"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// axeSource is the accessibility checker as a script.
var axeSource = sync.OnceValues(func() (string, error) {
	const dir = "testdata/node"
	if err := testnode.Install(dir); err != nil {
		return "", err
	}
	source, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	return string(source), err
})

// Every page that can be reached from the overview by links, and those that only a mistake leads to: the console is
// silent, nothing is wider than a telephone, and the checker finds nothing to complain about, light and dark.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	b := world(t)
	p := b.tab(look{})
	p.openQueue("orders", "failed")
	for _, path := range []string{ // what no link, or not the first of its kind, leads to
		"/queues/no-such", "/queues/orders/jobs/no-such", "/queues/orders?state=no-such", "/operations/99", "/no-such-page",
		"/queues/orders/jobs/1", "/queues/orders/jobs/an-id.that_is-long-0123456789abcdef0123456789abcdef", "/queues/orders/jobs/parent-1",
		"/queues/orders/jobs/1/remove", "/queues/orders?state=failed&page=9", "/?q=nothing-has-this-name",
	} {
		t.Run(path, func(t *testing.T) { p.inspect(t, path) })
	}
	unseen, seen := []string{"/"}, map[string]bool{}
	for len(unseen) > 0 {
		path := unseen[0]
		unseen = unseen[1:]
		if shape := shapeOf(path); !seen[shape] {
			seen[shape] = true
			t.Run(path, func(t *testing.T) { unseen = append(unseen, p.inspect(t, path)...) })
		}
	}
	p.t = t
	for _, must := range []string{
		"/", "/queues/*?state=failed", "/queues/*?state=waiting-children", "/queues/*/jobs/*", "/queues/*/jobs", "/queues/*/clean",
		"/queues/*/obliterate", "/operations", "/operations/*", "/alerts", "/runbooks/*", "/activity", "/workers", "/redis",
	} {
		require.Contains(t, seen, must, "the way there is gone")
	}
}

// inspect looks at a page in every way and returns the pages it links to.
func (p *tab) inspect(t *testing.T, path string) []string {
	p.t = t
	p.do(chromedp.EmulateViewport(desk.width, desk.height))
	p.scheme("light")
	p.open(path)
	p.accessible("{}")
	p.scheme("dark")
	p.accessible(`{ runOnly: ['color-contrast', 'link-in-text-block'] }`) // the rest is the same in the dark
	p.fits()
	links := p.links()
	p.expect("404") // where a mistake led
	require.Empty(t, p.complaints(), "the console must be empty")
	return links
}

var (
	segments = regexp.MustCompile(`^/(queues|operations|runbooks|failures)/[^/]+`)
	jobs     = regexp.MustCompile(`/jobs/[^/]+`)
)

// shapeOf is what pages of one kind have in common: the path without names, and the query without values, but for the
// state, which decides what a list shows; the order of a list makes no other page.
func shapeOf(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return path
	}
	shape := jobs.ReplaceAllString(segments.ReplaceAllString(u.Path, "/$1/*"), "/jobs/*")
	query := u.Query()
	query.Del("order")
	for key := range query {
		if key != "state" {
			query.Set(key, "")
		}
	}
	if len(query) > 0 {
		shape += "?" + query.Encode()
	}
	return shape
}

// links are the pages this one links to.
func (p *tab) links() []string {
	p.t.Helper()
	return must[[]string](p, `[...document.querySelectorAll('a[href]:not([download])')].map((a) => new URL(a.href))
		.filter((u) => u.origin === location.origin && !/\/(refusals|data|returnvalue|stacktrace|api\/.*|metrics)$/.test(u.pathname))
		.map((u) => u.pathname + u.search)`)
}

// accessible lets the checker look at the page; options are its own.
func (p *tab) accessible(options string) {
	p.t.Helper()
	source, err := axeSource()
	require.NoError(p.t, err)
	must[bool](p, `globalThis.axe ? true : (() => { `+source+`; return true; })()`)
	type violation struct {
		ID    string `json:"id"`
		Help  string `json:"help"`
		Nodes []struct {
			HTML    string `json:"html"`
			Summary string `json:"failureSummary"`
		} `json:"nodes"`
	}
	text := must[string](p, `axe.run(document, { resultTypes: ['violations'], ...`+options+` }).then((r) => JSON.stringify(r.violations))`)
	var found []violation
	require.NoError(p.t, json.Unmarshal([]byte(text), &found))
	for _, v := range found {
		for _, n := range v.Nodes {
			p.t.Errorf("%s: %s\n%s\n%s", v.ID, v.Help, n.HTML, n.Summary)
		}
	}
}

// fits narrows the window to a telephone's and expects that nothing sticks out of it.
func (p *tab) fits() {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(phone.width, phone.height))
	wide := must[[]string](p, fmt.Sprintf(`(() => {
		if (document.documentElement.scrollWidth <= %[1]d) return [];
		return ['document is ' + document.documentElement.scrollWidth + ' wide'].concat([...document.querySelectorAll('body *')]
			.filter((el) => el.getBoundingClientRect().right > %[1]d && el.checkVisibility()).slice(0, 8)
			.map((el) => el.outerHTML.slice(0, 120)));
	})()`, phone.width))
	require.Empty(p.t, wide, "wider than a telephone: %s", strings.Join(wide, "\n"))
}

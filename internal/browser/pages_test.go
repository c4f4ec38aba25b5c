package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// unlinked are pages that no link, or not the first of its kind, leads to.
var unlinked = []string{
	// mistakes
	"/queues/no-such", "/queues/orders/jobs/no-such", "/queues/orders?state=no-such", "/operations/99", "/no-such-page",
	"/queues/orders/schedulers/no-such", "/queues/orders?state=failed&page=9", "/?q=nothing-has-this-name", "/search?q=nonsense:1",
	"/search?q=nothing-has-this-id", "/queues/orders?state=failed&q=error:nothing-says-so",
	// what jobs have to show
	"/queues/orders/jobs/1", "/queues/orders/jobs/an-id.that_is-long-0123456789abcdef0123456789abcdef", "/queues/orders/jobs/parent-1",
	"/queues/orders/jobs/album", "/queues/orders/jobs/album?flow=below", "/queues/orders/jobs/album?flow=unprocessed",
	"/failures/letters", "/search?q=error:410", "/search?q=1", "/?group=1&sort=failed",
	// questions that forms lead to
	"/queues/orders/retry?state=failed&all=1", "/queues/orders/promote?state=delayed&all=1", "/queues/orders/remove?state=failed&all=1",
	"/queues/orders/remove?state=failed&id=1", "/queues/orders/jobs/1/remove", "/queues/orders/replay?state=waiting&all=1",
}

// Every page that can be reached from the overview by links, and those that only a mistake or a form leads to, in every
// way: the console is silent, the checker finds nothing to complain about, light and dark, nothing is wider than a
// telephone, and the keyboard or no script at all are enough. No page is left out, for the list of routes is walked.
func TestEveryPage(t *testing.T) {
	t.Parallel()
	b := world(t)
	p, bare := b.tab(look{}), b.tab(plain)
	p.openQueue("orders", "failed")
	p.openWhen("/failures/letters", `document.querySelector('main [href*="/remove"], main [formaction*="/replay"]')`) // counted
	left := pageRoutes(t)
	visit := func(path string) (links []string) {
		t.Run(path, func(t *testing.T) { links = p.inspect(t, path); bare.t = t; bare.worksWithoutScript(path) })
		where, _, _ := strings.Cut(path, "?")
		maps.DeleteFunc(left, func(_ string, r *regexp.Regexp) bool { return r.MatchString(where) })
		return links
	}
	var unseen []string
	for _, path := range unlinked {
		unseen = append(unseen, visit(path)...)
	}
	unseen, seen := append([]string{"/"}, unseen...), map[string]bool{}
	for len(unseen) > 0 {
		path := unseen[0]
		unseen = unseen[1:]
		if shape := shapeOf(path); !seen[shape] {
			seen[shape] = true
			unseen = append(unseen, visit(path)...)
		}
		// What can be done with a group is asked for by forms, all but its removal.
		where, _, _ := strings.Cut(path, "?")
		if group, ok := strings.CutSuffix(where, "/remove"); ok && strings.HasPrefix(path, "/failures/") {
			unseen = append(unseen, group+"/retry", group+"/replay")
		}
	}
	p.t, bare.t = t, t
	for _, elsewhere := range []string{ // TestSignIn, TestPolicy
		"/login", "/queues/:queue/policy/reject", "/queues/:queue/policy/rollback",
	} {
		delete(left, elsewhere)
	}
	require.Empty(t, slices.Sorted(maps.Keys(left)), "nobody has looked at these pages: link to them, or name their address above")
	for _, must := range []string{"/queues/*?state=waiting-children", "/queues/*/obliterate?back=", "/queues/*/schedulers/*/edit?back=", "/runbooks/*"} {
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
	p.worksByKeyboard()
	p.fits()
	links := p.links()
	p.expect("404") // where a mistake led
	p.expect("409")
	p.expect("422")
	require.Empty(t, p.complaints(), "the console must be empty")
	return links
}

var (
	segments = regexp.MustCompile(`^/(queues|operations|runbooks|failures)/[^/]+`)
	jobs     = regexp.MustCompile(`/(jobs|schedulers)/[^/]+`)
)

// shapeOf is what pages of one kind have in common: the path without names, and the query without values, but for the
// state, which decides what a list shows; the order of a list makes no other page.
func shapeOf(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return path
	}
	shape := jobs.ReplaceAllString(segments.ReplaceAllString(u.Path, "/$1/*"), "/$1/*")
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
		.filter((u) => u.origin === location.origin && !/\/(refusals|data|returnvalue|progress|api\/.*|metrics)$/.test(u.pathname))
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

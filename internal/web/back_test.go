package web

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"bullpen/internal/engine"

	"github.com/stretchr/testify/require"
)

var hrefs = regexp.MustCompile(`href="([^"]+)"`)

// questions returns the links of a page to questions, by path.
func (b *bench) questions(page string) map[string]*url.URL {
	b.t.Helper()
	asks := regexp.MustCompile(`/(retry|promote|clean|limit|drain|obliterate|remove|replay|jobs|propose|reject|rollback|edit|duplicate)$`)
	out := map[string]*url.URL{}
	for _, m := range hrefs.FindAllStringSubmatch(b.get(page).body, -1) {
		u, err := url.Parse(html.UnescapeString(m[1]))
		require.NoError(b.t, err)
		if asks.MatchString(u.Path) {
			out[u.Path] = u
		}
	}
	return out
}

// cancel is where a question leads when the answer is no.
func (b *bench) cancel(question *url.URL) string {
	b.t.Helper()
	a := b.get(question.String())
	require.Equal(b.t, http.StatusOK, a.status, a.body)
	m := regexp.MustCompile(`<a class="btn" href="([^"]+)" data-close`).FindStringSubmatch(a.body)
	require.NotNil(b.t, m, a.body)
	return html.UnescapeString(m[1])
}

func TestQuestionsLeadBackToTheView(t *testing.T) {
	b := newBench(t)
	b.fail(2)
	b.add(2, engine.JobOptions{Delay: time.Hour})
	b.recount()
	for _, view := range []string{"/queues/email?order=asc&state=failed", "/queues/email?order=desc&state=delayed", "/queues/email?q=send&state=failed"} {
		found := b.questions(view)
		require.GreaterOrEqual(t, len(found), 6, view)
		for path, u := range found {
			require.Equal(t, view, u.Query().Get("back"), path)
			require.Equal(t, view, b.cancel(u), path)
		}
	}
}

func TestARemovedJobLeadsToItsList(t *testing.T) {
	b := newBench(t)
	id := b.fail(1)[0]
	page := "/queues/email/jobs/" + id
	u := b.questions(page)[page+"/remove"]
	require.NotNil(t, u)
	require.Equal(t, page, b.cancel(u), "it is still there")
	a := b.post(u.Path, url.Values{"confirm": {"yes"}, "back": {u.Query().Get("back")}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	require.Equal(t, "/queues/email?state=failed", a.header.Get("Location"))
}

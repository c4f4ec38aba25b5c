package browser

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/web"

	"github.com/stretchr/testify/require"
)

// notPages are the routes that answer a GET with something other than a page, by how they begin or, after a "*", end.
var notPages = []string{
	"/api/", "/live", "/static/", "/favicon.ico", "/healthz", "/readyz", "/metrics", "/callback/", "/oidc",
	"*/export", "*/refusals", "*/jobs/:id/data", "*/jobs/:id/returnvalue", "*/jobs/:id/progress",
}

// pageRoutes are the patterns of all pages there can be, with the patterns made into expressions.
func pageRoutes(t *testing.T) map[string]*regexp.Regexp {
	t.Helper()
	other := http.NotFoundHandler()
	s, err := web.New(web.Options{
		Monitor: struct{ web.Monitor }{}, Auth: struct{ web.SignIn }{}, Audit: struct{ web.Auditor }{}, Metrics: other, Callback: other,
		Queue: func(keys.Queue) (*engine.Queue, error) { return nil, errors.New("nobody asks for one") },
	})
	require.NoError(t, err)
	pages := map[string]*regexp.Regexp{}
	for _, route := range s.Routes() {
		method, pattern, _ := strings.Cut(route, " ")
		if method != http.MethodGet || slices.ContainsFunc(notPages, func(p string) bool {
			end, isEnd := strings.CutPrefix(p, "*")
			return isEnd && strings.HasSuffix(pattern, end) || strings.HasPrefix(pattern, p)
		}) {
			continue
		}
		pages[pattern] = regexp.MustCompile("^" + regexp.MustCompile(`:\w+`).ReplaceAllString(pattern, "[^/]+") + "$")
	}
	return pages
}

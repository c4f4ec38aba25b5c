package web

import (
	"regexp"
	"testing"

	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// routeParameter is a segment of a route that stands for something.
var routeParameter = regexp.MustCompile(`:[a-z]+`)

// FillIn puts something in the place of every parameter of a route, for a job the id given. A parameter it does not know
// fails the test: a new route shall not slip through by not being found.
func FillIn(t *testing.T, path, id string) string {
	t.Helper()
	known := map[string]string{
		":queue": "email", ":id": id, ":op": "1", ":group": "1", ":scheduler": "nightly", ":alert": "redis-down", ":name": "x.css", ":token": "x",
	}
	return routeParameter.ReplaceAllStringFunc(path, func(p string) string {
		value, ok := known[p]
		require.True(t, ok, "%s has a parameter that this test cannot fill in", path)
		return value
	})
}

// Bench is a server on a real Redis with the queue "email", which has failed jobs, for tests outside of the package.
func Bench(t *testing.T, change ...func(*Options)) *Server {
	t.Helper()
	b := newBench(t, change...)
	b.ended(b.queue, keys.Failed, 3, "send", "no such host", "{}")
	return b.Server
}

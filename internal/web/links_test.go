package web

import (
	"net/url"
	"regexp"
	"testing"

	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// hostile are names and ids that proxies, routers and HTML tend to mangle.
var hostile = []string{
	"plain", "with space", "a/b", "..", ".", ".hidden", "a%2Fb", "50%", "q?x=1", "frag#ment", "tilde~41", "1e+8", "semi;colon",
	"<script>alert(1)</script>", `"quoted"`, "ünïcödé", "日本", "\u202eevil", "null\x00byte", "new\nline", "\xff\xfe", "a\\b", "a&b", "{tag}", "repeat:x:1",
}

func TestSegmentsSurvive(t *testing.T) {
	safe := regexp.MustCompile(`^[A-Za-z0-9_:.~-]+$`)
	for _, s := range hostile {
		e := escapeSegment(s)
		require.Regexp(t, safe, e, "%q", s)
		require.NotEqual(t, byte('.'), e[0], "a proxy would resolve %q", e)
		require.Equal(t, s, unescapeSegment(e))
		require.Equal(t, s, param(e))
	}
	require.Equal(t, "order-7.shipped_x", escapeSegment("order-7.shipped_x"), "plain names stay readable")
	require.Equal(t, "a/b", param(url.PathEscape("a/b")), "percent escapes typed by hand work too")
	require.Equal(t, "~zz~", unescapeSegment("~zz~"), "what is no escape stays")
}

func FuzzSegments(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := unescapeSegment(escapeSegment(s)); got != s {
			t.Fatalf("%q became %q", s, got)
		}
	})
}

func TestQueueAddresses(t *testing.T) {
	l := links{base: "/ops", prefix: "bull"}
	own, other := keys.Queue{Prefix: "bull", Name: "email"}, keys.Queue{Prefix: "{x}:y", Name: "a b"}
	require.Equal(t, "/ops/queues/email", l.queue(own))
	require.Equal(t, "/ops/queues/email/jobs/~2E./retry", l.job(own, "..", "retry"))
	require.Equal(t, "/ops/queues/~7Bx~7D:y:a~20b", l.queue(other))
	require.Equal(t, own, l.parseQueue("email"))
	require.Equal(t, other, l.parseQueue(unescapeSegment("~7Bx~7D:y:a~20b")))
}

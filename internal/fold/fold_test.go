package fold

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		// The specification's own examples.
		"connect ECONNREFUSED 203.0.113.24:443":  "connect ECONNREFUSED <addr>",
		"User 42 not found":                      "User <n> not found",
		`duplicate key "a@b.example" in shard-7`: "duplicate key <text> in shard-<n>",
		"503 from https://h.example/x?y=1":       "<n> from https://h.example",
		"":                                       "",
		"   \n\t ":                               "",
		"boom":                                   "boom",
		"\n\nfirst line \nsecond":                "first line",
		"first\r\nsecond":                        "first",
		"a   b\t\tc ":                            "a b c",
		"attempt timed out after 10s":            "attempt timed out after <n>s",
		"took 1,234.5 ms of 1e9":                 "took <n> ms of <n>e<n>",
		"at 2026-03-12T14:20:55.120Z":            "at <n>-<n>-<n>T<n>:<n>:<n>Z",
		"job 7f9c24e8-1b2d-4f6a-8c3e-5d7f9a1b3c5e gone": "job <uuid> gone",
		"device 507f1f77bcf86cd799439011 unregistered":  "device <hex> unregistered",
		"segfault at 0x7fff5fbff8a0":                    "segfault at <hex>",
		"deadbeef and DEADBEEF01, but not facade":       "<hex> and <hex>, but not facade",
		"code 12345678":                                 "code <n>",
		"no route to 10.0.0.1":                          "no route to <addr>",
		"no route to 10.0.0.1.":                         "no route to <addr>.",
		"dial tcp [::1]:6379: refused":                  "dial tcp <addr>: refused",
		"dial tcp [2001:db8::7]:6379 or fe80::1":        "dial tcp <addr> or <addr>",
		"std::vector::at failed":                        "std::vector::at failed",
		"at 12:30: late":                                "at <n>:<n>: late",
		"mail to ada.lovelace+x@mail.example bounced":   "mail to <email> bounced",
		"mail to ada@example.com.":                      "mail to <email>.",
		"GET http://10.1.2.3:8080/a failed":             "GET http://<addr> failed",
		"GET http://user:pw@host.example:8080/a?b#c: 7": "GET http://host.example: <n>",
		"see (https://docs.example/x), please":          "see (https://docs.example), please",
		"redis://h.example:6379/0":                      "redis://h.example",
		`can't open user's file 'a.txt'`:                "can't open user's file <text>",
		"template `invoice-7` and “letter” and «brief»": "template <text> and <text> and <text>",
		`unclosed "quote 7`:                             `unclosed "quote <n>`,
		`empty ""`:                                      "empty <text>",
		"'it''s' odd":                                   "<text><text> odd",
		"Ошибка 42: нет “файла”":                        "Ошибка <n>: нет <text>",
		"bad \xff byte":                                 "bad \uFFFD byte",
		`long "` + strings.Repeat("x", 300) + `" end`:   "long <text>",
		strings.Repeat("ä", 250):                        strings.Repeat("ä", MaxLength),
		"Unexpected token < in JSON at position 0":      "Unexpected token < in JSON at position <n>",
		"amqp+ssl://h.example/vhost closed by v4l2":     "amqp+ssl://h.example closed by v<n>l<n>",
		"file:///var/lib/x missing":                     "file:// missing",
		"limit is 1..5":                                 "limit is <n>..<n>",
		"two@@signs and @handle":                        "two@@signs and @handle",
		"Request failed with status code 404 (trace-id=4bf92f3577b34da6a3ce929d0e0e4736)": "Request failed with status code <n> (trace-id=<hex>)",
	} {
		require.Equal(t, want, Error(text), "%q", text)
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	require.Equal(t, []Part{{Mark: "n"}, {Text: " from https://h "}, {Mark: "text"}, {Mark: "uuid"}, {Text: " <x>"}},
		Parts("<n> from https://h <text><uuid> <x>"))
	require.Empty(t, Parts(""))
}

func FuzzError(f *testing.F) {
	for _, s := range []string{"connect 1.2.3.4:5", `a "b" 'c' http://x:1/y`, "::1", "a@b", "\xff\"", "0x0x00000000", "[::]:1:2.3.4.5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Error(s)
		require.True(t, utf8.ValidString(once), "%q", once)
		require.NotContains(t, once, "  ")
		require.LessOrEqual(t, utf8.RuneCountInString(once), MaxLength*len(Email))
		var b strings.Builder
		for _, p := range Parts(once) {
			if p.Mark != "" {
				b.WriteString("<" + p.Mark + ">")
			}
			b.WriteString(p.Text)
		}
		require.Equal(t, once, b.String())
		if !strings.Contains(once, "://") {
			require.NotRegexp(t, "[0-9]", once, "a number was left in %q", once)
		}
	})
}

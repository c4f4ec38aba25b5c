package monitor

import (
	"testing"

	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, prefix, name string
		want                  bool
	}{
		{"email", "bull", "email", true},
		{"email", "bull", "emails", false},
		{"email*", "bull", "emails", true},
		{"*", "bull", "a/b é", true},
		{"*-v?", "bull", "mail-v2", true},
		{"*-v?", "bull", "mail-v12", false},
		{"a*b*c", "bull", "aXbYbZc", true},
		{"a*b*c", "bull", "aXcYb", false},
		{"?", "bull", "é", true},
		{"[a]", "bull", "a", false},
		{"bull:email", "bull", "email", true},
		{"other:*", "bull", "email", false},
		{"", "bull", "email", false},
	}
	for _, tt := range tests {
		got := Match([]string{"nothing", tt.pattern}, keys.Queue{Prefix: tt.prefix, Name: tt.name})
		require.Equal(t, tt.want, got, "%s on %s:%s", tt.pattern, tt.prefix, tt.name)
	}
	require.False(t, Match(nil, keys.Queue{Name: "email"}))
}

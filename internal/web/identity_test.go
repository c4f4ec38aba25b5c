package web

import (
	"testing"

	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// TestPatternsOfAccess proves that a pattern means the same here as in queues_include.
func TestPatternsOfAccess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern string
		want    bool
	}{
		{"mail-*", true},
		{"*out", true},
		{"mail-?u/out", true},
		{"mail-eu", false},
		{"app:mail-*", true},
		{"bull:mail-*", false},
	} {
		who := Identity{Name: "ada", Role: Viewer, Queues: []string{tt.pattern}}
		require.Equal(t, tt.want, who.May(Viewer, keys.Queue{Prefix: "app", Name: "mail-eu/out"}), tt.pattern)
	}
}

package scripts_test

import (
	"testing"

	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

// TestRemoveOrphans is played on redis-server and on the in-process store.
func TestRemoveOrphans(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*space{"redis-server": newSpace(t), "memory": spaceOn(t, testredis.Memory(t), "m")} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			s.job("kept", "stray", "child", "p", "second")
			s.seed("LPUSH q:wait kept", "RPUSH q:stray:logs row", "SET q:stray:lock tok", "HSET q:stray deid d", "SET q:de:d stray",
				"HSET q:child parentKey P:q:p", "SADD q:p:dependencies P:q:child", "ZADD q:waiting-children 1 p",
				"SET q:text x", "HSET q:settings color blue", "LPUSH q:damaged:logs x", "SET q:damaged:dependencies x")
			gone, err := s.run.RemoveOrphans(t.Context(), s.q, []string{"kept", "text", "settings", "nobody", "stray", "child", "damaged", "second"}, 4)
			require.NoError(t, err)
			require.Equal(t, []string{"nobody", "stray", "child", "damaged"}, gone, "the fifth is beyond the limit")
			left := s.dump()
			for _, key := range []string{"q:kept", "q:p", "q:text", "q:settings", "q:second"} {
				require.Contains(t, left, key)
			}
			for _, key := range []string{"q:stray", "q:stray:logs", "q:stray:lock", "q:de:d", "q:child", "q:damaged:logs"} {
				require.NotContains(t, left, key)
			}
			require.Equal(t, "kept p", left["q:wait"], "a parent that waited for an orphan is ready")
		})
	}
}

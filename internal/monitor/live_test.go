package monitor

import (
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/stretchr/testify/require"
)

func TestLivePolicyBeatsTheFile(t *testing.T) {
	t.Parallel()
	named, found := keys.Queue{Prefix: "bull", Name: "a"}, keys.Queue{Prefix: "bull", Name: "b"}
	changed := map[keys.Queue]bool{}
	p := newPolicies(Options{
		Declared: map[keys.Queue]policy.Policy{named: {Attempts: 3, WaitTarget: time.Minute}}, Defaults: policy.Policy{Attempts: 2},
		Live: func(q keys.Queue, file policy.Policy) (policy.Policy, bool) {
			file.Attempts = 9
			return file, changed[q]
		},
	}.withDefaults())
	require.Equal(t, 3, p.of(named).Attempts)
	require.Equal(t, 2, p.of(found).Attempts)
	changed[named], changed[found] = true, true
	got := p.of(named)
	require.Equal(t, []any{9, time.Minute, 0.0001}, []any{got.Attempts, got.WaitTarget, got.FailedBudget}, "what follows from a value follows from the live one")
	require.Equal(t, 9, p.of(found).Attempts)
}

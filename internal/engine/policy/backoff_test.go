package policy_test

import (
	"math"
	"testing"
	"time"

	"bullpen/internal/engine/policy"

	"github.com/stretchr/testify/require"
)

// TestTotalOfManyAttempts takes no longer for more attempts, and stays bounded.
func TestTotalOfManyAttempts(t *testing.T) {
	for name, test := range map[string]struct {
		b        policy.Backoff
		attempts int
		total    time.Duration
	}{
		"one attempt":        {policy.Backoff{Type: policy.Fixed, Delay: time.Second}, 1, 0},
		"none":               {policy.Backoff{Type: policy.Fixed, Delay: time.Second}, 0, 0},
		"fixed":              {policy.Backoff{Type: policy.Fixed, Delay: time.Second}, 5, 4 * time.Second},
		"exponential":        {policy.Backoff{Type: policy.Exponential, Delay: time.Second}, 5, 15 * time.Second},
		"capped":             {policy.Backoff{Type: policy.Exponential, Delay: time.Second, Max: 4 * time.Second}, 6, 15 * time.Second},
		"without a delay":    {policy.Backoff{}, math.MaxInt, 0},
		"fixed, very many":   {policy.Backoff{Type: policy.Fixed, Delay: time.Second}, math.MaxInt, 100 * 365 * 24 * time.Hour},
		"doubled very often": {policy.Backoff{Type: policy.Exponential, Delay: time.Second}, math.MaxInt, 100 * 365 * 24 * time.Hour},
	} {
		got := test.b.Total(test.attempts)
		if test.attempts == math.MaxInt && test.total > 0 {
			require.GreaterOrEqual(t, got, test.total, name)
			require.Less(t, got, 2*test.total, name)
			continue
		}
		require.Equal(t, test.total, got, name)
	}
}

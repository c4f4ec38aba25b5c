package monitor

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAdvise(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := map[string]struct {
		need Need
		want Advice
	}{
		"50 a second of 200 ms over 4 replicas with pools of 10": {
			Need{Rate: 50, Run: 200 * ms, Replicas: 4, Pool: 10},
			Advice{Max: 50, Window: time.Second, InFlight: 10, PerReplica: 2.5, Concurrency: 4, Reachable: 50},
		},
		"one replica": {
			Need{Rate: 50, Run: 200 * ms, Replicas: 1},
			Advice{Max: 50, Window: time.Second, InFlight: 10, PerReplica: 10, Concurrency: 13, Reachable: 50},
		},
		"exactly busy": {
			Need{Rate: 20, Run: 200 * ms, Replicas: 1},
			Advice{Max: 20, Window: time.Second, InFlight: 4, PerReplica: 4, Concurrency: 5, Reachable: 20},
		},
		"little to do": {
			Need{Rate: 1, Run: 10 * ms, Replicas: 3},
			Advice{Max: 1, Window: time.Second, InFlight: 0.01, PerReplica: 0.01 / 3, Concurrency: 1, Reachable: 1},
		},
		"the pool cuts and it still suffices": {
			Need{Rate: 40, Run: 100 * ms, Replicas: 1, Pool: 4},
			Advice{Max: 40, Window: time.Second, InFlight: 4, PerReplica: 4, Concurrency: 4, Reachable: 40},
		},
		"the pool is too small": {
			Need{Rate: 50, Run: 200 * ms, Replicas: 2, Pool: 3},
			Advice{Max: 50, Window: time.Second, InFlight: 10, PerReplica: 5, Concurrency: 3, Reachable: 30, ReplicasNeeded: 5},
		},
		"half of one a second": {
			Need{Rate: 0.5, Run: 3 * time.Second, Replicas: 1},
			Advice{Max: 1, Window: 2 * time.Second, InFlight: 1.5, PerReplica: 1.5, Concurrency: 2, Reachable: 0.5},
		},
		"nothing":     {Need{}, Advice{}},
		"no run time": {Need{Rate: 5, Replicas: 1}, Advice{}},
		"no replica":  {Need{Rate: 5, Run: ms}, Advice{}},
		"no number":   {Need{Rate: math.NaN(), Run: ms, Replicas: 1}, Advice{}},
		"no end":      {Need{Rate: math.Inf(1), Run: ms, Replicas: 1}, Advice{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tt.need.Advise())
		})
	}
}

// TestWindowsNeverAllowMore checks that a limiter which was worked out lets no more start than the rate.
func TestWindowsNeverAllowMore(t *testing.T) {
	t.Parallel()
	tests := map[float64]string{
		50: "50 per 1s", 7.5: "15 per 2s", 0.25: "1 per 4s", 33.4: "33 per 1s", 3.3333: "33 per 10s", 3.24: "16 per 5s", 0.1: "1 per 10s",
		1.0 / 60: "1 per 1m0s", 0.011: "1 per 1m31s", 0.19: "11 per 1m0s", 0.02: "1 per 1m0s",
	}
	for rate, want := range tests {
		most, d := limiterFor(rate)
		require.Equal(t, want, fmt.Sprintf("%d per %s", most, d), "%v a second", rate)
		require.LessOrEqual(t, float64(most)/d.Seconds(), rate*1.000001)
	}
}

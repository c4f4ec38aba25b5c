package monitor

import (
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/stretchr/testify/require"
)

// webhooks is a queue whose retries fill its limiter.
func webhooks() Load {
	return Load{
		Arrival: 34, FailingShare: 0.38, Attempts: 5, MeanRun: 346 * time.Millisecond, Ceiling: 20, Limit: 50, Backlog: 3960,
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                                     string
		change                                   func(*Load)
		wanted, inFlight, usedUp, starts, growth float64
		bound                                    string
		drain                                    time.Duration // 0 = never
	}{
		{"as it is", func(*Load) {}, 54.4, 18.8, 0.0079, 50, 4.4, "limiter", 0},
		{"the partner recovers", func(l *Load) { l.FailingShare, l.MeanRun = 0.02, 317*time.Millisecond }, 34.7, 11, 0, 34.7, 0, "limiter", 4*time.Minute + 19*time.Second},
		{"limiter at 60", func(l *Load) { l.Limit = 60 }, 54.4, 18.8, 0.0079, 54.4, 0, "workers", 19 * time.Minute},
		{"three attempts", func(l *Load) { l.Attempts = 3 }, 51.8, 17.9, 0.055, 50, 1.8, "limiter", 0},
		{"one more worker", func(l *Load) { l.Ceiling = 24 }, 54.4, 18.8, 0.0079, 50, 4.4, "limiter", 0},
		{"no worker", func(l *Load) { l.Ceiling = 0 }, 54.4, 18.8, 0.0079, 0, 54.4, "workers", 0},
		{"nothing known to bound it", func(l *Load) { l.Ceiling, l.Limit = -1, 0 }, 54.4, 18.8, 0.0079, 54.4, 0, "", 0},
		{"all fails", func(l *Load) { l.FailingShare = 1 }, 170, 58.8, 1, 50, 120, "limiter", 0},
		{"run time unknown", func(l *Load) { l.MeanRun, l.Limit = 0, 0 }, 54.4, 0, 0.0079, 54.4, 0, "", 0},
	}
	for _, tt := range tests {
		l := webhooks()
		tt.change(&l)
		got := l.Size()
		require.InDelta(t, tt.wanted, got.Wanted, 0.06, tt.name)
		require.InDelta(t, tt.inFlight, got.InFlight, 0.06, tt.name)
		require.InDelta(t, tt.usedUp, got.UsedUp, 0.0005, tt.name)
		require.InDelta(t, tt.starts, got.Starts, 0.06, tt.name)
		require.InDelta(t, tt.growth, got.LeftOver, 0.06, tt.name)
		require.Equal(t, tt.bound, got.Bound, tt.name)
		require.Equal(t, tt.drain > 0, got.Drains, tt.name)
		require.InDelta(t, tt.drain.Seconds(), got.Drain.Seconds(), 30, tt.name)
	}
	got := webhooks().Size()
	require.InDelta(t, 1.6, got.AttemptsPerJob, 0.001)
	require.InDelta(t, 57.8, got.Capacity, 0.1)
	require.InDelta(t, 0.94, got.CeilingUse, 0.01)
	require.InDelta(t, 1.088, got.LimiterUse, 0.001)
	empty := webhooks()
	empty.Backlog = 0
	require.True(t, empty.Size().Drains, "nothing to drain")
}

func TestMeasured(t *testing.T) {
	t.Parallel()
	q := &Queue{
		Counts:  map[keys.State]int64{keys.Waiting: 7},
		Ceiling: 20, CeilingKnown: true,
		Limiter: Limiter{Max: 100, Duration: 2 * time.Second},
		Rate:    Rates{Known: true, Added: 34, FailingShare: 0.38, Active: 17.3, Started: 50},
	}
	p := policy.Policy{Attempts: 5}
	want := Load{Arrival: 34, FailingShare: 0.38, Attempts: 5, MeanRun: 346 * time.Millisecond, Ceiling: 20, Limit: 50, Backlog: 7}
	require.Equal(t, want, Measured(q, p), "run time by Little's law")

	q.History = []Minute{{RunMean: 100, Seen: 1}, {RunMean: 400, Seen: 2}}
	require.Equal(t, 300*time.Millisecond, Measured(q, p).MeanRun, "run time as followers saw it")

	got := Measured(&Queue{}, policy.Policy{})
	require.Equal(t, Load{Attempts: 1, Ceiling: -1}, got, "nothing known")
}

func TestSurvivesAndLimiterFull(t *testing.T) {
	t.Parallel()
	p := policy.Policy{Attempts: 5, Backoff: policy.Backoff{Type: "exponential", Delay: time.Second, Max: time.Minute}}
	require.Equal(t, 15*time.Second, Survives(p))
	require.Zero(t, Survives(policy.Policy{}))
	require.Equal(t, 2, LimiterFull([]Minute{{Limited: 1}, {Limited: 0.5}, {Limited: 0.6}, {}}))
}

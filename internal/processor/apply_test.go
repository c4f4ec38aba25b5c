package processor

import (
	"context"
	"errors"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/engine/presence"

	"github.com/stretchr/testify/require"
)

// A pool that is given another policy acts by it at once and says so, without waiting for the next announcement.
func TestPoolAppliesAPolicyWhileItRuns(t *testing.T) {
	t.Parallel()
	p, prefix := newPool(t), srv.Prefix()
	q, other := newQueue(t, prefix, "a"), newQueue(t, prefix, "b")
	fail := func(context.Context, *engine.Job) (any, error) { return nil, errors.New("boom") }
	start(t, p, WorkerConfig{Queue: q, Handler: fail}, WorkerConfig{Queue: other, Handler: fail})
	t.Cleanup(func() { stop(t, p, 5*time.Second) })
	announced := func(of keys.Queue, concurrency int, revision int64) {
		t.Helper()
		began := time.Now()
		eventually(t, func() bool {
			workers, err := presence.Read(t.Context(), srv.Client(t), of)
			require.NoError(t, err)
			return len(workers) == 1 && workers[0].Concurrency == concurrency && workers[0].Revision == revision
		})
		require.Less(t, time.Since(began), presence.Interval, "it waited for the next announcement")
	}
	announced(q.Queue, 1, 0)

	custom := engine.JobOptions{Attempts: 2, Backoff: &engine.Backoff{Type: "custom"}}
	awaitState(t, q, add(t, q, nil, custom), keys.Failed) // the policy has no backoff
	none := policy.Keep{Set: true}
	require.NoError(t, p.Apply(q.Queue, policy.Policy{
		Concurrency: 7, Backoff: policy.Backoff{Type: policy.Fixed, Delay: time.Hour}, KeepFailed: none,
	}, 3))
	announced(q.Queue, 7, 3)
	announced(other.Queue, 1, 0)
	awaitState(t, q, add(t, q, nil, custom), keys.Delayed)
	gone := add(t, q, nil, engine.JobOptions{})
	eventually(t, func() bool {
		_, err := q.Job(t.Context(), gone)
		return errors.Is(err, engine.ErrJobNotFound)
	})

	require.NoError(t, p.Apply(q.Queue, policy.Policy{Limiter: policy.Limiter{Max: 1, Duration: time.Hour}}, 4))
	announced(q.Queue, 1, 4)
	awaitState(t, q, add(t, q, nil, engine.JobOptions{}), keys.Failed)
	second := add(t, q, nil, engine.JobOptions{})
	eventually(t, func() bool {
		left, err := q.RateLimitTTL(t.Context(), 1)
		require.NoError(t, err)
		return left > 0
	})
	s, err := q.State(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, keys.Waiting, s)

	require.Error(t, p.Apply(q.Queue, policy.Policy{Limiter: policy.Limiter{Max: 1}}, 5), "a limiter without a window")
}

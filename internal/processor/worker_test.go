package processor

import (
	"context"
	"os"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/policy"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
)

func int64p(n int64) *int64 { return &n }

func TestWorkerOptionsOfAnEmptyPolicyAreBullMQsDefaults(t *testing.T) {
	o := WorkerOptions(WorkerConfig{})
	one := 1
	want := engine.WorkerOptions{
		Name: DefaultName(), Concurrency: 1, LockDuration: 30 * time.Second, StalledInterval: 30 * time.Second,
		MaxStalledCount: &one, MetricsPoints: 20160,
	}
	require.Empty(t, cmp.Diff(want, o))
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, host+":"+string(number(int64(os.Getpid()))), o.Name)
}

func TestWorkerOptionsFollowThePolicy(t *testing.T) {
	two, none := 2, 0
	age := 7 * 24 * time.Hour
	o := WorkerOptions(WorkerConfig{
		Name: "w1", Metrics: &none, DrainDelay: time.Second, LockRenew: 3 * time.Second, MaxRateLimitDelay: 4 * time.Second,
		Policy: policy.Policy{
			Concurrency: 8, LockDuration: 9 * time.Second, LockRenew: 2 * time.Second, StalledInterval: 7 * time.Second,
			MaxStalled: &two, MaxStartedAttempts: 6, DeadLetter: "dead",
			Limiter:       policy.Limiter{Max: 50, Duration: time.Second, Scope: "queue"},
			KeepCompleted: policy.Keep{Set: true, Count: 100, Limit: 10},
			KeepFailed:    policy.Keep{Set: true, Count: -1, Age: age},
			Backoff:       policy.Backoff{Type: policy.Exponential, Delay: time.Second, Max: 5 * time.Second},
		},
	})
	want := engine.WorkerOptions{
		Name: "w1", Concurrency: 8, LockDuration: 9 * time.Second, LockRenew: 3 * time.Second,
		StalledInterval: 7 * time.Second, MaxStalledCount: &two, MaxStarted: 6, DrainDelay: time.Second,
		MaxRateLimitWait: 4 * time.Second, Limiter: &engine.Limiter{Max: 50, Duration: time.Second},
		KeepCompleted: &engine.Keep{Count: int64p(100), Limit: int64p(10)}, KeepFailed: &engine.Keep{Age: &age},
		MaxBackoff: 5 * time.Second, DeadLetter: "dead",
	}
	require.Empty(t, cmp.Diff(want, o, cmpopts.IgnoreFields(engine.WorkerOptions{}, "Backoff")))
	for made, wait := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 5 * time.Second} {
		require.Equal(t, wait, o.Backoff(made, "custom", nil, nil))
	}
}

func TestWorkerOptionsKeepEverything(t *testing.T) {
	for _, k := range []policy.Keep{{}, {Set: true, Count: -1}} {
		o := WorkerOptions(WorkerConfig{Policy: policy.Policy{KeepCompleted: k}})
		require.True(t, o.KeepCompleted == nil || *o.KeepCompleted == engine.Keep{})
	}
	o := WorkerOptions(WorkerConfig{Policy: policy.Policy{KeepCompleted: policy.Keep{Set: true}}})
	require.Equal(t, engine.KeepCount(0), o.KeepCompleted)
}

func TestJobDefaults(t *testing.T) {
	require.Equal(t, engine.JobOptions{Attempts: 1}, JobDefaults(policy.Policy{}))
	require.Equal(t, engine.JobOptions{Attempts: 5, Backoff: &engine.Backoff{Type: "fixed", Delay: time.Second, Jitter: 0.5}},
		JobDefaults(policy.Policy{Attempts: 5, Backoff: policy.Backoff{Type: "fixed", Delay: time.Second, Jitter: 0.5}}))
}

func TestPolicyHashTellsPoliciesApart(t *testing.T) {
	yes := true
	hash := PolicyHash(policy.Policy{Attempts: 3})
	require.Len(t, hash, 12)
	require.Equal(t, hash, PolicyHash(policy.Policy{Attempts: 3, Concurrency: 1, RetryAfter: &yes}), "defaults spelled out")
	require.NotEqual(t, hash, PolicyHash(policy.Policy{Attempts: 4}))
}

func TestApplyPolicyWritesOnlyWhatIsNamed(t *testing.T) {
	c, prefix := srv.Client(t), srv.Prefix()
	q, err := engine.NewQueue(engine.QueueOptions{Client: c, Prefix: prefix, Name: "q"})
	require.NoError(t, err)
	meta := func() map[string]string {
		m, err := c.HGetAll(context.Background(), q.Meta()).Result()
		require.NoError(t, err)
		return m
	}
	apply := func(p policy.Policy) { require.NoError(t, ApplyPolicy(t.Context(), q, p)) }

	apply(policy.Policy{Limiter: policy.Limiter{Max: 5, Duration: time.Second}})
	require.Empty(t, meta())
	apply(policy.Policy{GlobalConcurrency: 7, Limiter: policy.Limiter{Max: 5, Duration: time.Second, Scope: "queue"}})
	require.Equal(t, map[string]string{"concurrency": "7", "max": "5", "duration": "1000"}, meta())
	apply(policy.Policy{})
	require.Equal(t, "7", meta()["concurrency"])
	apply(policy.Policy{ClearGlobal: true})
	require.NotContains(t, meta(), "concurrency")
}

package livepolicy_test

import (
	"encoding/json"
	"testing"
	"time"

	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestSettingsInWords(t *testing.T) {
	t.Parallel()
	p := policy.Policy{
		Attempts: 5, Backoff: policy.Backoff{Type: "exponential", Delay: time.Second, Max: time.Minute, Jitter: 0.5}, Concurrency: 4,
		GlobalConcurrency: 24, Limiter: policy.Limiter{Max: 50, Duration: 1500 * time.Millisecond, Scope: "queue"},
		KeepCompleted: policy.Keep{Set: true, Count: 1000, Age: 168 * time.Hour}, KeepFailed: policy.Keep{Set: true},
	}
	want := []livepolicy.Setting{
		{Field: "attempts", Value: "5"},
		{Field: "backoff", Value: "exponential, 1s, max 1m, jitter 0.5"},
		{Field: "concurrency", Value: "4"},
		{Field: "global_concurrency", Value: "24"},
		{Field: "limiter", Value: "50 per 1.5s, for all clients"},
		{Field: "keep_completed", Value: "1000, 168h"},
		{Field: "keep_failed", Value: "none"},
	}
	require.Equal(t, want, livepolicy.Settings(p))
	want = []livepolicy.Setting{
		{Field: "attempts", Value: "1"},
		{Field: "backoff", Value: "none"},
		{Field: "concurrency", Value: "1"},
		{Field: "global_concurrency", Value: "not set"},
		{Field: "limiter", Value: "none"},
		{Field: "keep_completed", Value: "all"},
		{Field: "keep_failed", Value: "all"},
	}
	require.Equal(t, want, livepolicy.Settings(policy.Policy{}))
	require.Equal(t, "none", livepolicy.Settings(policy.Policy{ClearGlobal: true})[3].Value)
	require.Equal(t, "none, max 1m", livepolicy.BackoffText(policy.Backoff{Max: time.Minute}))
	require.Equal(t, "1h30m", livepolicy.DurationText(90*time.Minute))
	require.Equal(t, "500ms", livepolicy.DurationText(500*time.Millisecond))
}

func TestValuesSurviveStorage(t *testing.T) {
	t.Parallel()
	v := livepolicy.Values{
		Concurrency: ptr(8), GlobalConcurrency: ptr(0), Attempts: ptr(3),
		Limiter:       &livepolicy.Limiter{Max: 50, Duration: livepolicy.Span(time.Second), Scope: "queue"},
		Backoff:       &livepolicy.Backoff{Type: "exponential", Delay: livepolicy.Span(time.Second), Max: livepolicy.Span(time.Minute), Jitter: 0.25},
		KeepCompleted: &livepolicy.Keep{Count: 100, Limit: 5}, KeepFailed: &livepolicy.Keep{Count: -1, Age: livepolicy.Span(time.Hour)},
	}
	b, err := json.Marshal(v)
	require.NoError(t, err)
	require.JSONEq(t, `{"concurrency":8,"global_concurrency":0,"limiter":{"max":50,"duration":"1s","scope":"queue"},"attempts":3,
		"backoff":{"type":"exponential","delay":"1s","max":"1m0s","jitter":0.25},"keep_completed":{"count":100,"limit":5},"keep_failed":{"count":-1,"age":"1h0m0s"}}`, string(b))
	var back livepolicy.Values
	require.NoError(t, json.Unmarshal(b, &back))
	if diff := cmp.Diff(v, back); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	for _, s := range livepolicy.Settings(policy.Policy{}) {
		require.True(t, v.Has(s.Field), s.Field)
		require.False(t, livepolicy.Values{}.Has(s.Field), s.Field)
	}
	got := v.Over(policy.Policy{Timeout: time.Minute, DeadLetter: "dead"})
	require.Equal(t, policy.Policy{
		Concurrency: 8, ClearGlobal: true, Attempts: 3, Timeout: time.Minute, DeadLetter: "dead",
		Limiter:       policy.Limiter{Max: 50, Duration: time.Second, Scope: "queue"},
		Backoff:       policy.Backoff{Type: "exponential", Delay: time.Second, Max: time.Minute, Jitter: 0.25},
		KeepCompleted: policy.Keep{Set: true, Count: 100, Limit: 5}, KeepFailed: policy.Keep{Set: true, Count: -1, Age: time.Hour},
	}, got)
}

func TestBetween(t *testing.T) {
	t.Parallel()
	before := policy.Policy{Concurrency: 4, Attempts: 3, KeepFailed: policy.Keep{Set: true, Count: 5}}
	after := before
	after.Limiter, after.KeepFailed = policy.Limiter{Max: 9, Duration: time.Second, Scope: "worker"}, policy.Keep{}
	v := livepolicy.Between(before, after)
	require.Equal(t, livepolicy.Values{
		Limiter: &livepolicy.Limiter{Max: 9, Duration: livepolicy.Span(time.Second), Scope: "worker"}, KeepFailed: &livepolicy.Keep{Count: -1},
	}, v)
	require.Empty(t, livepolicy.Differences(after, v.Over(before)))
	require.True(t, livepolicy.Between(after, after).Empty())
}

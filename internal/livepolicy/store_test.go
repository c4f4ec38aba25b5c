package livepolicy_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestProposalBecomesLive(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	p, err := b.Propose(t.Context(), b.q, livepolicy.Change{
		By: "ada", Why: "the partner allows more",
		Values: livepolicy.Values{Concurrency: ptr(8), Limiter: &livepolicy.Limiter{Max: 50, Duration: livepolicy.Span(time.Second), Scope: "worker"}},
	})
	require.NoError(t, err)
	require.Equal(t, []livepolicy.Difference{
		{Field: "concurrency", Before: "4", After: "8"}, {Field: "limiter", Before: "none", After: "50 per 1s"},
	}, p.Changes)
	r, err := b.Read(t.Context(), b.q)
	require.NoError(t, err)
	require.Zero(t, r.Revision, "a proposal changes nothing")
	require.True(t, r.Live.Empty())
	require.Equal(t, p, r.Open)

	b.now = b.now.Add(time.Minute)
	require.NotNil(t, b.approve(p))
	r, err = b.Read(t.Context(), b.q)
	require.NoError(t, err)
	require.Equal(t, int64(1), r.Revision)
	require.Nil(t, r.Open)
	got := r.Live.Over(b.file)
	require.Equal(t, 8, got.Concurrency)
	require.Equal(t, 3, got.Attempts, "the file decides the rest")
	require.Equal(t, policy.Limiter{Max: 50, Duration: time.Second, Scope: "worker"}, got.Limiter)
	want := []livepolicy.Decision{{Proposal: *p, Outcome: livepolicy.Approved, DecidedBy: "bob", DecidedAt: b.now.UTC(), Revision: 1}}
	if diff := cmp.Diff(want, r.Past); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestChangesAddUpAndRollBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	b.change(livepolicy.Values{Concurrency: ptr(8)})
	b.change(livepolicy.Values{Attempts: ptr(5), Backoff: &livepolicy.Backoff{Type: "fixed", Delay: livepolicy.Span(time.Minute)}})
	r := b.change(livepolicy.Values{Concurrency: ptr(16), KeepFailed: &livepolicy.Keep{Count: 10}})
	p := r.Live.Over(b.file)
	require.Equal(t, []any{16, 5, policy.Keep{Set: true, Count: 10}}, []any{p.Concurrency, p.Attempts, p.KeepFailed})

	r = b.back(2)
	require.Equal(t, int64(4), r.Revision, "a rollback is a change like any other")
	require.Equal(t, []livepolicy.Difference{{Field: "concurrency", Before: "16", After: "8"}, {Field: "keep_failed", Before: "10", After: "all"}}, r.Past[0].Changes)
	p = r.Live.Over(b.file)
	require.Equal(t, []any{8, 5, policy.Keep{}}, []any{p.Concurrency, p.Attempts, p.KeepFailed})

	r = b.back(0)
	require.True(t, r.Live.Empty())
	require.Equal(t, b.file, r.Live.Over(b.file))
	_, err := b.Rollback(t.Context(), b.q, "ada", "again", 0)
	require.ErrorIs(t, err, livepolicy.ErrNoChange)
	_, err = b.Rollback(t.Context(), b.q, "ada", "again", 99)
	require.ErrorIs(t, err, livepolicy.ErrNoRevision)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	propose := func(c livepolicy.Change) error {
		_, err := b.Propose(t.Context(), b.q, c)
		return err
	}
	eight := livepolicy.Values{Concurrency: ptr(8)}
	require.ErrorIs(t, propose(livepolicy.Change{By: "ada", Why: " ", Values: eight}), livepolicy.ErrNoReason)
	require.ErrorIs(t, propose(livepolicy.Change{By: "ada", Why: "x", Values: livepolicy.Values{Concurrency: ptr(4)}}), livepolicy.ErrNoChange)
	require.ErrorIs(t, propose(livepolicy.Change{By: "ada", Why: "x", Pause: ptr(false)}), livepolicy.ErrNoChange)
	bad := livepolicy.Values{Backoff: &livepolicy.Backoff{Type: "fixed", Delay: livepolicy.Span(time.Minute), Max: livepolicy.Span(time.Second), Jitter: 2}}
	err := propose(livepolicy.Change{By: "ada", Why: "x", Values: bad})
	require.ErrorIs(t, err, livepolicy.ErrInvalid)
	var invalid *livepolicy.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Problems, 2)
	require.Equal(t, "backoff.jitter", invalid.Problems[0].Field)
	require.Empty(t, b.dump(), "what was refused left nothing behind")

	require.NoError(t, propose(livepolicy.Change{By: "ada", Why: "x", Values: eight}))
	require.ErrorIs(t, propose(livepolicy.Change{By: "bob", Why: "y", Values: livepolicy.Values{Attempts: ptr(9)}}), livepolicy.ErrOpen)
	_, err = b.Approve(t.Context(), b.q, 2, "bob")
	require.ErrorIs(t, err, livepolicy.ErrNotOpen)
	_, err = b.Reject(t.Context(), b.q, 2, "bob", "")
	require.ErrorIs(t, err, livepolicy.ErrNotOpen)

	r, err := b.Reject(t.Context(), b.q, 1, "bob", "not on a Friday")
	require.NoError(t, err)
	require.Zero(t, r.Revision)
	require.Equal(t, livepolicy.Rejected, r.Past[0].Outcome)
	require.Equal(t, "not on a Friday", r.Past[0].Note)
	_, err = b.Approve(t.Context(), b.q, 1, "bob")
	require.ErrorIs(t, err, livepolicy.ErrNotOpen)
	require.NoError(t, propose(livepolicy.Change{By: "ada", Why: "x", Values: eight}), "a rejected proposal makes room")
}

func TestTwoPeople(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	p, err := b.Propose(t.Context(), b.q, livepolicy.Change{By: "ada", Why: "x", Values: livepolicy.Values{Concurrency: ptr(8)}, Pause: ptr(true)})
	require.NoError(t, err)
	_, err = b.Approve(t.Context(), b.q, p.Number, "ada")
	require.ErrorIs(t, err, livepolicy.ErrSamePerson)
	require.False(t, b.paused(), "what is not approved has no effect")
	b.approve(p)
	require.True(t, b.paused())
}

// TestFileThatChanged refuses a proposal that is not valid any more with the file as it is now.
func TestFileThatChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	b.file.Backoff = policy.Backoff{Type: "fixed", Delay: time.Second}
	p, err := b.Propose(t.Context(), b.q, livepolicy.Change{By: "ada", Why: "x", Values: livepolicy.Values{Concurrency: ptr(8)}})
	require.NoError(t, err)
	b.file.Backoff.Max = time.Millisecond
	_, err = b.Approve(t.Context(), b.q, p.Number, "bob")
	require.ErrorIs(t, err, livepolicy.ErrInvalid)
}

func TestPauseIsAChange(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	p, err := b.Propose(t.Context(), b.q, livepolicy.Change{By: "ada", Why: "maintenance", Pause: ptr(true)})
	require.NoError(t, err)
	require.Equal(t, []livepolicy.Difference{{Field: "paused", Before: "no", After: "yes"}}, p.Changes)
	require.False(t, b.paused())
	b.approve(p)
	require.True(t, b.paused())
	b.back(0)
	require.False(t, b.paused())
	require.NotContains(t, b.meta(), "paused")
}

// TestMeta follows what the queue's own settings hold: they are what workers of other clients obey.
func TestMeta(t *testing.T) {
	t.Parallel()
	limit := func(n int, scope string) *livepolicy.Limiter {
		return &livepolicy.Limiter{Max: n, Duration: livepolicy.Span(time.Second), Scope: scope}
	}
	tests := map[string]struct {
		before map[string]any
		file   policy.Policy
		values livepolicy.Values
		want   map[string]string
		// restored is what a rollback leaves.
		restored map[string]string
	}{
		"new bound":             {values: livepolicy.Values{GlobalConcurrency: ptr(9)}, want: map[string]string{"concurrency": "9"}, restored: map[string]string{}},
		"other bound":           {before: map[string]any{"concurrency": 5}, values: livepolicy.Values{GlobalConcurrency: ptr(9)}, want: map[string]string{"concurrency": "9"}, restored: map[string]string{"concurrency": "5"}},
		"no bound":              {before: map[string]any{"concurrency": 5}, values: livepolicy.Values{GlobalConcurrency: ptr(0)}, want: map[string]string{}, restored: map[string]string{"concurrency": "5"}},
		"bound of the file":     {before: map[string]any{"concurrency": 7}, file: policy.Policy{GlobalConcurrency: 7}, values: livepolicy.Values{GlobalConcurrency: ptr(9)}, want: map[string]string{"concurrency": "9"}, restored: map[string]string{"concurrency": "7"}},
		"limiter for all":       {values: livepolicy.Values{Limiter: limit(5, "queue")}, want: map[string]string{"max": "5", "duration": "1000"}, restored: map[string]string{}},
		"limiter of the hash":   {before: map[string]any{"max": 2, "duration": 300}, values: livepolicy.Values{Limiter: limit(5, "queue")}, want: map[string]string{"max": "5", "duration": "1000"}, restored: map[string]string{"max": "2", "duration": "300"}},
		"limiter of workers":    {before: map[string]any{"max": 2, "duration": 300}, values: livepolicy.Values{Limiter: limit(5, "worker")}, want: map[string]string{}, restored: map[string]string{"max": "2", "duration": "300"}},
		"no limiter":            {before: map[string]any{"max": 2, "duration": 300}, values: livepolicy.Values{Limiter: &livepolicy.Limiter{}}, want: map[string]string{}, restored: map[string]string{"max": "2", "duration": "300"}},
		"nothing of the hash":   {before: map[string]any{"concurrency": 5, "max": 2, "duration": 300}, values: livepolicy.Values{Concurrency: ptr(1)}, want: map[string]string{"concurrency": "5", "max": "2", "duration": "300"}, restored: map[string]string{"concurrency": "5", "max": "2", "duration": "300"}},
		"limiter of the file":   {file: policy.Policy{Limiter: policy.Limiter{Max: 3, Duration: time.Second, Scope: "queue"}}, before: map[string]any{"max": 3, "duration": 1000}, values: livepolicy.Values{Limiter: limit(5, "queue")}, want: map[string]string{"max": "5", "duration": "1000"}, restored: map[string]string{"max": "3", "duration": "1000"}},
		"workers not for all":   {file: policy.Policy{Limiter: policy.Limiter{Max: 3, Duration: time.Second, Scope: "worker"}}, values: livepolicy.Values{Limiter: limit(5, "worker")}, want: map[string]string{}, restored: map[string]string{}},
		"file clears its bound": {before: map[string]any{"concurrency": 5}, file: policy.Policy{ClearGlobal: true}, values: livepolicy.Values{GlobalConcurrency: ptr(9)}, want: map[string]string{"concurrency": "9"}, restored: map[string]string{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, false)
			b.file = tt.file
			b.file.Concurrency = 4
			if len(tt.before) > 0 {
				require.NoError(t, b.client.HSet(t.Context(), b.q.Meta(), tt.before).Err())
			}
			r := b.change(tt.values)
			require.Equal(t, tt.want, b.meta())
			require.NotEmpty(t, r.Past[0].Changes)
			b.back(0)
			require.Equal(t, tt.restored, b.meta())
		})
	}
}

// TestChangesAgainstWhatIsInForce names in a proposal what the hash says, which is what workers obey.
func TestChangesAgainstWhatIsInForce(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	require.NoError(t, b.client.HSet(t.Context(), b.q.Meta(), "concurrency", 5, "max", 2, "duration", 300).Err())
	p, err := b.Propose(t.Context(), b.q, livepolicy.Change{By: "ada", Why: "x", Values: livepolicy.Values{
		GlobalConcurrency: ptr(0), Limiter: &livepolicy.Limiter{Max: 10, Duration: livepolicy.Span(time.Second), Scope: "queue"},
	}})
	require.NoError(t, err)
	require.Equal(t, []livepolicy.Difference{
		{Field: "global_concurrency", Before: "5", After: "none"},
		{Field: "limiter", Before: "2 per 300ms, for all clients", After: "10 per 1s, for all clients"},
	}, p.Changes)
}

func TestNewLimiterCountsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	require.NoError(t, b.client.Set(t.Context(), b.q.Limiter(), 7, time.Hour).Err())
	b.change(livepolicy.Values{Limiter: &livepolicy.Limiter{Max: 10, Duration: livepolicy.Span(time.Second)}})
	require.LessOrEqual(t, b.client.PTTL(t.Context(), b.q.Limiter()).Val(), time.Second)
}

// TestManyHands lets many propose and decide at once: each number is decided once, and the revision counts approvals.
func TestManyHands(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	var mu sync.Mutex
	approved := map[int64]int{}
	var hands sync.WaitGroup
	for range 4 {
		hands.Go(func() {
			for i := range 10 {
				p, err := b.Propose(background, b.q, livepolicy.Change{By: "ada", Why: "x", Values: livepolicy.Values{Concurrency: ptr(5 + i)}})
				if err != nil {
					if !errors.Is(err, livepolicy.ErrOpen) && !errors.Is(err, livepolicy.ErrNoChange) && !errors.Is(err, redis.TxFailedErr) {
						t.Error(err)
					}
					continue
				}
				for range 2 {
					_, err := b.Approve(background, b.q, p.Number, "bob")
					if err == nil {
						mu.Lock()
						approved[p.Number]++
						mu.Unlock()
					} else if !errors.Is(err, livepolicy.ErrNotOpen) && !errors.Is(err, redis.TxFailedErr) {
						t.Error(err)
					}
				}
			}
		})
	}
	hands.Wait()
	r, err := b.Read(t.Context(), b.q)
	require.NoError(t, err)
	require.Len(t, approved, int(r.Revision))
	for number, times := range approved {
		require.Equal(t, 1, times, "proposal %d", number)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, false)
	for i := range 60 {
		b.change(livepolicy.Values{Concurrency: ptr(5 + i)})
	}
	r, err := b.Read(t.Context(), b.q)
	require.NoError(t, err)
	require.Len(t, r.Past, 50)
	require.Equal(t, int64(60), r.Past[0].Revision)
	_, ok := r.At(10)
	require.False(t, ok)
	v, ok := r.At(11)
	require.True(t, ok)
	require.Equal(t, 15, *v.Concurrency)
}

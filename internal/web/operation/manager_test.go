package operation

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counting is a spec over n items; odd ones are refused.
func counting(n int) Spec {
	next := 0
	return Spec{
		Verb: "retry", Subject: "failed jobs", Who: "ada",
		Prepare: func(context.Context) (int64, error) { return int64(n), nil },
		Step: func(_ context.Context, size int) (Batch, error) {
			var b Batch
			for ; next < n && size > 0; next, size = next+1, size-1 {
				if next%2 == 1 {
					b.Refused = append(b.Refused, Refusal{ID: fmt.Sprint(next), Reason: "is odd"})
					continue
				}
				b.Done++
			}
			b.Last = next == n
			return b, nil
		},
	}
}

func TestRunsToTheEnd(t *testing.T) {
	m := New(Options{})
	defer m.Close()
	o, err := m.Start(t.Context(), counting(2501))
	require.NoError(t, err)
	<-o.Over()
	s := o.Status()
	require.Equal(t, Done, s.State)
	require.Equal(t, int64(1251), s.Done)
	require.Equal(t, int64(1250), s.Refused)
	require.Equal(t, int64(0), s.Left())
	require.Equal(t, []Reason{{Text: "is odd", Count: 1250, Sample: []string{"1", "3", "5"}}}, s.Reasons)
	require.Len(t, o.refusedFrom(0), 1250)
	require.Greater(t, s.Batches, int64(2))
	require.Equal(t, s.ID, m.List()[0].ID)
	require.Same(t, o, m.Get(s.ID))
	require.Nil(t, m.Get(99))
}

func TestCancelKeepsWhatIsDone(t *testing.T) {
	m := New(Options{})
	defer m.Close()
	stepped, goOn := make(chan struct{}), make(chan struct{})
	o, err := m.Start(t.Context(), Spec{
		Prepare: func(context.Context) (int64, error) { return 1000, nil },
		Step: func(_ context.Context, n int) (Batch, error) {
			stepped <- struct{}{}
			<-goOn
			return Batch{Done: int64(n)}, nil
		},
	})
	require.NoError(t, err)
	<-stepped
	o.Cancel()
	close(goOn)
	<-o.Over()
	s := o.Status()
	require.Equal(t, Cancelled, s.State)
	require.Equal(t, int64(firstBatch), s.Done)
	require.Equal(t, int64(1000-firstBatch), s.Left())
}

func TestCloseStopsAndSaysWhy(t *testing.T) {
	m := New(Options{})
	o, err := m.Start(t.Context(), Spec{
		Prepare: func(context.Context) (int64, error) { return 1, nil },
		Step:    func(ctx context.Context, _ int) (Batch, error) { <-ctx.Done(); return Batch{}, ctx.Err() },
	})
	require.NoError(t, err)
	m.Close()
	require.Equal(t, Interrupted, o.Status().State)
	require.Contains(t, o.Status().Error, "shut down")
	_, err = m.Start(t.Context(), counting(1))
	require.Error(t, err)
}

func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{})
		defer m.Close()
		tries := 0
		o, err := m.Start(t.Context(), Spec{
			Prepare: func(context.Context) (int64, error) { return 10, nil },
			Step: func(context.Context, int) (Batch, error) {
				if tries++; tries == 3 {
					return Batch{Done: 10, Last: true}, nil
				}
				return Batch{}, errors.New("READONLY")
			},
		})
		require.NoError(t, err)
		<-o.Over()
		require.Equal(t, Done, o.Status().State, "a batch that failed is tried again")

		o, err = m.Start(t.Context(), Spec{
			Prepare: func(context.Context) (int64, error) { return 10, nil },
			Step:    func(context.Context, int) (Batch, error) { return Batch{}, errors.New("READONLY") },
		})
		require.NoError(t, err)
		<-o.Over()
		require.Equal(t, Failed, o.Status().State)
		require.Equal(t, "READONLY", o.Status().Error)

		o, err = m.Start(t.Context(), Spec{Prepare: func(context.Context) (int64, error) { return 0, errors.New("down") }})
		require.NoError(t, err)
		<-o.Over()
		require.Equal(t, Failed, o.Status().State)
	})
}

func TestOnlySomeRunAtOnce(t *testing.T) {
	m := New(Options{})
	defer m.Close()
	running, release := make(chan struct{}), make(chan struct{})
	spec := Spec{
		Prepare: func(context.Context) (int64, error) { running <- struct{}{}; return 1, nil },
		Step:    func(context.Context, int) (Batch, error) { <-release; return Batch{Done: 1, Last: true}, nil },
	}
	for range atOnce {
		_, err := m.Start(t.Context(), spec)
		require.NoError(t, err)
		<-running
	}
	third, err := m.Start(t.Context(), spec)
	require.NoError(t, err)
	require.Equal(t, Queued, third.Status().State)
	close(release)
	<-running
	<-third.Over()
	require.Equal(t, Done, third.Status().State)
}

func TestOldOnesAreForgotten(t *testing.T) {
	m := New(Options{})
	defer m.Close()
	for range kept + 20 {
		o, err := m.Start(t.Context(), counting(1))
		require.NoError(t, err)
		<-o.Over()
	}
	require.LessOrEqual(t, len(m.List()), kept+1)
	require.Nil(t, m.Get(1))
}

func TestPaceJoinsSpans(t *testing.T) {
	now := time.Unix(0, 0)
	o := &Operation{clock: func() time.Time { return now }, reasons: map[string]*Reason{}}
	o.status = Status{Started: now, Every: time.Second}
	for range 150 {
		o.add(Batch{Done: 2}, time.Millisecond)
		now = now.Add(time.Second)
	}
	s := o.Status()
	require.Equal(t, 4*time.Second, s.Every)
	require.LessOrEqual(t, len(s.Pace), maxPace)
	sum := int64(0)
	for _, n := range s.Pace {
		sum += n
	}
	require.Equal(t, int64(300), sum)
	require.InDelta(t, 2, s.Rate(now), 0.1)
}

func TestBatchSizeFollowsTime(t *testing.T) {
	require.Equal(t, 200, next(100, time.Microsecond), "at most doubles")
	require.Equal(t, 50, next(100, time.Second), "at least halves")
	require.Equal(t, maxBatch, next(900, target/2))
	require.Equal(t, minBatch, next(minBatch, time.Second))
	require.Equal(t, 100, next(100, target))
}

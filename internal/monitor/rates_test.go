package monitor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCounter(t *testing.T) {
	t.Parallel()
	var c counter
	steps := []struct {
		source source
		raw    int64
		total  int64
		why    string
	}{
		{fromMetrics, 100, 0, "history before the first sight is not counted"},
		{fromMetrics, 130, 30, "growth"},
		{fromMetrics, 4, 34, "a reset: obliterated, then four more"},
		{fromEvents, 900, 34, "another source cannot be compared"},
		{fromEvents, 905, 39, "growth"},
		{fromSet, 50, 39, "another source again"},
		{fromSet, 20, 39, "a set shrinks when jobs are removed"},
		{fromSet, 26, 45, "growth from there"},
	}
	for _, s := range steps {
		c.observe(s.source, s.raw)
		require.Equal(t, s.total, c.total, s.why)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	var s samples
	var now sample
	step := func(d time.Duration, add, complete, fail, retry, backlog int64) Rates {
		now.at = now.at.Add(d)
		now.added += add
		now.started += complete + fail + retry
		now.completed += complete
		now.failed += fail
		now.retried += retry
		now.backlog = backlog
		now.active += 4
		now.reads++
		s.push(now)
		return s.rates(now)
	}
	now.at = noon
	require.False(t, step(0, 1000, 0, 0, 0, 500).Known)
	require.False(t, step(14*time.Second, 0, 0, 0, 0, 500).Known, "too little seen")

	r := step(time.Second, 30, 15, 0, 0, 515)
	require.True(t, r.Known)
	require.Equal(t, 15*time.Second, r.Window)
	require.InDelta(t, 2, r.Added, 1e-9)
	require.InDelta(t, 1, r.Completed, 1e-9)
	require.InDelta(t, 1, r.Growth, 1e-9)
	require.InDelta(t, 4, r.Active, 1e-9)

	for range 600 { // ten minutes of 5 completed, 2 retried, 1 failed a second
		r = step(time.Second, 8, 5, 1, 2, 515)
	}
	require.InDelta(t, 65, r.Window.Seconds(), 5, "about a minute, not all that was seen")
	require.InDelta(t, 8, r.Added, 1e-9)
	require.InDelta(t, 8, r.Started, 1e-9)
	require.InDelta(t, 1, r.Failed, 1e-9)
	require.InDelta(t, 2, r.Retried, 1e-9)
	require.InDelta(t, 0, r.Growth, 1e-9)
	require.InDelta(t, 0.375, r.FailingShare, 1e-9)
	require.InDelta(t, 2400, r.Attempts, 100, "five minutes")

	for range 300 {
		r = step(time.Second, 0, 8, 0, 0, 0)
	}
	require.InDelta(t, 0, r.FailingShare, 0.02, "what is five minutes ago no longer counts")
}

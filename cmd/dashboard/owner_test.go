package main

import (
	"flag"
	"log/slog"
	"os"
	"testing"

	"bullpen/internal/config"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

// TestStopAwaitsTheServing proves that nobody serves any more when stop returns, and that its end was looked at.
func TestStopAwaitsTheServing(t *testing.T) {
	t.Parallel()
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	flags := config.Register(set)
	require.NoError(t, set.Parse([]string{"-redis", "unix://" + testredis.Start(t).Socket, "-listen", "127.0.0.1:0"}))
	c, err := config.Load(flags, []string{"HOME=" + t.TempDir()})
	require.NoError(t, err)
	s, err := newServer(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, s.start(t.Context()))

	back, err := s.stop(make(chan os.Signal))
	require.NoError(t, err)
	require.Empty(t, back)
	select {
	case end, open := <-s.serving:
		require.False(t, open, "nobody took %v", end)
	default:
		t.Fatal("it still serves")
	}
}

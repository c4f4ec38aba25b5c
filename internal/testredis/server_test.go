package testredis_test

import (
	"os"
	"testing"
	"time"

	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServerKeepsDataOverKill(t *testing.T) {
	srv := testredis.Start(t)
	c := srv.Client(t)
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	first := srv.PID()
	srv.Kill()
	require.Error(t, c.Ping(t.Context()).Err())
	srv.Restart(t)
	require.NotEqual(t, first, srv.PID())
	require.Equal(t, "v", c.Get(t.Context(), "k").Val())
}

func TestPrefixesDiffer(t *testing.T) {
	srv := testredis.Start(t)
	require.NotEqual(t, srv.Prefix(), srv.Prefix())
}

func TestMissingBinaryNamesTheCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := testredis.Open()
	require.ErrorContains(t, err, "apt-get install -y redis-server")
}

type countingTests struct{ run func() int }

func (c countingTests) Run() int { return c.run() }

func TestMainGivesAServerAndEndsIt(t *testing.T) {
	var srv *testredis.Server
	var socket string
	code := testredis.Main(countingTests{func() int {
		socket = srv.Socket
		require.NoError(t, srv.Client(t).Ping(t.Context()).Err())
		return 3
	}}, &srv).Run()
	require.Equal(t, 3, code)
	_, err := os.Stat(socket)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestMemoryExpiresByTheClock(t *testing.T) {
	c := testredis.Memory(t)
	require.NoError(t, c.Set(t.Context(), "k", "v", time.Millisecond).Err())
	require.Eventually(t, func() bool { return c.Exists(t.Context(), "k").Val() == 0 }, 2*time.Second, time.Millisecond)
}

package scripts_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"bullpen/internal/engine/scripts"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestScriptsAreSentAgainAfterAFlush(t *testing.T) {
	srv := testredis.Start(t)
	s := spaceOn(t, srv.Client(t), "p")
	s.add(plainJob("a"))
	require.NoError(t, s.client.ScriptFlush(t.Context()).Err())
	s.add(plainJob("b"))
	require.Equal(t, "b a", s.dump()["q:wait"])
}

func TestLoadSparesTheSecondRoundTrip(t *testing.T) {
	srv := testredis.Start(t)
	s := spaceOn(t, srv.Client(t), "p")
	require.NoError(t, s.run.Load(t.Context()))
	var evals atomic.Int64
	s.client.AddHook(commandHook(func(cmd redis.Cmder) {
		if cmd.Name() == "eval" {
			evals.Add(1)
		}
	}))
	s.add(plainJob("a"))
	s.fetch(t0, taker(1))
	require.Zero(t, evals.Load())
}

// commandHook is told each command before it is sent.
type commandHook func(redis.Cmder)

func (h commandHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h commandHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h commandHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h(cmd)
		return next(ctx, cmd)
	}
}

// lossyConn breaks after a script was sent, when its reply is there but not read, as often as losses says.
type lossyConn struct {
	net.Conn
	losses, sent *atomic.Int64
	lost         atomic.Bool
}

func (c *lossyConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("evalsha")) {
		c.sent.Add(1)
		c.lost.Store(c.losses.Add(-1) >= 0)
	}
	return c.Conn.Write(p)
}

func (c *lossyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lost.Load() {
		return 0, io.EOF
	}
	return n, err
}

func TestWritesAreSentOnceAndReadsAgain(t *testing.T) {
	srv := testredis.Start(t)
	var losses, sent atomic.Int64
	o := srv.Options()
	o.MaxRetries, o.Protocol = 3, 2
	o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "unix", srv.Socket)
		return &lossyConn{Conn: c, losses: &losses, sent: &sent}, err
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	s := spaceOn(t, c, "p")
	require.NoError(t, s.run.Load(t.Context()))

	losses.Store(1)
	_, err := s.run.AddJobs(t.Context(), s.q, t0, []scripts.NewJob{plainJob("")})
	require.ErrorIs(t, err, io.EOF)
	require.ErrorContains(t, err, "script addJobs")
	require.EqualValues(t, 1, sent.Load())
	require.Equal(t, "1", s.client.Get(t.Context(), s.q.ID()).Val(), "it ran, and the caller knows that it may have")

	losses.Store(1)
	_, err = s.run.Counts(t.Context(), s.q)
	require.NoError(t, err)
	require.EqualValues(t, 3, sent.Load())
}

func TestServerErrorsAreErrorsNotCodes(t *testing.T) {
	srv := testredis.Start(t)
	s := spaceOn(t, srv.Client(t), "p")
	s.active("a")
	require.NoError(t, s.client.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
	_, _, err := s.run.Finish(t.Context(), s.q, t0, []scripts.FinishedJob{done("a")}, scripts.FinishOptions{})
	require.ErrorContains(t, err, "READONLY")
	require.NoError(t, s.client.ReplicaOf(t.Context(), "no", "one").Err())
	s.want(keyspace{"q:a": plain(), "q:a:lock": "tok~", "q:active": "a"})
}

// A full Redis takes no new jobs but lets the ones it has be finished, which frees memory.
func TestFullRedis(t *testing.T) {
	srv := testredis.Start(t)
	s := spaceOn(t, srv.Client(t), "p")
	s.active("a")
	require.NoError(t, s.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err := s.run.AddJobs(t.Context(), s.q, t0, []scripts.NewJob{plainJob("")})
	require.ErrorContains(t, err, "OOM")
	codes, _ := s.finish(scripts.FinishOptions{}, done("a"))
	require.Equal(t, ok(1), codes)
	require.Equal(t, "a="+after(0), s.dump()["q:completed"])
}

func TestContextEndsALoop(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.run.Drain(ctx, s.q, true), context.Canceled)
}

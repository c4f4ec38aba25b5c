package testredis

import (
	"context"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Memory returns a client of a fresh in-process store, reached without a socket, whose keys expire by the clock. Both
// are closed in the test's cleanup.
func Memory(t testing.TB) *redis.Client {
	t.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	c := redis.NewClient(&redis.Options{
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			c, err := m.Dial()
			if err != nil {
				return nil, err
			}
			return newQueuedConn(c), nil
		},
		Protocol: 2,
	})
	t.Cleanup(func() {
		_ = c.Close()
		m.Close()
	})
	return c
}

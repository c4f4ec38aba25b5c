package store

import (
	"context"
	"net"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// openMemory starts a store inside this process, reached without a socket, whose keys expire by the clock.
func openMemory() (*miniredis.Miniredis, target) {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	return m, target{mode: single, opts: redis.UniversalOptions{
		Dialer: func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
	}}
}

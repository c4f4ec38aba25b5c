package store

import (
	"context"
	"net"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// newCluster returns a Cluster client that runs each command at most once. A Cluster client follows redirects
// whatever the number of retries, and would take a lost reply for a reason to send the command again; so it is not
// told why a connection broke.
func newCluster(o *redis.ClusterOptions) *redis.ClusterClient {
	o.NewClient = func(node *redis.Options) *redis.Client {
		dial := node.Dialer
		if dial == nil {
			dial = redis.NewDialer(node)
		}
		node.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			if raw, ok := c.(syscall.Conn); ok { // lets the pool notice that the other side hung up
				return struct {
					once
					syscall.Conn
				}{once{c}, raw}, nil
			}
			return once{c}, nil
		}
		return redis.NewClient(node)
	}
	return redis.NewClusterClient(o)
}

// once is a connection whose failures do not invite to try again.
type once struct{ net.Conn }

func (c once) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, broken(err)
}

func (c once) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, broken(err)
}

// brokenError hides its cause: a command that was sent may have run.
type brokenError struct{ text string }

func (e brokenError) Error() string { return "connection broke, the command may have run: " + e.text }

func broken(err error) error {
	if err == nil {
		return nil
	}
	return brokenError{err.Error()}
}

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// proxy forwards to a server until cut is set: then the next reply is dropped together with its connection.
type proxy struct {
	cut   atomic.Bool
	port  int
	conns sync.WaitGroup
}

func startProxy(t *testing.T, target int) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{port: l.Addr().(*net.TCPAddr).Port}
	p.conns.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr(target))
			if err != nil {
				_ = client.Close()
				continue
			}
			p.conns.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
			p.conns.Go(func() { p.reply(client, server) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.conns.Wait()
	})
	return p
}

func (p *proxy) reply(client, server net.Conn) {
	defer func() { _ = client.Close() }()
	buf := make([]byte, 4096)
	for {
		n, err := server.Read(buf)
		if err != nil || p.cut.Swap(false) {
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestNoCommandRunsTwice loses the reply of a command that ran. The client must say so, and not run it again.
func TestNoCommandRunsTwice(t *testing.T) {
	t.Parallel()
	plain := freePort(t)
	server(t, nil, fmt.Sprint("port ", plain))
	node := freePort(t)
	single, clustered := startProxy(t, plain), startProxy(t, node)
	server(t, nil, fmt.Sprint("port ", node), "cluster-enabled yes", fmt.Sprint("cluster-port ", freePort(t)),
		"cluster-announce-ip 127.0.0.1", fmt.Sprint("cluster-announce-port ", clustered.port))
	require.NoError(t, direct(t, node).ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	direct(t, plain)

	for name, tt := range map[string]struct {
		proxy *proxy
		url   string
		real  int
	}{
		"single":  {single, "redis://" + addr(single.port), plain},
		"cluster": {clustered, "redis://" + addr(clustered.port) + "?cluster=true", node},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			s, err := Open(ctx, Options{URL: tt.url, Prefixes: []string{"{b}"}})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			eventually(t, "server answers", func() error {
				if err := s.Client().Get(ctx, "{b}:none").Err(); !errors.Is(err, redis.Nil) {
					return err
				}
				return nil
			})
			for what, run := range map[string]func(key string) error{
				"command": func(key string) error { return s.Client().Incr(ctx, key).Err() },
				"script": func(key string) error {
					return s.Client().Eval(ctx, `return redis.call("INCR", KEYS[1])`, []string{key}).Err()
				},
				"pipeline": func(key string) error { return pipelined(ctx, s.Client(), key) },
			} {
				require.NoError(t, run("{b}:warm"), "there is a connection")
				tt.proxy.cut.Store(true)
				require.Error(t, run("{b}:"+what), what)
				require.Equal(t, "1", direct(t, tt.real).Get(ctx, "{b}:"+what).Val(), what)
				require.NoError(t, run("{b}:after"), "the next command works")
			}
		})
	}
}

func pipelined(ctx context.Context, c redis.UniversalClient, key string) error {
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, key)
		return nil
	})
	return err
}

package engine

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
)

// proxy stands between a worker and Redis and breaks what goes through it.
type proxy struct {
	target string
	socket string
	wg     sync.WaitGroup
	listen net.Listener

	mu     sync.Mutex
	conns  map[net.Conn]bool
	match  []byte // the reply to the next command that contains this is lost
	hits   int
	frozen chan struct{} // not nil: nothing goes through until it is closed
	cut    bool          // connections are refused
}

func newProxy(t testing.TB, s *testredis.Server) *proxy {
	t.Helper()
	dir, err := os.MkdirTemp("", "proxy") // short, as paths of sockets must be
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: s.Socket, socket: filepath.Join(dir, "s"), conns: map[net.Conn]bool{}}
	if p.listen, err = net.Listen("unix", p.socket); err != nil {
		t.Fatal(err)
	}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		p.thaw()
		_ = p.listen.Close()
		p.kill()
		p.wg.Wait()
		_ = os.RemoveAll(dir)
	})
	return p
}

func (p *proxy) options() *redis.Options {
	return &redis.Options{Network: "unix", Addr: p.socket}
}

// client returns a client whose commands go through the proxy.
func (p *proxy) client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(p.options())
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// loseReply makes the next command that contains text run without its reply ever arriving.
func (p *proxy) loseReply(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match = []byte(text)
}

// lost is how many replies were lost.
func (p *proxy) lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits
}

// kill closes every connection.
func (p *proxy) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// sever closes every connection and refuses new ones until mend.
func (p *proxy) sever() {
	p.mu.Lock()
	p.cut = true
	p.mu.Unlock()
	p.kill()
}

func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
}

// freeze keeps connections open and lets nothing through, as a half-open connection does.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

func (p *proxy) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

func (p *proxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		cut := p.cut
		p.mu.Unlock()
		server, err := net.Dial("unix", p.target)
		if err != nil || cut {
			_ = client.Close()
			if err == nil {
				_ = server.Close()
			}
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		l := &link{proxy: p, client: client, server: server}
		p.wg.Go(l.requests)
		p.wg.Go(l.replies)
	}
}

// link is one connection through the proxy.
type link struct {
	proxy          *proxy
	client, server net.Conn
	mu             sync.Mutex
	doomed         bool // the next reply is lost, and the connection with it
}

func (l *link) close() {
	_, _ = l.client.Close(), l.server.Close()
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	delete(l.proxy.conns, l.client)
	delete(l.proxy.conns, l.server)
}

func (l *link) requests() {
	l.pump(l.server, l.client, func(chunk []byte) bool {
		p := l.proxy
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.match) > 0 && bytes.Contains(chunk, p.match) {
			p.match = nil
			p.hits++
			l.mu.Lock()
			l.doomed = true
			l.mu.Unlock()
		}
		return true
	})
}

func (l *link) replies() {
	l.pump(l.client, l.server, func([]byte) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return !l.doomed
	})
}

// pump copies from one side to the other while pass lets it.
func (l *link) pump(to, from net.Conn, pass func(chunk []byte) bool) {
	defer l.close()
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			l.proxy.mu.Lock()
			frozen := l.proxy.frozen
			l.proxy.mu.Unlock()
			if frozen != nil {
				<-frozen
			}
			if !pass(buf[:n]) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// proxy stands between clients and a Redis, and can be made to misbehave.
type proxy struct {
	listener net.Listener
	server   string // socket of the Redis
	path     string

	// drop makes so many replies vanish: the command has run, the connection is closed instead of answered.
	drop atomic.Int64
	// delay holds back every reply.
	delay atomic.Int64 // ns
	// stalled keeps connections open and carries nothing.
	stalled atomic.Bool
	// refuse, if not "", answers every command with this error.
	refuse atomic.Pointer[string]

	mu    sync.Mutex
	conns map[net.Conn]bool
	all   sync.WaitGroup
}

func startProxy(t testing.TB, server string) *proxy {
	t.Helper()
	dir, err := os.MkdirTemp("", "proxy")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: server, path: filepath.Join(dir, "s"), conns: map[net.Conn]bool{}}
	if p.listener, err = net.Listen("unix", p.path); err != nil {
		t.Fatal(err)
	}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.cut()
		p.all.Wait()
		_ = os.RemoveAll(dir)
	})
	return p
}

func (p *proxy) options() *redis.Options { return &redis.Options{Network: "unix", Addr: p.path} }

// cut closes every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := (&net.Dialer{}).DialContext(context.Background(), "unix", p.server)
		if err != nil {
			_ = client.Close() // as a Redis that is not there
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		p.all.Go(func() { p.forward(client, server) })
		p.all.Go(func() { p.answer(server, client) })
	}
}

func (p *proxy) end(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// forward carries commands.
func (p *proxy) forward(client, server net.Conn) {
	defer p.end(client, server)
	in := bufio.NewReader(client)
	for {
		text, words, err := readCommand(in)
		if err != nil {
			return
		}
		for p.stalled.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		if why := p.refuse.Load(); why != nil && *why != "" && !strings.EqualFold(words[0], "HELLO") {
			_, err = io.WriteString(client, "-"+*why+"\r\n")
		} else {
			_, err = io.WriteString(server, text)
		}
		if err != nil {
			return
		}
	}
}

// answer carries replies.
func (p *proxy) answer(server, client net.Conn) {
	defer p.end(client, server)
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if p.drop.Load() > 0 && p.drop.Add(-1) >= 0 {
			return
		}
		time.Sleep(time.Duration(p.delay.Load()))
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

var errProtocol = errors.New("not a command")

// readCommand reads one command as clients send them: an array of texts.
func readCommand(in *bufio.Reader) (text string, words []string, err error) {
	var b strings.Builder
	line := func(kind byte) (int, error) {
		l, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		b.WriteString(l)
		if l[0] != kind {
			return 0, fmt.Errorf("%w: %q", errProtocol, l)
		}
		return strconv.Atoi(strings.TrimSpace(l[1:]))
	}
	count, err := line('*')
	if err != nil {
		return "", nil, err
	}
	for range count {
		size, err := line('$')
		if err != nil {
			return "", nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(in, word); err != nil {
			return "", nil, err
		}
		b.Write(word)
		words = append(words, string(word[:size]))
	}
	return b.String(), words, nil
}

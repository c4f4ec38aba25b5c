package store

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Kind is what holds the data.
type Kind string

// The kinds of stores.
const (
	KindServer Kind = "server" // a configured Redis
	KindChild  Kind = "child"  // a private redis-server or valkey-server
	KindMemory Kind = "memory" // inside this process
)

// Store is an open store. Close ends it.
type Store struct {
	kind     Kind
	target   target
	maxBlock time.Duration
	client   redis.UniversalClient
	banner   string
	dir      string // KindChild: where the data is

	child  *child               // KindChild, unless attached
	memory *miniredis.Miniredis // KindMemory only

	closeOnce sync.Once
	closeErr  error
}

// probeTimeout bounds the questions that Open asks a configured server.
const probeTimeout = 3 * time.Second

// Open opens what o names. A configured server that does not answer yet is no error, so that both may start in any
// order; one that refuses us (password, permission, Cluster against single) is. ctx bounds the opening only.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	t, wrong := o.target()
	if len(wrong) > 0 {
		return nil, joined(wrong)
	}
	s := &Store{kind: KindServer, target: t, maxBlock: o.MaxBlock}
	if t.mode == none {
		if err := s.openFallback(ctx, o); err != nil {
			return nil, err
		}
	}
	s.client = s.target.client(func(o *redis.UniversalOptions) { o.ContextTimeoutEnabled = true })
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	banner, err := s.probe(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.banner = banner
	return s, nil
}

// openFallback starts a private server or the store in this process.
func (s *Store) openFallback(ctx context.Context, o Options) error {
	binary, err := findServer()
	if o.Fallback == Memory || (o.Fallback == Auto && err != nil) {
		s.kind = KindMemory
		s.memory, s.target = openMemory()
		return nil
	}
	if err != nil {
		return err
	}
	if o.DataDir == "" {
		return errors.New("a private store needs a data directory")
	}
	s.kind, s.dir = KindChild, o.DataDir
	s.child, err = startChild(ctx, binary, o.DataDir, o.Logger)
	var inUse *inUseError
	switch {
	case err == nil:
		s.target, err = parseURL(socketURL(s.child.socket))
	case o.Attach && errors.As(err, &inUse) && inUse.socket != "":
		s.target, err = parseURL(socketURL(inUse.socket))
	}
	return err
}

// findServer looks for a server that can be a private child.
func findServer() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither redis-server nor valkey-server is on PATH; install one (apt-get install redis-server)")
}

// Client returns the client for everything that does not block. It is shared, and closed by Close.
func (s *Store) Client() redis.UniversalClient { return s.client }

// Blocking returns a client with a connection of its own, of the given name, for blocking reads of up to
// Options.MaxBlock. It does not obey contexts: closing it ends a read. The caller closes it.
func (s *Store) Blocking(name string) redis.UniversalClient {
	return s.target.client(func(o *redis.UniversalOptions) {
		o.ClientName = name
		o.PoolSize = 1
		o.ReadTimeout = s.maxBlock + 5*time.Second
		o.WriteTimeout = 5 * time.Second
	})
}

// Kind says what holds the data.
func (s *Store) Kind() Kind { return s.kind }

// Cluster reports whether the store is a Cluster, where keys that are used together need a common hash tag.
func (s *Store) Cluster() bool { return s.target.mode == cluster }

// Describe is the part of the start-up line that says which store is used and what survives a restart.
func (s *Store) Describe() string { return s.banner }

// Err says why our private server is down; nil when it runs, and for the other kinds.
func (s *Store) Err() error {
	if s.child == nil {
		return nil
	}
	return s.child.err()
}

// Close closes the client and ends a private server, whose data is written first. It may be called again.
func (s *Store) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.close() })
	return s.closeErr
}

func (s *Store) close() error {
	var err error
	if s.client != nil {
		if err = s.client.Close(); err != nil {
			err = fmt.Errorf("close redis client: %w", err)
		}
	}
	if s.memory != nil {
		s.memory.Close()
	}
	if s.child != nil {
		err = errors.Join(err, s.child.close())
	}
	return err
}

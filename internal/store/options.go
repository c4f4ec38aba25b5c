package store

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
)

// Options say what Open opens.
type Options struct {
	// URL names a server: redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://. Empty: see Addrs.
	URL string
	// Addrs ("host:port") are nodes of a Cluster, or Sentinels when MasterName is set. With neither URL nor Addrs,
	// Fallback decides.
	Addrs      []string
	MasterName string
	// Username and Password, if given, beat those in the URL.
	Username, Password string
	// TLS, if not nil, is used whatever the URL's scheme.
	TLS *TLS
	// Prefixes are the key prefixes in use; a Cluster needs a hash tag in each.
	Prefixes []string
	// Fallback is what to use when no server is named; default Auto.
	Fallback Fallback
	// DataDir is where a private server keeps its data. Required unless a server is named or Fallback is Memory.
	DataDir string
	// Attach, when another Bullpen has DataDir, connects to its private server instead of giving up. For commands that
	// work beside a running server.
	Attach bool
	// MaxBlock is the longest time a blocking read of a client from Blocking may wait; default 10 s.
	MaxBlock time.Duration
	// Logger gets what the private server says and when it goes down; default none.
	Logger *slog.Logger
}

// Fallback says what to use when no server is named.
type Fallback string

// The fallbacks.
const (
	// Auto is Child where redis-server or valkey-server is on PATH, else Memory.
	Auto   Fallback = "auto"
	Child  Fallback = "child"
	Memory Fallback = "memory"
)

// TLS names the files of a TLS connection.
type TLS struct {
	// CA, Cert and Key are PEM files; without CA the system's roots are trusted.
	CA, Cert, Key string
	// ServerName is the name the server's certificate must carry; default the host that was dialled.
	ServerName string
	// SkipVerify accepts any certificate.
	SkipVerify bool
}

// ErrNoHashTag is the reason a Cluster is refused without a hash tag in the prefix.
var ErrNoHashTag = errors.New("a Cluster needs a hash tag in the key prefix, such as {bull}, " +
	"because scripts touch several queues at once (flows, dead letters) and all their keys must be on one node")

// OptionError is what is wrong with one option: "url", "tls.ca", "tls.cert" or "prefixes".
type OptionError struct {
	Option string
	// Err does not repeat what may be secret.
	Err error
}

func (e *OptionError) Error() string { return "redis " + e.Option + ": " + e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

func joined(wrong []*OptionError) error {
	var errs []error
	for _, w := range wrong {
		errs = append(errs, w)
	}
	return errors.Join(errs...)
}

// Problems are the options that cannot work, as far as that can be told without the network.
func (o Options) Problems() []*OptionError {
	_, wrong := o.target()
	return wrong
}

func (o Options) withDefaults() Options {
	if o.Fallback == "" {
		o.Fallback = Auto
	}
	if o.MaxBlock == 0 {
		o.MaxBlock = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = o.Logger.With("component", "store")
	return o
}

func hasHashTag(prefix string) bool {
	_, after, open := strings.Cut(prefix, "{")
	tag, _, closed := strings.Cut(after, "}")
	return open && closed && tag != ""
}

// config loads the files.
func (t TLS) config() (_ *tls.Config, wrong []*OptionError) {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: t.ServerName,
		// Only when the user asked for it in so many words.
		InsecureSkipVerify: t.SkipVerify,
	}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		pem, err := os.ReadFile(t.CA)
		if err == nil && !c.RootCAs.AppendCertsFromPEM(pem) {
			err = fmt.Errorf("%s has no certificate in PEM form", t.CA)
		}
		if err != nil {
			wrong = append(wrong, &OptionError{"tls.ca", err})
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			wrong = append(wrong, &OptionError{"tls.cert", err})
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, wrong
}

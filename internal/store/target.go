package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// mode is how a configured server is reached.
type mode int

const (
	none mode = iota // no server is named
	single
	sentinel
	cluster
)

// target is a server as the options name it.
type target struct {
	mode mode
	opts redis.UniversalOptions
	// name is for people: without credentials.
	name string
}

// connections is how many connections to one server the shared client opens at most. With one more for the event streams
// that keeps the promise of eight, with one to spare while a connection is being replaced. Work that needs more
// waits for its turn: Redis does one thing at a time anyway.
const connections = 6

// turnTimeout is how long a command may wait for a connection, unless its context ends earlier. It is long because
// waiting is all that a slow server asks for.
const turnTimeout = 10 * time.Second

// client connects to the target; adjust may change the options first.
func (t target) client(adjust func(*redis.UniversalOptions)) redis.UniversalClient {
	o := t.opts
	o.MaxRetries = -1
	o.DialerRetries = 1 // callers back off themselves
	o.Protocol = 2      // replies of one shape, whatever the server
	o.DisableIdentity = true
	o.PoolSize, o.PipelinePoolSize, o.PoolTimeout = connections, -1, turnTimeout
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if adjust != nil {
		adjust(&o)
	}
	switch t.mode {
	case sentinel:
		return redis.NewFailoverClient(o.Failover())
	case cluster:
		return newCluster(o.Cluster())
	default:
		return redis.NewClient(o.Simple())
	}
}

// target works out what the options name.
func (o Options) target() (t target, wrong []*OptionError) {
	t, err := o.named()
	if err != nil {
		wrong = append(wrong, &OptionError{"url", err})
	} else if t.mode == none {
		return t, nil
	}
	if o.Username != "" {
		t.opts.Username = o.Username
	}
	if o.Password != "" {
		t.opts.Password = o.Password
	}
	if o.TLS != nil {
		config, bad := o.TLS.config()
		t.opts.TLSConfig, wrong = config, append(wrong, bad...)
	}
	untagged := func(prefix string) bool { return !hasHashTag(prefix) }
	if i := slices.IndexFunc(o.Prefixes, untagged); t.mode == cluster && i >= 0 {
		wrong = append(wrong, &OptionError{"prefixes", fmt.Errorf("prefix %q: %w", o.Prefixes[i], ErrNoHashTag)})
	}
	return t, wrong
}

func (o Options) named() (target, error) {
	switch {
	case o.URL != "":
		return parseURL(o.URL)
	case len(o.Addrs) == 0:
		return target{}, nil
	case o.MasterName != "":
		t := target{mode: sentinel, opts: redis.UniversalOptions{Addrs: o.Addrs, MasterName: o.MasterName}}
		t.name = "redis+sentinel://" + strings.Join(o.Addrs, ",") + "/" + o.MasterName
		return t, nil
	default:
		t := target{mode: cluster, opts: redis.UniversalOptions{Addrs: o.Addrs}}
		t.name = "Cluster " + strings.Join(o.Addrs, ",")
		return t, nil
	}
}

// parseURL reads the address of a server. The query may have db, addr (more nodes or Sentinels), master_name, cluster,
// skip_verify, sentinel_username and sentinel_password. No error repeats a part of it: with a character that should be
// escaped a piece of the password can be in any of them.
func parseURL(raw string) (target, error) {
	if !strings.Contains(raw, "://") {
		return target{}, errors.New("needs a scheme, such as redis://127.0.0.1:6379")
	}
	// net/url refuses a list of hosts with ports, so the list is taken out first.
	raw, more := splitHosts(raw)
	u, err := url.Parse(raw)
	if err != nil || u.Fragment != "" || (u.Scheme != "unix" && strings.Contains(u.EscapedPath(), "@")) {
		return target{}, errMalformed
	}
	t := target{mode: single, name: nameOf(u, more)}
	t.opts.Username = u.User.Username()
	t.opts.Password, _ = u.User.Password()
	scheme, viaSentinel := strings.CutSuffix(u.Scheme, "+sentinel")
	switch {
	case u.Scheme == "unix":
		err = t.unix(u)
	case scheme == "redis" || scheme == "rediss":
		err = t.tcp(u, more, viaSentinel)
	default:
		err = errors.New("must begin with redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://")
	}
	if err == nil {
		err = t.query(u.Query())
	}
	if err != nil {
		return target{}, err
	}
	return t, nil
}

// errMalformed is of an address whose parts cannot be told apart.
var errMalformed = errors.New("is not a valid address, such as redis://user:password@host:6379/0; " +
	"in user and password write / ? # @ : and % as %2F %3F %23 %40 %3A and %25")

// socketURL is the address of a socket, whatever characters its path has.
func socketURL(path string) string { return (&url.URL{Scheme: "unix", Path: path}).String() }

// splitHosts takes all hosts but the first out of "scheme://user@h1:1,h2:2/path".
func splitHosts(raw string) (rest string, more []string) {
	start := strings.Index(raw, "://") + len("://")
	end := len(raw)
	if i := strings.IndexAny(raw[start:], "/?"); i >= 0 {
		end = start + i
	}
	if i := strings.LastIndexByte(raw[start:end], '@'); i >= 0 {
		start += i + 1
	}
	hosts := strings.Split(raw[start:end], ",")
	return raw[:start] + hosts[0] + raw[end:], hosts[1:]
}

func nameOf(u *url.URL, more []string) string {
	clean := url.URL{Scheme: u.Scheme, Host: strings.Join(append([]string{u.Host}, more...), ","), Path: u.Path}
	return clean.String()
}

func (t *target) unix(u *url.URL) error {
	if u.Path == "" || u.Host != "" {
		return errors.New("needs an absolute path, as in unix:///run/redis.sock")
	}
	t.opts.Addrs = []string{u.Path}
	t.opts.Dialer = func(ctx context.Context, _, path string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return nil
}

func (t *target) tcp(u *url.URL, more []string, viaSentinel bool) error {
	port := "6379"
	if viaSentinel {
		port = "26379"
	}
	for _, host := range append([]string{u.Host}, more...) {
		t.opts.Addrs = append(t.opts.Addrs, withPort(host, port))
	}
	if strings.HasPrefix(u.Scheme, "rediss") {
		t.opts.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	path := strings.Trim(u.Path, "/")
	if viaSentinel {
		t.mode = sentinel
		if t.opts.MasterName, path, _ = strings.Cut(path, "/"); t.opts.MasterName == "" {
			return errors.New("needs the master's name, as in redis+sentinel://host:26379/mymaster")
		}
	} else if len(more) > 0 {
		t.mode = cluster
	}
	return t.database(path)
}

// withPort adds the missing parts of host:port.
func withPort(host, port string) string {
	h, p, err := net.SplitHostPort(host)
	if err != nil {
		h, p = strings.Trim(host, "[]"), port
	}
	if h == "" {
		h = "127.0.0.1"
	}
	if p == "" {
		p = port
	}
	return net.JoinHostPort(h, p)
}

func (t *target) database(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return errors.New("needs a database number after the host or in db, as in redis://127.0.0.1:6379/0")
	}
	t.opts.DB = n
	return nil
}

func (t *target) query(q url.Values) error {
	for key, values := range q {
		last := values[len(values)-1]
		var err error
		switch key {
		case "db":
			err = t.database(last)
		case "addr":
			if strings.Contains(strings.Join(values, ""), "@") {
				return errors.New("needs host:port in addr; user and password go before the first host")
			}
			t.opts.Addrs = append(t.opts.Addrs, values...)
		case "master_name":
			t.opts.MasterName = last
		case "sentinel_username":
			t.opts.SentinelUsername = last
		case "sentinel_password":
			t.opts.SentinelPassword = last
		case "cluster", "skip_verify":
			err = t.toggle(key, last)
		default:
			err = errors.New("has an unknown option in the query; there are db, addr, master_name, cluster, skip_verify, " +
				"sentinel_username and sentinel_password")
		}
		if err != nil {
			return err
		}
	}
	switch {
	case t.opts.MasterName != "":
		t.mode = sentinel
	case len(t.opts.Addrs) > 1:
		t.mode = cluster
	}
	if t.mode == cluster && t.opts.DB != 0 {
		return errors.New("a Cluster has database 0 only")
	}
	return nil
}

func (t *target) toggle(key, value string) error {
	on, err := strconv.ParseBool(value)
	switch {
	case err != nil:
		return fmt.Errorf("needs true or false in %s", key)
	case on && key == "cluster":
		t.mode = cluster
	case on && t.opts.TLSConfig == nil:
		return errors.New("skip_verify goes with rediss")
	case on:
		t.opts.TLSConfig.InsecureSkipVerify = true
	}
	return nil
}

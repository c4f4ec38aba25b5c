package store

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSocket(t *testing.T) {
	t.Parallel()
	s := open(t, Options{URL: "unix://" + shared.Socket + "?db=3"})
	requireUsable(t, s, "socket")
	require.Equal(t, KindServer, s.Kind())
	require.NoError(t, s.Err())
	require.Regexp(t, `^Redis \d+\.\d+\.\d+ at unix:///.*: append-only file on, jobs survive its restart$`, s.Describe())
	require.Equal(t, int64(0), shared.Client(t).Exists(t.Context(), "socket").Val(), "another database")
}

func TestSingle(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	server(t, nil, fmt.Sprint("port ", port), "requirepass s3cret")
	url := "redis://:s3cret@" + addr(port)
	var s *Store
	eventually(t, "open", func() (err error) {
		if s, err = Open(t.Context(), Options{URL: url}); err != nil {
			return err
		}
		if strings.Contains(s.Describe(), "does not answer yet") {
			return errors.Join(errors.New(s.Describe()), s.Close())
		}
		return nil
	})
	defer func() { require.NoError(t, s.Close()) }()
	requireUsable(t, s, "k")
	require.Regexp(t, `^Redis [\d.]+ at redis://[\d.:]+: no persistence, nothing survives its restart$`, s.Describe())
	require.NotContains(t, s.Describe(), "s3cret")

	_, err := Open(t.Context(), Options{URL: url, Password: "wrong"})
	require.ErrorContains(t, err, "refuses: WRONGPASS")
	_, err = Open(t.Context(), Options{URL: "redis://" + addr(port)})
	require.ErrorContains(t, err, "refuses: NOAUTH")
	_, err = Open(t.Context(), Options{URL: url + "/99"})
	require.ErrorContains(t, err, "refuses: ERR DB index is out of range")
	_, err = Open(t.Context(), Options{URL: url + "?cluster=true", Prefixes: []string{"{b}"}})
	require.ErrorContains(t, err, "it is not a Cluster")

	require.NoError(t, s.Client().ConfigSet(t.Context(), "save", "60 1").Err())
	require.NoError(t, s.Client().Do(t.Context(), "ACL", "SETUSER", "few", "on", ">x", "~*", "+@all", "-info", "-config", "-ping").Err())
	snapshots := open(t, Options{URL: url})
	require.Contains(t, snapshots.Describe(), "snapshots only")
	restricted := open(t, Options{URL: url, Username: "few", Password: "x"})
	require.Contains(t, restricted.Describe(), "NOPERM")
	requireUsable(t, restricted, "few")
}

func TestServerThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	s := open(t, Options{URL: "redis://" + addr(port)})
	require.Contains(t, s.Describe(), "which does not answer yet")
	require.Contains(t, s.Describe(), "connection refused")
	server(t, nil, fmt.Sprint("port ", port))
	eventually(t, "ping", func() error { return s.Client().Ping(t.Context()).Err() })
	requireUsable(t, s, "k")
}

func TestBlockingClients(t *testing.T) {
	t.Parallel()
	s := open(t, Options{URL: "unix://" + shared.Socket})
	a, b := s.Blocking("bull:cQ==:w:one"), s.Blocking("bull:cQ==:w:two")
	defer func() { require.NoError(t, b.Close()) }()
	require.NoError(t, b.Ping(t.Context()).Err())
	wait := make(chan error, 1)
	go func() { wait <- a.BZPopMin(context.Background(), 9*time.Second, "blocking:none").Err() }()
	eventually(t, "both are named", func() error {
		list := s.Client().ClientList(t.Context()).Val()
		if !strings.Contains(list, "name=bull:cQ==:w:one ") || !strings.Contains(list, "name=bull:cQ==:w:two ") {
			return errors.New(list)
		}
		return nil
	})
	require.NoError(t, a.Close())
	select {
	case err := <-wait:
		require.Error(t, err, "closing the client ends its read")
	case <-time.After(5 * time.Second):
		t.Fatal("the read goes on after the client was closed")
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Fallback: Memory})
	require.Equal(t, KindMemory, s.Kind())
	require.Contains(t, s.Describe(), "nothing survives a restart")
	requireUsable(t, s, "k")
	require.NoError(t, s.Client().Set(t.Context(), "short", "v", time.Millisecond).Err())
	eventually(t, "expires by the clock", func() error {
		if s.Client().Exists(t.Context(), "short").Val() != 0 {
			return errors.New("still there")
		}
		return nil
	})
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	master, watcher := freePort(t), freePort(t)
	server(t, nil, fmt.Sprint("port ", master))
	server(t, []string{"--sentinel"}, fmt.Sprint("port ", watcher), fmt.Sprintf("sentinel monitor main 127.0.0.1 %d 1", master))
	direct(t, master)
	direct(t, watcher)
	for name, o := range map[string]Options{
		"addrs": {Addrs: []string{addr(watcher)}, MasterName: "main"},
		"url":   {URL: "redis+sentinel://" + addr(watcher) + "/main/1"},
	} {
		s := open(t, o)
		requireUsable(t, s, "k")
		require.Contains(t, s.Describe(), fmt.Sprintf("at redis+sentinel://%s/main", addr(watcher)), name)
	}
}

// TestFailover kills the master: the same store goes on with the replica that the Sentinel promotes.
func TestFailover(t *testing.T) {
	t.Parallel()
	first, second, watcher := freePort(t), freePort(t), freePort(t)
	killed := server(t, nil, fmt.Sprint("port ", first))
	server(t, nil, fmt.Sprint("port ", second), "repl-diskless-sync-delay 0", fmt.Sprintf("replicaof 127.0.0.1 %d", first))
	direct(t, first)
	replica := direct(t, second)
	eventually(t, "replica follows", func() error {
		if info := replica.Info(t.Context(), "replication").Val(); !strings.Contains(info, "master_link_status:up") {
			return errors.New(info)
		}
		return nil
	})
	server(t, []string{"--sentinel"}, fmt.Sprint("port ", watcher), fmt.Sprintf("sentinel monitor main 127.0.0.1 %d 1", first),
		"sentinel down-after-milliseconds main 500", "sentinel failover-timeout main 2000")
	sentinel := direct(t, watcher)
	eventually(t, "sentinel knows the replica", func() error {
		if info := sentinel.Info(t.Context(), "sentinel").Val(); !strings.Contains(info, "slaves=1") {
			return errors.New(info)
		}
		return nil
	})
	s := open(t, Options{Addrs: []string{addr(watcher)}, MasterName: "main"})
	require.NoError(t, s.Client().Set(t.Context(), "before", "v", 0).Err())
	require.NoError(t, killed.Kill())
	eventually(t, "writes go to the new master", func() error { return s.Client().Set(t.Context(), "after", "v", 0).Err() })
	require.Equal(t, "v", replica.Get(t.Context(), "after").Val())
	requireUsable(t, s, "k")
}

func TestCluster(t *testing.T) {
	t.Parallel()
	ports := clusterOf(t, 3)
	addrs := []string{addr(ports[0]), addr(ports[1])}
	s := open(t, Options{Addrs: addrs, Prefixes: []string{"{bull}"}})
	for i := range 20 {
		requireUsable(t, s, fmt.Sprintf("{k%d}", i)) // spread over all nodes
	}
	require.Contains(t, s.Describe(), "at Cluster "+addrs[0])

	one := open(t, Options{URL: "redis://" + addrs[0] + "?cluster=true", Prefixes: []string{"{bull}"}})
	requireUsable(t, one, "{bull}:x")

	_, err := Open(t.Context(), Options{Addrs: addrs, Prefixes: []string{"bull"}})
	require.ErrorIs(t, err, ErrNoHashTag)
	_, err = Open(t.Context(), Options{URL: "redis://" + addrs[0], Prefixes: []string{"{bull}"}})
	require.ErrorContains(t, err, "is a node of a Cluster")
}

// clusterOf starts a Cluster of n masters and waits until it is whole.
func clusterOf(t *testing.T, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		// The nodes' own protocol listens on another port, by default 10000 higher, which may not exist.
		ports[i] = freePort(t)
		server(t, nil, fmt.Sprint("port ", ports[i]), "cluster-enabled yes", fmt.Sprint("cluster-port ", freePort(t)),
			"cluster-node-timeout 2000")
	}
	ctx := t.Context()
	for i, port := range ports {
		c := direct(t, port)
		require.NoError(t, c.ClusterAddSlotsRange(ctx, i*16384/n, (i+1)*16384/n-1).Err())
		bus := direct(t, ports[0]).ConfigGet(ctx, "cluster-port").Val()["cluster-port"]
		require.NoError(t, c.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", ports[0], bus).Err())
	}
	for _, port := range ports {
		c := direct(t, port)
		eventually(t, "cluster is whole", func() error {
			info := c.ClusterInfo(ctx).Val()
			if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", n)) {
				return errors.New(info)
			}
			return nil
		})
	}
	return ports
}

func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := selfSigned(t, dir)
	port := freePort(t)
	server(t, nil, "port 0", fmt.Sprint("tls-port ", port), "tls-cert-file "+filepath.Join(dir, "cert.pem"),
		"tls-key-file "+filepath.Join(dir, "key.pem"), "tls-ca-cert-file "+ca)
	eventually(t, "listens", func() error {
		c, err := net.Dial("tcp", addr(port))
		if err == nil {
			_ = c.Close()
		}
		return err
	})
	pair := TLS{CA: ca, Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	s := open(t, Options{URL: "rediss://" + addr(port), TLS: &pair})
	requireUsable(t, s, "k")
	require.Contains(t, s.Describe(), "Redis 7")

	skip := pair
	skip.CA, skip.SkipVerify = "", true
	requireUsable(t, open(t, Options{URL: "redis://" + addr(port), TLS: &skip}), "k")

	unknown := pair
	unknown.CA = ""
	distrusting := open(t, Options{URL: "rediss://" + addr(port), TLS: &unknown})
	require.Contains(t, distrusting.Describe(), "certificate")
	require.ErrorContains(t, distrusting.Client().Ping(t.Context()).Err(), "certificate")

	named := pair
	named.ServerName = "other.example"
	require.ErrorContains(t, open(t, Options{URL: "rediss://" + addr(port), TLS: &named}).Client().Ping(t.Context()).Err(), "other.example")
}

// selfSigned writes cert.pem and key.pem for 127.0.0.1 into dir and returns the authority to trust: the certificate.
func selfSigned(t *testing.T, dir string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	encoded, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	cert := filepath.Join(dir, "cert.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}), 0o600))
	return cert
}

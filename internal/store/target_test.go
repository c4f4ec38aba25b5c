package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		o    Options
		want mode
		text string
		// what the client is told
		addrs              []string
		db                 int
		user, pass, master string
		tls                bool
	}{
		{name: "nothing", want: none},
		{
			name: "plain", o: Options{URL: "redis://127.0.0.1"}, want: single,
			text: "redis://127.0.0.1", addrs: []string{"127.0.0.1:6379"},
		},
		{
			name: "all parts", o: Options{URL: "redis://ada:p%40ss@h:1/3"}, want: single,
			text: "redis://h:1/3", addrs: []string{"h:1"}, db: 3, user: "ada", pass: "p@ss",
		},
		{
			name: "options beat the URL", o: Options{URL: "redis://ada:x@h", Username: "bob", Password: "y"}, want: single,
			text: "redis://h", addrs: []string{"h:6379"}, user: "bob", pass: "y",
		},
		{
			name: "password alone", o: Options{URL: "redis://:x@[::1]:7"}, want: single,
			text: "redis://[::1]:7", addrs: []string{"[::1]:7"}, pass: "x",
		},
		{
			name: "database in the query", o: Options{URL: "redis://h?db=4"}, want: single,
			text: "redis://h", addrs: []string{"h:6379"}, db: 4,
		},
		{
			name: "tls", o: Options{URL: "rediss://h?skip_verify=true"}, want: single,
			text: "rediss://h", addrs: []string{"h:6379"}, tls: true,
		},
		{
			name: "tls by option", o: Options{URL: "redis://h", TLS: &TLS{ServerName: "x"}}, want: single,
			text: "redis://h", addrs: []string{"h:6379"}, tls: true,
		},
		{
			name: "socket", o: Options{URL: "unix:///run/r.sock?db=1"}, want: single,
			text: "unix:///run/r.sock", addrs: []string{"/run/r.sock"}, db: 1,
		},
		{
			name: "sentinel URL", o: Options{URL: "redis+sentinel://u:p@a:1,b/main/2"}, want: sentinel,
			text: "redis+sentinel://a:1,b/main/2", addrs: []string{"a:1", "b:26379"}, db: 2, user: "u", pass: "p", master: "main",
		},
		{
			name: "sentinel by query", o: Options{URL: "rediss://a:1/2?master_name=main&addr=b:2"}, want: sentinel,
			text: "rediss://a:1/2", addrs: []string{"a:1", "b:2"}, db: 2, master: "main", tls: true,
		},
		{
			name: "sentinel by addresses", o: Options{Addrs: []string{"a:1", "b:1"}, MasterName: "main"}, want: sentinel,
			text: "redis+sentinel://a:1,b:1/main", addrs: []string{"a:1", "b:1"}, master: "main",
		},
		{
			name: "cluster by addresses", o: Options{Addrs: []string{"a:1"}, Prefixes: []string{"{bull}"}}, want: cluster,
			text: "Cluster a:1", addrs: []string{"a:1"},
		},
		{
			name: "cluster by query", o: Options{URL: "redis://h?cluster=true", Prefixes: []string{"x{a}y"}}, want: cluster,
			text: "redis://h", addrs: []string{"h:6379"},
		},
		{
			name: "cluster by hosts", o: Options{URL: "redis://u:p@h:1,i:2", Prefixes: []string{"{a}"}}, want: cluster,
			text: "redis://h:1,i:2", addrs: []string{"h:1", "i:2"}, user: "u", pass: "p",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, wrong := tt.o.target()
			require.Empty(t, wrong)
			require.Equal(t, tt.want, got.mode)
			require.Equal(t, tt.text, got.name)
			require.Equal(t, tt.addrs, got.opts.Addrs)
			require.Equal(t, tt.db, got.opts.DB)
			require.Equal(t, tt.user, got.opts.Username)
			require.Equal(t, tt.pass, got.opts.Password)
			require.Equal(t, tt.master, got.opts.MasterName)
			require.Equal(t, tt.tls, got.opts.TLSConfig != nil)
		})
	}
}

func TestTargetsRefused(t *testing.T) {
	t.Parallel()
	const (
		scheme   = "redis url: must begin with redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://"
		database = "redis url: needs a database number after the host or in db, as in redis://127.0.0.1:6379/0"
		option   = "redis url: has an unknown option in the query; there are db, addr, master_name, cluster, skip_verify, sentinel_username and sentinel_password"
		bare     = "redis url: needs a scheme, such as redis://127.0.0.1:6379"
	)
	malformed := "redis url: " + errMalformed.Error()
	for url, want := range map[string]string{
		"http://u:secret@h":                   scheme,
		"secret://h":                          scheme,
		"redis://u:secret@h:port":             malformed,
		"redis://u:secret/more@h":             malformed,
		"redis://u:12/secret@h":               malformed,
		"redis://u:12#secret@h":               malformed,
		"redis://u:12?secret@h":               option,
		"redis+sentinel://u:12/secret@h":      malformed,
		"redis+sentinel://h/main/secret":      database,
		"redis://u:%secret@h":                 malformed,
		"redis:///secret":                     database,
		"redis://h?db=secret":                 database,
		"redis://h?addr=u:secret@i:1":         "redis url: needs host:port in addr; user and password go before the first host",
		"redis://h?skip_verify=secret":        "redis url: needs true or false in skip_verify",
		"redis//:secret@h":                    bare,
		"u:secret@h":                          bare,
		"127.0.0.1:6379":                      bare,
		"x":                                   bare,
		"redis://h/x":                         database,
		"redis://h?db=-1":                     database,
		"unix://run/r.sock":                   "redis url: needs an absolute path, as in unix:///run/redis.sock",
		"redis+sentinel://h":                  "redis url: needs the master's name, as in redis+sentinel://host:26379/mymaster",
		"redis://h?pool=1":                    option,
		"redis://h?skip_verify=1":             "redis url: skip_verify goes with rediss",
		"redis://h/2?cluster=true":            "redis url: a Cluster has database 0 only",
		"redis://h:1,h:2":                     `redis prefixes: prefix "bull": ` + ErrNoHashTag.Error(),
		"redis://h:1?cluster=true&addr=x&db=": `redis prefixes: prefix "bull": ` + ErrNoHashTag.Error(),
	} {
		wrong := Options{URL: url, Prefixes: []string{"bull"}}.Problems()
		require.Len(t, wrong, 1, url)
		require.EqualError(t, wrong[0], want, url)
		require.NotContains(t, wrong[0].Error(), "secret", url)
	}
	require.ErrorIs(t, Options{Addrs: []string{"h:1"}, Prefixes: []string{"{a}", "{}"}}.Problems()[0], ErrNoHashTag)
}

func TestEveryProblemIsNamed(t *testing.T) {
	t.Parallel()
	said := func(o Options) (all []string) {
		for _, w := range o.Problems() {
			all = append(all, w.Error())
		}
		return all
	}
	require.Empty(t, said(Options{URL: "redis://h"}))
	require.Equal(t, []string{"redis tls.ca: target_test.go has no certificate in PEM form"},
		said(Options{URL: "redis://h", TLS: &TLS{CA: "target_test.go"}}))
	require.Equal(t, []string{
		"redis url: needs a scheme, such as redis://127.0.0.1:6379",
		"redis tls.ca: open no.pem: no such file or directory",
		"redis tls.cert: open no.pem: no such file or directory",
	}, said(Options{URL: "h", TLS: &TLS{CA: "no.pem", Cert: "no.pem"}}))
	_, err := Open(t.Context(), Options{URL: "h", TLS: &TLS{CA: "no.pem"}})
	require.ErrorContains(t, err, "redis url: needs a scheme")
	require.ErrorContains(t, err, "redis tls.ca: open no.pem")
}

package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// load runs Load as a command with args would.
func load(t *testing.T, environ []string, args ...string) (*Config, error) {
	t.Helper()
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	flags := Register(set)
	require.NoError(t, set.Parse(args))
	return Load(flags, append([]string{"HOME=/home/ada"}, environ...))
}

// directives returns the values of the "# name: value" lines at the top of a sample file.
func directives(t *testing.T, file, name string) (values []string) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(content)) {
		if value, ok := strings.CutPrefix(line, "# "+name+": "); ok {
			values = append(values, strings.TrimSuffix(value, "\n"))
		}
	}
	return values
}

func samples(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	for _, file := range samples(t, "bad") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			_, err := load(t, directives(t, file, "env"), "-config", file)
			var problems *Error
			require.ErrorAs(t, err, &problems)
			var got []string
			for _, p := range problems.Problems {
				require.Equal(t, file, p.Source)
				require.NotContains(t, p.Text, "SECRET")
				got = append(got, strings.TrimPrefix(p.String(), file+":"))
			}
			require.Empty(t, cmp.Diff(directives(t, file, "want"), got))
		})
	}
}

func TestGoodFiles(t *testing.T) {
	t.Parallel()
	for _, file := range samples(t, "good") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			c, err := load(t, directives(t, file, "env"), "-config", file)
			require.NoError(t, err)
			require.Equal(t, filepath.Base(file), filepath.Base(c.File))
		})
	}
}

// good loads one of the good files.
func good(t *testing.T, name string) *Config {
	t.Helper()
	file := filepath.Join("testdata", "good", name)
	c, err := load(t, directives(t, file, "env"), "-config", file)
	require.NoError(t, err)
	return c
}

func TestServerKeys(t *testing.T) {
	t.Parallel()
	c := good(t, "server.yaml")
	dir, err := filepath.Abs("testdata/good")
	require.NoError(t, err)
	require.Equal(t, dir, c.Dir)
	require.Equal(t, Redis{
		Addrs: []string{"10.0.0.1:26379", "10.0.0.2:26379"}, MasterName: "main",
		Username: "bullpen", Password: "as3cretb${TOKEN}",
		TLS: TLS{
			Enabled: true, CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: "/etc/key.pem",
			ServerName: "redis.example",
		},
		Prefixes: []string{"bull", "other"}, Alias: "eu",
	}, c.Redis)
	require.Equal(t, filepath.Join(dir, "state"), c.Data)
	require.Equal(t, "https://ops.example/queues", c.PublicURL)
	require.Equal(t, "/queues", c.BasePath)
	require.Equal(t, 500*time.Millisecond, c.Tick)
	require.Equal(t, []string{"iban"}, c.Mask)
	require.Equal(t, Metrics{Token: "s3cret", BullMQNames: true, JobNames: []string{"mail-out"}}, c.Metrics)
	require.Equal(t, "two", c.Approval)
	require.Equal(t, map[string]Grant{"sre": {Role: "admin"}, "mail-team": {Role: "operator", Queues: []string{"mail-*"}}}, c.Auth.OIDC.RoleMap)
	require.True(t, c.Auth.Configured())
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	c := good(t, "queues.yaml")
	defaults := policy.Policy{
		Attempts: 4, Backoff: policy.Backoff{Type: "fixed", Delay: 30 * time.Second},
		Limiter: policy.Limiter{Max: 10, Duration: time.Second}, Timeout: 20 * time.Second, GlobalConcurrency: 8,
		KeepCompleted: policy.Keep{Set: true, Count: -1, Age: time.Hour},
		KeepFailed:    policy.Keep{Set: true, Count: -1, Age: 168 * time.Hour},
		DeadLetter:    "graveyard",
	}
	require.Equal(t, defaults, c.Defaults)

	bare := c.Queues[keys.Queue{Prefix: "bull", Name: "bare"}]
	require.Equal(t, Queue{Key: "queues.bare", Policy: defaults}, bare)
	require.Equal(t, defaults, c.Queues[keys.Queue{Prefix: "app:bull", Name: "all"}].Policy)

	cleared := c.Queues[keys.Queue{Prefix: "bull", Name: "cleared"}].Policy
	require.Equal(t, policy.Policy{
		Attempts: 4, ClearGlobal: true,
		KeepCompleted: policy.Keep{Set: true, Count: 0},
		KeepFailed:    policy.Keep{Set: true, Count: 0},
	}, cleared)

	no, zero := false, 0
	all := c.Queues[keys.Queue{Prefix: "bull", Name: "all"}]
	require.Equal(t, policy.Policy{
		Attempts:   5,
		Backoff:    policy.Backoff{Type: "exponential", Delay: time.Second, Max: 10 * time.Minute, Jitter: 0.25},
		RetryAfter: &no, Concurrency: 7, GlobalConcurrency: 12,
		Limiter:      policy.Limiter{Max: 50, Duration: time.Minute, Scope: "queue"},
		LockDuration: time.Minute, LockRenew: 10 * time.Second, StalledInterval: 15 * time.Second, MaxStalled: &zero,
		KeepCompleted: policy.Keep{Set: true, Count: 1000, Age: 24 * time.Hour, Limit: 50},
		KeepFailed:    policy.Keep{Set: true, Count: 5000, Age: 168 * time.Hour, Limit: 10},
		DeadLetter:    "graveyard", MaxStartedAttempts: 9, Timeout: 15 * time.Second,
		WaitTarget: 30 * time.Second, ProcessingTarget: 2 * time.Second,
		AttemptFailure: 0.2, FailedBudget: 0.05, DeadLetterMax: 5, WorkersExpected: 3, WorkerConcurrency: 10,
	}, all.Policy)
	require.Equal(t, &Worker{
		Name: "host-1", DrainDelay: 2 * time.Second, LockRenew: 10 * time.Second, MaxRateLimitDelay: 5 * time.Second,
		HTTP: &HTTPWorker{
			URL: "https://u:p@hooks.example/x", Timeout: 10 * time.Second, Secret: "whsec_c2VjcmV0",
			UnrecoverableStatuses: []int{400, 404}, MaxResponse: 64 << 10, Headers: map[string]string{"X-Tenant": "7"},
		},
	}, all.Worker)
}

func TestSample(t *testing.T) {
	t.Parallel()
	c := good(t, "sample.yaml")
	hooks := c.Queues[keys.Queue{Prefix: "bull", Name: "webhooks"}]
	require.Equal(t, 5, hooks.Policy.Attempts)
	require.Equal(t, time.Minute, hooks.Policy.Backoff.Max, "the backoff of the defaults")
	require.Equal(t, "whsec_c2VjcmV0", hooks.Worker.HTTP.Secret)
	require.Equal(t, Size(1<<20), hooks.Worker.HTTP.MaxResponse)
	require.Equal(t, 20160, hooks.Worker.Metrics)
	thumbs := c.Queues[keys.Queue{Prefix: "bull", Name: "thumbnails"}]
	require.Equal(t, &CommandWorker{Argv: []string{"./thumb.sh"}, Env: map[string]string{"SIZE": "200"}}, thumbs.Worker.Command)
	var warned []string
	for _, w := range c.Warnings {
		warned = append(warned, w.Key)
	}
	require.Contains(t, warned, "queues.thumbnails.policy.timeout", "longer than shutdown_grace")
	require.NotContains(t, fmt.Sprint(warned), "queues.email", "no worker here, so nothing to warn of")
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := good(t, "empty.yaml")
	want := Default()
	want.File, want.Dir = c.File, c.Dir
	want.Redis.Prefixes = []string{"bull"}
	want.Data = "/home/ada/.local/state/bullpen"
	want.Queues = map[keys.Queue]Queue{}
	require.Equal(t, &want, c)

	c, err := load(t, []string{"XDG_STATE_HOME=/state"}, "-config", "testdata/good/empty.yaml")
	require.NoError(t, err)
	require.Equal(t, "/state/bullpen", c.Data)
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "b.yaml")
	require.NoError(t, os.WriteFile(file, []byte("listen: 127.0.0.1:1\nredis: {addrs: [h:1], prefixes: [f]}\n"), 0o600))

	c, err := load(t, nil, "-config", file)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:1", c.Listen)

	env := []string{
		"BULLPEN_CONFIG=" + file, "BULLPEN_LISTEN=127.0.0.1:2", "BULLPEN_PREFIX=e1,e2", "BULLPEN_REDIS=redis://env",
		"BULLPEN_READ_ONLY=yes", "BULLPEN_BASE_PATH=/x/", "BULLPEN_DATA=",
	}
	c, err = load(t, env)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:2", c.Listen)
	require.Equal(t, []string{"e1", "e2"}, c.Redis.Prefixes)
	require.Equal(t, "redis://env", c.Redis.URL)
	require.Empty(t, c.Redis.Addrs, "a URL given later replaces the addresses")
	require.True(t, c.ReadOnly)
	require.Equal(t, "/x", c.BasePath)

	c, err = load(t, env, "-listen", "127.0.0.1:3", "-listen", "127.0.0.1:4", "-prefix", "a", "-prefix", "b", "-read-only=false")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:4", c.Listen, "the last one counts")
	require.Equal(t, []string{"a", "b"}, c.Redis.Prefixes)
	require.False(t, c.ReadOnly)
}

// TestRedisFlagTakesNoCredentials proves that a server named later does not get what the file says of another.
func TestRedisFlagTakesNoCredentials(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "b.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`redis: {url: "redis://old", username: ada, password: old, tls: {cert: x.pem}, alias: eu}`), 0o600))
	want := Redis{URL: "redis://:new@other", Prefixes: []string{"bull"}, Alias: "eu"}

	c, err := load(t, nil, "-config", file, "-redis", "redis://:new@other")
	require.NoError(t, err)
	require.Equal(t, want, c.Redis)
	c, err = load(t, []string{"BULLPEN_REDIS=redis://:new@other"}, "-config", file)
	require.NoError(t, err)
	require.Equal(t, want, c.Redis)
}

// TestChecks proves that what others find is told with the rest, and once.
func TestChecks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "b.yaml")
	require.NoError(t, os.WriteFile(file, []byte("listen: nowhere\nqueues:\n  bull:a: {}\n"), 0o600))
	_, err := Load(&Flags{given: map[string][]string{"config": {file}}}, []string{"HOME=/home/ada"}, func(c *Config, report func(key, text string)) {
		report("listen", "is said already")
		for _, q := range c.Queues {
			report(q.Key, "is odd")
		}
	})
	require.EqualError(t, err, file+`:1: listen: "nowhere" is not host:port, such as 127.0.0.1:8080`+"\n"+file+":3: queues.bull:a: is odd")
}

func TestBadFlagsAndVariables(t *testing.T) {
	t.Parallel()
	const open = "0.0.0.0:1 can be reached from other machines and there is no login: " +
		"configure auth, listen on 127.0.0.1, or pass -insecure"
	for _, tt := range []struct {
		name    string
		environ []string
		args    []string
		want    string
	}{
		{"listen flag", nil, []string{"-listen", "0.0.0.0:1"}, "-listen: " + open},
		{"listen variable", []string{"BULLPEN_LISTEN=0.0.0.0:1"}, nil, "BULLPEN_LISTEN: " + open},
		{"every interface", nil, []string{"-listen", ":1"}, "-listen: " + strings.Replace(open, "0.0.0.0", "", 1)},
		{"store", nil, []string{"-store", "disk"}, `-store: "disk" is not one of auto, child, memory`},
		{"store with redis", nil, []string{"-store", "memory", "-redis", "redis://h"}, `-store: "memory" is for when no Redis is named, but one is`},
		{"boolean variable", []string{"BULLPEN_DEMO=maybe"}, nil, `BULLPEN_DEMO: "maybe" is neither true nor false`},
		{"log level", nil, []string{"-log-level", "loud"}, `-log-level: "loud" is not one of debug, info, warn, error`},
		{"base path", nil, []string{"-base-path", "/a?b"}, `-base-path: "/a?b" is not a path, such as /queues`},
		{"prefix", nil, []string{"-prefix", ""}, `-prefix: prefix "" is empty or given twice`},
		{"read-only demo", nil, []string{"-read-only", "-demo"}, "-read-only: a read-only process cannot run the demo's workers"},
		{
			"read-only worker",
			[]string{"BULLPEN_READ_ONLY=1", "HOOK_SECRET=x"},
			[]string{"-config", "testdata/good/secret_env.yaml"},
			`BULLPEN_READ_ONLY: a read-only process cannot run the worker of queue "hooks"`,
		},
		{"no such file", nil, []string{"-config", "no.yaml"}, "no.yaml: cannot be read: no such file or directory"},
		{"no home", []string{"HOME="}, []string{"-store", "child"}, "data: is needed: there is no home folder to keep the private store in"},
		{
			"all at once",
			[]string{"BULLPEN_DEMO=x"},
			[]string{"-store", "y", "-listen", "z"},
			`-listen: "z" is not host:port, such as 127.0.0.1:8080` + "\n" +
				`-store: "y" is not one of auto, child, memory` + "\n" + `BULLPEN_DEMO: "x" is neither true nor false`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tt.environ, tt.args...)
			var problems *Error
			require.True(t, errors.As(err, &problems), "%v", err)
			require.Equal(t, tt.want, err.Error())
		})
	}
}

func TestListenBeyondLoopback(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-listen", "0.0.0.0:1", "-insecure"},
		{"-listen", "localhost:0"},
		{"-listen", "[::1]:80"},
		{"-listen", "127.8.9.1:80"},
		{"-listen", ":80", "-config", "testdata/good/sample.yaml"},
	} {
		_, err := load(t, []string{"HOOK_SECRET=x"}, args...)
		require.NoError(t, err, args)
	}
}

func TestMisspeltVariable(t *testing.T) {
	t.Parallel()
	c, err := load(t, []string{"BULLPEN_REDSI=redis://h", "BULLPEN_QUEUE=x", "BULLPEN_JOB_ID=1"})
	require.NoError(t, err)
	require.Equal(t, []Problem{{Source: "BULLPEN_REDSI", Text: "is not a setting; did you mean BULLPEN_REDIS?"}}, c.Warnings)
}

func TestSecretFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("pass word\r\n"), 0o600))
	file := filepath.Join(dir, "b.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`redis: {password: "${file:`+secret+`}"}`), 0o600))
	c, err := load(t, nil, "-config", file)
	require.NoError(t, err)
	require.Equal(t, "pass word", c.Redis.Password)
}

// FuzzLoad looks for files that make Load panic.
func FuzzLoad(f *testing.F) {
	for _, folder := range []string{"good", "bad"} {
		files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			f.Fatal("no samples", err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "b.yaml")
		require.NoError(t, os.WriteFile(file, content, 0o600))
		c, err := load(t, []string{"NAME=value"}, "-config", file)
		require.True(t, (c == nil) != (err == nil))
	})
}

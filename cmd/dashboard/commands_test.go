package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bullpen/internal/doctor"
	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// unfitFile has one mistake on each line, which only the packages that use the values can see.
const unfitFile = `redis:
  url: redis://:s3cret@h:port
  tls: {ca: no.pem}
queues:
  a: {worker: {http: {url: "http://h", secret: "whsec_!"}}}
  b: {worker: {http: {url: "http://h", secret_env: HOOK_SECRET}}}
  bull:c: {worker: {command: {argv: [no-such-program]}}}
lisen: x
`

// unfitSaid is what FILE is told of it.
const unfitSaid = "dashboard: FILE:2: redis.url: is not a valid address, such as redis://user:password@host:6379/0; " +
	"in user and password write / ? # @ : and % as %2F %3F %23 %40 %3A and %25\n" +
	"dashboard: FILE:3: redis.tls.ca: open DIR/no.pem: no such file or directory\n" +
	"dashboard: FILE:5: queues.a.worker.http.secret: what follows whsec_ is not base64\n" +
	"dashboard: FILE:6: queues.b.worker.http.secret_env: what follows whsec_ is not base64\n" +
	"dashboard: FILE:7: queues.bull:c.worker.command.argv: no-such-program: executable file not found in $PATH\n" +
	"dashboard: FILE:8: lisen: unknown key; the nearest known key is \"listen\"\n"

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	bad := file(t, "lisen: x\nqueues: {a: {policy: {attempts: 0}}}\n")
	unfit, secret := file(t, unfitFile), []string{"HOOK_SECRET=whsec_!"}
	said := strings.NewReplacer("FILE", unfit, "DIR", filepath.Dir(unfit)).Replace(unfitSaid)
	for name, tt := range map[string]struct {
		env  []string
		args []string
		want string
	}{
		"flag":           {args: []string{"-redsi", "x"}, want: "dashboard: unknown flag -redsi; the nearest known flag is -redis"},
		"flag value":     {args: []string{"-store", "disk"}, want: `dashboard: -store: "disk" is not one of auto, child, memory`},
		"missing value":  {args: []string{"-listen"}, want: "dashboard: flag needs an argument: -listen"},
		"command":        {args: []string{"chekc"}, want: `dashboard: unknown command "chekc"; did you mean check?`},
		"argument":       {args: []string{"serve", "x"}, want: `dashboard: serve: "x" is one argument too many`},
		"environment":    {env: []string{"BULLPEN_LISTEN=nowhere"}, want: `dashboard: BULLPEN_LISTEN: "nowhere" is not host:port`},
		"file":           {args: []string{"-config", bad}, want: "dashboard: " + bad + `:1: lisen: unknown key; the nearest known key is "listen"`},
		"file, all":      {args: []string{"-config", bad}, want: "dashboard: " + bad + ":2: queues.a.policy.attempts: 0 is too small: at least 1"},
		"no file":        {args: []string{"-config", "no.yaml"}, want: "dashboard: no.yaml: cannot be read: no such file or directory"},
		"redis url":      {args: []string{"-redis", "ftp://x"}, want: "dashboard: -redis: must begin with redis://"},
		"hash tag":       {args: []string{"-redis", "redis://h?cluster=1"}, want: `dashboard: redis.prefixes: prefix "bull": a Cluster needs a hash tag`},
		"open":           {args: []string{"-listen", ":1"}, want: "dashboard: -listen: :1 can be reached from other machines and there is no login"},
		"all at once":    {env: secret, args: []string{"-config", unfit}, want: said},
		"check, too":     {env: secret, args: []string{"check", "-config", unfit}, want: said},
		"add nothing":    {args: []string{"add", "emails"}, want: "dashboard: add: it takes QUEUE NAME [JSON]"},
		"add no JSON":    {args: []string{"add", "emails", "hi", "{a:1}"}, want: "dashboard: add: the data is not JSON"},
		"add queue name": {args: []string{"add", "a:b", "hi"}, want: `dashboard: add: queue "a:b": a queue name has no colon`},
		"add backoff":    {args: []string{"add", "a", "b", "-backoff", "fixed"}, want: `dashboard: invalid value "fixed" for flag -backoff: it needs a type and a delay`},
		"replay nothing": {args: []string{"replay"}, want: "dashboard: replay: it takes QUEUE [ID…]"},
		"add read-only":  {args: []string{"add", "a", "b", "-read-only"}, want: "dashboard: add: -read-only writes nothing to Redis"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, testbullpen.Environ(t, tt.env...), "", tt.args...)
			require.Equal(t, exitUsage, r.code, r.err)
			require.Contains(t, r.err, tt.want)
			require.Empty(t, r.out)
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	r := run(t, testbullpen.Environ(t), "", "help")
	require.Equal(t, exitFine, r.code)
	for _, c := range commands() {
		require.Contains(t, r.out, c.name)
		about := run(t, testbullpen.Environ(t), "", c.name, "-h")
		require.Equal(t, exitFine, about.code, c.name)
		require.Contains(t, about.out, c.summary)
	}
	r = run(t, testbullpen.Environ(t), "", "version")
	require.Regexp(t, `^bullpen \S+ \(go1\.\S+, \w+/\w+\)\n$`, r.out)
}

func TestHashPassword(t *testing.T) {
	t.Parallel()
	r := run(t, testbullpen.Environ(t), "correct horse\n", "hash-password")
	require.Equal(t, exitFine, r.code, r.err)
	require.NoError(t, bcrypt.CompareHashAndPassword([]byte(strings.TrimSpace(r.out)), []byte("correct horse")))
	require.Equal(t, exitUsage, run(t, testbullpen.Environ(t), "\n", "hash-password").code)
	require.Contains(t, run(t, testbullpen.Environ(t), strings.Repeat("x", 73), "hash-password").err, "longer than 72 bytes")
}

func TestAdd(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	redis := "unix://" + srv.Socket
	config := file(t, "defaults: {attempts: 3, backoff: {type: fixed, delay: 2s}}\nredis: {prefix: app}\n")

	r := run(t, testbullpen.Environ(t), "", "add", "-config", config, "-redis", redis, "emails", "hello", `{"a": 1.10}`, "-id", "x", "-keep-failed", "1h")
	require.Equal(t, exitFine, r.code, r.err)
	require.Equal(t, "added job x to queue app:emails\n", r.out)
	job := c.HGetAll(t.Context(), "app:emails:x").Val()
	require.Equal(t, "hello", job["name"])
	require.Equal(t, `{"a": 1.10}`, job["data"], "byte for byte")
	require.JSONEq(t, `{"attempts":3,"backoff":{"type":"fixed","delay":2000},"removeOnFail":{"age":3600},"jobId":"x"}`, withoutTimestamp(t, job["opts"]))
	require.Equal(t, []string{"x"}, c.LRange(t.Context(), "app:emails:wait", 0, -1).Val())

	r = run(t, testbullpen.Environ(t), "", "add", "-config", config, "-redis", redis, "emails", "hello", "-id", "x")
	require.Equal(t, "job x is in queue app:emails already; nothing was added\n", r.out)

	r = run(t, testbullpen.Environ(t), "[1,2]\n", "add", "-redis", redis, "emails", "hello", "-", "-delay", "1h", "-priority", "5", "-attempts", "2", "-backoff", "exponential:1s:0.5")
	require.Equal(t, "added job 1 to queue bull:emails\n", r.out, r.err)
	require.Equal(t, "[1,2]", c.HGet(t.Context(), "bull:emails:1", "data").Val())
	require.Equal(t, []string{"1"}, c.ZRange(t.Context(), "bull:emails:delayed", 0, -1).Val())

	r = run(t, testbullpen.Environ(t), "", "add", "-redis", redis, "emails", "hello", "-id", "meta")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, "dashboard: add job to emails: jobId")

	r = run(t, testbullpen.Environ(t), "", "add", "-redis", "unix:///no/such/socket", "emails", "hello")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "no such file or directory")
}

func TestReplay(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	redis := "unix://" + srv.Socket
	// A worker whose every job fails for good leaves three dead letters.
	p := start(t, testbullpen.Environ(t), "-config", file(t, `
redis: {url: "`+redis+`"}
queues: {mail: {policy: {dead_letter: dead}, worker: {command: {argv: ["false"]}}}}`))
	p.awaitReady(http.StatusOK)
	for _, id := range []string{"a", "b", "c"} {
		require.Equal(t, exitFine, run(t, testbullpen.Environ(t), "", "add", "mail", "hi", "-id", id, "-redis", redis).code)
	}
	eventually(t, func() (bool, string) {
		letters := c.LRange(t.Context(), "bull:dead:wait", 0, -1).Val()
		return len(letters) == 3, fmt.Sprint(letters)
	})
	p.terminate()
	var ofA string
	for _, letter := range c.LRange(t.Context(), "bull:dead:wait", 0, -1).Val() {
		if strings.HasPrefix(letter, "mail.a.") {
			ofA = letter
		}
	}

	r := run(t, testbullpen.Environ(t), "", "replay", "dead", ofA, "none", "-redis", redis)
	require.Equal(t, exitFailed, r.code)
	require.Equal(t, "replayed 1 dead letters of queue bull:dead, refused 1\n", r.out)
	require.Contains(t, r.err, "dashboard: none: ")
	require.Equal(t, []string{"a"}, c.LRange(t.Context(), "bull:mail:wait", 0, -1).Val())

	r = run(t, testbullpen.Environ(t), "", "replay", "dead", ofA, "-redis", redis)
	require.Equal(t, exitFine, r.code, "a command that is repeated does no harm: %s", r.err)
	require.Contains(t, r.out, "1 were replayed before")

	r = run(t, testbullpen.Environ(t), "", "replay", "dead", "-redis", redis)
	require.Equal(t, exitFine, r.code, r.err)
	require.Equal(t, "replayed 2 dead letters of queue bull:dead, refused 0\n", r.out)
	require.Equal(t, int64(3), c.LLen(t.Context(), "bull:mail:wait").Val())
	require.Zero(t, c.Exists(t.Context(), "bull:dead:wait").Val())

	r = run(t, testbullpen.Environ(t), "", "replay", "mail", "-redis", redis, "-config", file(t, "queues: {mail: {policy: {dead_letter: dead}}}"))
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "dashboard: a: job a is not a dead letter")
	require.Contains(t, r.out, "the dead letters of mail go to queue dead")
}

// withoutTimestamp removes the time from stored options.
func withoutTimestamp(t *testing.T, opts string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(opts), &fields))
	delete(fields, "timestamp")
	out, err := json.Marshal(fields)
	require.NoError(t, err)
	return string(out)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	redis := "unix://" + srv.Socket
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "1gb").Err())
	r := run(t, testbullpen.Environ(t), "", "check", "-redis", redis, "-sample", "100ms")
	require.Equal(t, exitFine, r.code, r.out+r.err)
	require.Contains(t, r.out, "ok       eviction policy: noeviction\n")

	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	r = run(t, testbullpen.Environ(t), "", "check", "-redis", redis, "-sample", "100ms")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.out, "error    eviction policy: allkeys-lru: when memory is full, jobs disappear")
	require.Equal(t, "dashboard: check: not fit for work\n", r.err)

	r = run(t, testbullpen.Environ(t), "", "check", "-json", "-redis", redis, "-sample", "100ms")
	require.Equal(t, exitFailed, r.code)
	var report struct{ Findings []doctor.Finding }
	require.NoError(t, json.Unmarshal([]byte(r.out), &report))
	require.Contains(t, report.Findings, doctor.Finding{Level: doctor.OK, Check: "persistence", Text: "append-only file"})

	r = run(t, testbullpen.Environ(t), "", "check", "-redis", "unix:///no/such/socket")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.out, "error    store: ")

	r = run(t, testbullpen.Environ(t), "", "check", "-store", "memory")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.out, "error    store: in-process store for a first look: nothing survives a restart")
}

func TestRules(t *testing.T) {
	t.Parallel()
	r := run(t, testbullpen.Environ(t), "", "rules", "-job", "ours", "-config", file(t, "public_url: https://ops.example/queues"))
	require.Equal(t, exitFine, r.code, r.err)
	require.Contains(t, r.out, "https://ops.example/queues/runbooks/")
	require.Contains(t, r.out, `job="ours"`)
	path := filepath.Join(t.TempDir(), "rules.yml")
	require.NoError(t, os.WriteFile(path, []byte(r.out), 0o600))
	checked, err := exec.Command("promtool", "check", "rules", path).CombinedOutput()
	require.NoError(t, err, "%s\n(promtool is in the Debian package prometheus)", checked)
	require.Contains(t, run(t, testbullpen.Environ(t), "", "rules", "-listen", "127.0.0.1:9", "-base-path", "x").out, "http://127.0.0.1:9/x/runbooks/")
	for _, listen := range []string{":9", "0.0.0.0:9", "[::]:9"} {
		require.Contains(t, run(t, testbullpen.Environ(t), "", "rules", "-insecure", "-listen", listen).out, "http://127.0.0.1:9/runbooks/", listen)
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	env := testbullpen.Environ(t)
	r := run(t, env, "", "-store", "child", "-listen", l.Addr().String())
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "address already in use")
	home, _ := strings.CutPrefix(env[0], "HOME=")
	_, err = os.Stat(filepath.Join(home, ".local"))
	require.ErrorIs(t, err, os.ErrNotExist, "nothing else was touched")
}

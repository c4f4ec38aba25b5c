package processor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/policy"

	"github.com/stretchr/testify/require"
)

// notes is a journal in memory.
type notes struct {
	mu       sync.Mutex
	rows     []string
	progress []string
}

func (n *notes) UpdateProgress(_ context.Context, v any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.progress = append(n.progress, string(v.(json.RawMessage)))
	return nil
}

func (n *notes) Log(_ context.Context, row string) (int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rows = append(n.rows, row)
	return int64(len(n.rows)), nil
}

func (n *notes) has(row string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.rows, "\n"), row)
}

// sh runs a shell script as a command worker would.
func sh(t *testing.T, ctx context.Context, script string, o CommandOptions) (string, *notes, error) {
	t.Helper()
	n := &notes{}
	c := command{o.withDefaults()}
	c.Queue, c.Argv = hooks, []string{"sh", "-c", script}
	result, err := c.run(ctx, aJob(), n)
	if result == nil {
		return "", n, err
	}
	return string(result.(json.RawMessage)), n, err
}

func TestCommandOutcomes(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		// Exit codes.
		`exit 0`:                          "completed",
		`exit 65`:                         "unrecoverable: exit code 65",
		`exit 75`:                         "failed: exit code 75",
		`exit 3`:                          "failed: exit code 3",
		`kill -SEGV $$`:                   "failed: killed by signal: segmentation fault",
		`echo bad disk >&2; exit 1`:       "failed: bad disk",
		`echo a >&2; echo b >&2; exit 65`: "unrecoverable: a\nb",
		`echo late >&2; kill -KILL $$`:    "failed: killed by signal: killed: late",

		// Messages about the outcome.
		`echo '{"error":"no stock"}'; echo noise >&2; exit 1`: "failed: no stock",
		`echo '{"error":"no stock"}'`:                         "failed: no stock",
		`echo '{"error":{"message":"deep"}}'; exit 1`:         "failed: deep",
		`echo '{"error":{"code":7}}'; exit 1`:                 `failed: {"code":7}`,
		`echo '{"error":""}'; exit 2`:                         "failed: exit code 2",
		`echo '{"error":"no stock"}'; exit 65`:                "unrecoverable: no stock",
		`echo '{"unrecoverable":"bad input"}'`:                "unrecoverable: bad input",
		`echo '{"unrecoverable":"bad input"}'; exit 1`:        "unrecoverable: bad input",
		`echo '{"error":"x","unrecoverable":true}'; exit 1`:   "unrecoverable: x",
		`echo '{"unrecoverable":false}'; exit 1`:              "failed: exit code 1",
		`echo '{"result":1}'; echo '{"error":"after all"}'`:   "failed: after all",
		`echo '{"error":"first"}'; echo '{"error":"last"}'`:   "failed: last",

		// Delays cost no attempt, and count only when the command failed.
		`echo '{"delay_ms":1500}'; exit 75`:                  "delay 1.5s",
		`echo '{"delay_ms":0.2}'; exit 1`:                    "delay 1ms",
		`echo '{"delay_ms":0}'; exit 1`:                      "delay 0s",
		`echo '{"delay_ms":1e300}'; exit 1`:                  "delay 87600h0m0s",
		`echo '{"delay_ms":1500}'`:                           "completed",
		`echo '{"delay_ms":1500}'; exit 65`:                  "unrecoverable: exit code 65",
		`echo '{"delay_ms":1500,"error":"busy"}'; exit 1`:    "delay 1.5s",
		`echo '{"delay_ms":"soon"}'; exit 1`:                 "failed: exit code 1",
		`echo '{"delay_ms":-1}'; exit 1`:                     "failed: exit code 1",
		`echo '{"delay_ms":null}'; exit 1`:                   "failed: exit code 1",
		`echo '{"rate_limit_ms":2500}'; exit 75`:             "rate limit 2.5s",
		`echo '{"rate_limit_ms":0}'; exit 75`:                "rate limit 1s",
		`echo '{"rate_limit_ms":1e300}'; exit 75`:            "rate limit 24h0m0s",
		`echo '{"rate_limit_ms":2500,"delay_ms":1}'; exit 1`: "rate limit 2.5s",
		`echo '{"rate_limit_ms":2500}'`:                      "completed",
		`echo '{"rate_limit_ms":2500}'; kill -KILL $$`:       "failed: killed by signal: killed",
	} {
		_, _, err := sh(t, t.Context(), script, CommandOptions{})
		require.Equal(t, want, outcome(err), script)
	}
}

func TestCommandResultIsTheLastOneAsWritten(t *testing.T) {
	for script, want := range map[string]string{
		`true`: "",
		`echo '{"result":{"n": 12345678901234567890,"a":1,"a":2}}'`: `{"n": 12345678901234567890,"a":1,"a":2}`,
		`echo '{"result":1}'; echo '{"result":[2 ]}'`:               `[2 ]`,
		`echo '{"result":null}'`:                                    `null`,
		`printf '{"result":7}'`:                                     `7`,
		`printf ' {"result":8}\r\n'`:                                `8`,
	} {
		got, _, err := sh(t, t.Context(), script, CommandOptions{})
		require.NoError(t, err, script)
		require.Equal(t, want, got, script)
	}
}

func TestCommandReportsWhileItRuns(t *testing.T) {
	dir := t.TempDir()
	script := `echo '{"progress":10}'; echo '{"log":"from a message"}'; echo plain; echo oops >&2
		while [ ! -e go ]; do sleep 0.01; done; echo '{"progress":{"step": 2}}'`
	n := &notes{}
	c := command{CommandOptions{Queue: hooks, Argv: []string{"sh", "-c", script}, Dir: dir}.withDefaults()}
	done := make(chan error, 1)
	go func() {
		_, err := c.run(t.Context(), aJob(), n)
		done <- err
	}()
	eventually(t, func() bool { return n.has("from a message") && n.has("plain") && n.has("oops") })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	require.NoError(t, <-done)
	require.Equal(t, []string{"10", `{"step": 2}`}, n.progress)
}

// A command that reports without pause must not flood the listeners of the queue's events.
func TestCommandProgressIsMerged(t *testing.T) {
	_, n, err := sh(t, t.Context(), `i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo "{\"progress\":$i}"; done`, CommandOptions{})
	require.NoError(t, err)
	require.Equal(t, "5000", n.progress[len(n.progress)-1])
	require.Less(t, len(n.progress), 500)
}

func TestCommandTakesOtherLinesAsLogs(t *testing.T) {
	script := `echo '{"level":"info","msg":"hi"}'; echo '{broken'; echo '["log"]'; echo; echo '{"log":{"a":1}}'; echo '{"Log":"x"}'
		printf 'bad \377 byte\n'; printf 'no newline'`
	_, n, err := sh(t, t.Context(), script, CommandOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{
		`{"level":"info","msg":"hi"}`, `{broken`, `["log"]`, ``, `{"a":1}`, `{"Log":"x"}`, "bad \uFFFD byte", "no newline",
	}, n.rows)
}

func TestCommandGetsTheJobAsOneLine(t *testing.T) {
	n := &notes{}
	j := aJob()
	j.Data = json.RawMessage("{\n \"big\": 12345678901234567890,\r\n \"a\":1, \"a\":2 }")
	c := command{CommandOptions{Queue: hooks, Argv: []string{"sh", "-c", `read -r l; echo "got $l"; read -r m || echo end`}}.withDefaults()}
	_, err := c.run(t.Context(), j, n)
	require.NoError(t, err)
	line := strings.NewReplacer("\n", " ", "\r", " ").Replace(string(payload(hooks, j)))
	require.Equal(t, []string{"got " + line, "end"}, n.rows)
}

func TestCommandNeedNotReadItsJob(t *testing.T) {
	j := aJob()
	j.Data = json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	c := command{CommandOptions{Queue: hooks, Argv: []string{"sh", "-c", `echo '{"result":1}'`}}.withDefaults()}
	_, err := c.run(t.Context(), j, &notes{})
	require.NoError(t, err)
}

func TestCommandEnvironmentIsAWhitelist(t *testing.T) {
	t.Setenv("BULLPEN_SECRET", "s3cret")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("TZ", "")
	t.Setenv("TMPDIR", "") // so that the test's end restores it
	require.NoError(t, os.Unsetenv("TMPDIR"))
	_, n, err := sh(t, t.Context(), `/usr/bin/env | sort`, CommandOptions{Env: map[string]string{
		"SIZE": "200", "LANG": "de_DE", "BULLPEN_QUEUE": "forged",
	}})
	require.NoError(t, err)
	var got []string
	for _, row := range n.rows { // the shell adds its own
		if name, _, _ := strings.Cut(row, "="); name != "PWD" && name != "_" && name != "SHLVL" && name != "OLDPWD" {
			got = append(got, row)
		}
	}
	require.Equal(t, []string{
		"BULLPEN_ATTEMPT=2", "BULLPEN_JOB_ID=17", "BULLPEN_QUEUE=hooks", "HOME=" + os.Getenv("HOME"), "LANG=de_DE",
		"PATH=" + os.Getenv("PATH"), "SIZE=200", "TZ=",
	}, got)
}

func TestCommandRunsInItsDirectoryWithoutAShell(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	require.NoError(t, os.Symlink("/bin/echo", filepath.Join(dir, "bin", "say")))
	n := &notes{}
	c := command{CommandOptions{Queue: hooks, Argv: []string{"./bin/say", "$HOME; *", "`id`"}, Dir: dir}.withDefaults()}
	_, err := c.run(t.Context(), aJob(), n)
	require.NoError(t, err)
	require.Equal(t, []string{"$HOME; * `id`"}, n.rows)
}

func TestCommandThatCannotStartFailsTheAttempt(t *testing.T) {
	for argv, want := range map[string]string{
		"/nonexistent/x":       "start command: /nonexistent/x: no such file or directory",
		"no-such-program-here": "no-such-program-here",
	} {
		h, err := Command(CommandOptions{Queue: hooks, Argv: []string{argv}})
		require.NoError(t, err)
		_, err = h(t.Context(), aJob())
		require.ErrorContains(t, err, want)
		require.True(t, strings.HasPrefix(outcome(err), "failed: "))
	}
	_, err := Command(CommandOptions{Queue: hooks})
	require.ErrorContains(t, err, "argv")
}

func TestCommandTimeLimit(t *testing.T) {
	t.Parallel()
	limit := policy.Policy{Timeout: 200 * time.Millisecond}
	for script, want := range map[string]string{
		`echo working >&2; sleep 60`:                                          "attempt timed out after 200ms: working",
		`trap 'echo "{\"error\":\"gave up\"}"; exit 0' TERM; sleep 60 & wait`: "attempt timed out after 200ms: gave up",
		`trap '' TERM; while :; do sleep 1; done`:                             "attempt timed out after 200ms",
	} {
		start := time.Now()
		_, _, err := sh(t, t.Context(), script, CommandOptions{Policy: limit, KillAfter: 300 * time.Millisecond})
		require.Equal(t, "failed: "+want, outcome(err), script)
		require.ErrorContains(t, err, "timed out")
		require.Less(t, time.Since(start), 30*time.Second, "it must not wait for the sleep of 60 s")
	}
}

// alive reports whether the process whose id the script logged as "pid N" still runs.
func alive(t *testing.T, n *notes) bool {
	t.Helper()
	for _, row := range n.rows {
		var pid int
		if s, ok := strings.CutPrefix(row, "pid "); ok {
			require.NoError(t, json.Unmarshal([]byte(s), &pid))
			return syscall.Kill(pid, 0) == nil && !zombie(pid)
		}
	}
	t.Fatal("no process id was logged")
	return false
}

// zombie reports whether a process is dead and only waits to be collected by init.
func zombie(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", string(number(int64(pid))), "stat"))
	return err == nil && strings.Contains(string(b), ") Z ")
}

func TestCommandLeavesNoGrandchildren(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		`(trap '' TERM; exec sleep 60) & echo "pid $!"; echo '{"result":1}'`,                // exits, child keeps stdout open
		`(trap '' TERM; exec sleep 60) >/dev/null 2>&1 & echo "pid $!"; sleep 0.05; exit 3`, // child that closed it
		`(trap '' TERM; exec sleep 60) & echo "pid $!"; trap 'exit 0' TERM; wait`,           // time limit
	} {
		start := time.Now()
		_, n, _ := sh(t, t.Context(), script, CommandOptions{Policy: policy.Policy{Timeout: 500 * time.Millisecond}})
		eventually(t, func() bool { return !alive(t, n) })
		require.Less(t, time.Since(start), 30*time.Second, "it must not wait for the sleep of 60 s")
	}
}

// A process that left the group keeps the pipes open; the attempt must end all the same.
func TestCommandEndsThoughItsPipesStayOpen(t *testing.T) {
	t.Parallel()
	start := time.Now()
	result, n, err := sh(t, t.Context(), `setsid sleep 60 & echo "pid $!"; echo '{"result":1}'; sleep 0.2`, CommandOptions{})
	require.NoError(t, err)
	require.Equal(t, "1", result)
	require.Less(t, time.Since(start), 30*time.Second)
	for _, row := range n.rows {
		var pid int
		if s, ok := strings.CutPrefix(row, "pid "); ok && json.Unmarshal([]byte(s), &pid) == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestCommandOutputIsBounded(t *testing.T) {
	script := `i=0; while [ $i -lt 50 ]; do echo "line $i"; i=$((i+1)); done; echo '{"result":1}'`
	result, n, err := sh(t, t.Context(), script, CommandOptions{MaxLogRows: 10})
	require.NoError(t, err)
	require.Equal(t, "1", result)
	require.Len(t, n.rows, 11)
	require.Equal(t, "line 9", n.rows[9])
	require.Equal(t, "40 more lines were dropped: an attempt may log 10 rows or 1048576 bytes", n.rows[10])

	_, n, err = sh(t, t.Context(), `echo 12345; echo 1234567; echo 1`, CommandOptions{MaxLogBytes: 10})
	require.NoError(t, err)
	require.Equal(t, []string{"12345", "2 more lines were dropped: an attempt may log 1000 rows or 10 bytes"}, n.rows)

	_, n, err = sh(t, t.Context(), `head -c 3000000 /dev/zero | tr '\0' x; echo; head -c 20000 /dev/zero | tr '\0' y >&2`, CommandOptions{})
	require.NoError(t, err)
	require.Len(t, n.rows, 2)
	for _, row := range n.rows {
		require.Len(t, row, logRowLimit+len(" … (line cut)"))
	}
}

func TestCommandOversizeResultFailsTheAttempt(t *testing.T) {
	script := `printf '{"result":"'; head -c 2000 /dev/zero | tr '\0' x; echo '"}'`
	_, n, err := sh(t, t.Context(), script, CommandOptions{MaxMessage: 1000})
	require.Equal(t, "failed: a message on stdout is longer than 1000 bytes", outcome(err))
	require.Contains(t, n.rows[0], "(line cut)")
	_, _, err = sh(t, t.Context(), script, CommandOptions{MaxMessage: 3000})
	require.NoError(t, err)
}

func TestCommandInterruptAsksOnceAndCostsNoAttempt(t *testing.T) {
	t.Parallel()
	interrupt := make(chan struct{})
	grace := errors.New("grace over")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { close(interrupt) })
	time.AfterFunc(400*time.Millisecond, func() { cancel(grace) })

	// One that knows the signal finishes its work.
	result, _, err := sh(t, ctx, `trap 'echo "{\"result\":\"saved\"}"; exit 0' TERM; sleep 60 & wait`, CommandOptions{Interrupt: interrupt})
	require.NoError(t, err)
	require.Equal(t, `"saved"`, result)

	// One that does not is stopped by it, and waits to be handed back.
	_, _, err = sh(t, ctx, `sleep 60`, CommandOptions{Interrupt: interrupt})
	require.ErrorIs(t, err, grace)
}

func TestCommandIsKilledWhenItsContextEnds(t *testing.T) {
	lost := errors.New("lock lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(lost) })
	start := time.Now()
	_, n, err := sh(t, ctx, `trap '' TERM; echo "pid $$"; while :; do sleep 1; done`, CommandOptions{})
	require.ErrorIs(t, err, lost)
	require.Less(t, time.Since(start), 30*time.Second)
	require.False(t, alive(t, n))
}

func TestCommandTraceHasTheLastWords(t *testing.T) {
	script := `i=0; while [ $i -lt 300 ]; do echo "line $i of the trace" >&2; i=$((i+1)); done; echo '{"error":"short"}'; exit 4`
	_, _, err := sh(t, t.Context(), script, CommandOptions{})
	require.EqualError(t, err, "short")
	first, words, _ := strings.Cut(trace(t, err), "\n\n")
	require.Equal(t, "Error: short\n    at sh: exit code 4", first)
	require.True(t, strings.HasSuffix(words, "line 299 of the trace"))
	require.LessOrEqual(t, len(words), textLimit)
	require.NotContains(t, trace(t, err), "while", "arguments may be secret")
}

// A journal that blocks must hold up neither the process nor its end for long.
func TestCommandIsNotBlockedByTheJournal(t *testing.T) {
	release := make(chan struct{})
	time.AfterFunc(300*time.Millisecond, func() { close(release) })
	n := &blockedNotes{release: release}
	c := command{CommandOptions{Queue: hooks, Argv: []string{"sh", "-c", `i=0; while [ $i -lt 3000 ]; do echo row; i=$((i+1)); done; echo '{"result":1}'`}}.withDefaults()}
	got, err := c.run(t.Context(), aJob(), n)
	require.NoError(t, err)
	require.Equal(t, json.RawMessage("1"), got)
	require.Len(t, n.rows, DefaultMaxLogRows+1)
}

type blockedNotes struct {
	notes
	release chan struct{}
}

func (b *blockedNotes) Log(ctx context.Context, row string) (int64, error) {
	<-b.release
	return b.notes.Log(ctx, row)
}

var _ journal = (*engine.Job)(nil)

func FuzzCommandStdout(f *testing.F) {
	f.Add([]byte(`{"progress":1}` + "\n" + `{"result":[1]}`))
	f.Add([]byte("{\"delay_ms\":1e999}\n{\"error\":null}\n\xff\n"))
	f.Add([]byte(`{"rate_limit_ms":5,"log":"x","unrecoverable":true}`))
	f.Fuzz(func(t *testing.T, stdout []byte) {
		n := &notes{}
		rec := newRecorder(t.Context(), n, 20, 1000)
		out := &output{limit: 100, record: rec}
		out.readStdout(strings.NewReader(string(stdout)))
		rec.close()
		if out.result != nil && !json.Valid(out.result) {
			t.Fatalf("result %q is not JSON", out.result)
		}
		for _, p := range n.progress {
			if !json.Valid([]byte(p)) {
				t.Fatalf("progress %q is not JSON", p)
			}
		}
		if len(n.rows) > 21 || len(out.result) > 100 {
			t.Fatalf("%d rows, a result of %d bytes", len(n.rows), len(out.result))
		}
		for _, d := range []*time.Duration{out.delay, out.rateLimit} {
			if d != nil && *d < 0 {
				t.Fatalf("negative delay %s", *d)
			}
		}
	})
}

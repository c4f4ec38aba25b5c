package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) { goleak.VerifyTestMain(built{m}) }

// built builds the program around the package's tests.
type built struct{ tests testredis.Runner }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "dashboard")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "dashboard")
	build := exec.Command("go", append(append([]string{"build", "-o", binary}, buildFlags...), ".")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	defer http.DefaultClient.CloseIdleConnections()
	return b.tests.Run()
}

// patience bounds every wait in these tests.
const patience = 30 * time.Second

// result is how a run of the program ended.
type result struct {
	code     int
	out, err string
}

// environ is an environment of the test's own: a home folder and nothing that configures Bullpen.
func environ(t *testing.T, extra ...string) []string {
	t.Helper()
	return append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}, extra...)
}

// run runs the program to its end in an empty folder.
func run(t *testing.T, env []string, input string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = t.TempDir(), env, strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	require.NoError(t, ctx.Err(), "the program does not end; it said: %s %s", &out, &errs)
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// process is a running server.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	banner string
	url    string // of the dashboard, with a slash at the end
	ended  chan struct{}

	mu  sync.Mutex
	err bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err.Write(b)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err.String()
}

// start starts the server on a free port and waits for its banner. The test's end kills it.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, ended: make(chan struct{})}
	p.cmd = exec.Command(binary, append([]string{"-listen", "127.0.0.1:0"}, args...)...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = t.TempDir(), env, p
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	lines := make(chan string, 1)
	go func() {
		defer close(p.ended)
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		lines <- line
		_, _ = io.Copy(io.Discard, stdout)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("the program said:\n%s", p.said())
		}
	})
	select {
	case p.banner = <-lines:
	case <-time.After(patience):
		t.Fatal("no banner")
	}
	p.url = regexp.MustCompile(`http://\S+`).FindString(p.banner)
	require.NotEmpty(t, p.url, "banner %q, error output %s", p.banner, p.said())
	return p
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// exit waits for the end and returns the exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatal("the program does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// terminate stops the server and expects that all went well.
func (p *process) terminate() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	require.Equal(p.t, exitFine, p.exit(), p.said())
}

// lastLine is the last line of the error output.
func (p *process) lastLine() string {
	lines := strings.Split(strings.TrimSpace(p.said()), "\n")
	return lines[len(lines)-1]
}

// get returns status and body of a page.
func (p *process) get(path string) (int, string) {
	p.t.Helper()
	response, err := http.Get(p.url + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return response.StatusCode, string(body)
}

// awaitReady waits until /readyz answers with the status.
func (p *process) awaitReady(status int) {
	p.t.Helper()
	eventually(p.t, func() (bool, string) {
		code, body := p.get("readyz")
		return code == status, fmt.Sprint(code, " ", body)
	})
}

// eventually waits until check is true; its text says what is instead.
func eventually(t *testing.T, check func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ok, text := check()
		if ok {
			return
		}
		require.True(t, time.Now().Before(deadline), text)
		time.Sleep(20 * time.Millisecond)
	}
}

// file writes a configuration file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bullpen.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

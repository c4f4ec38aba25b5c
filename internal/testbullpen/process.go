package testbullpen

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait.
const patience = time.Minute

// Options say how a program is run.
type Options struct {
	// Path is the program, as Build returned it.
	Path string
	Args []string
	// Env is its whole environment; without one it has PATH, TMPDIR and a home folder of its own.
	Env []string
	// Dir is its working folder, by default an empty one.
	Dir string
}

// Process is a running server.
type Process struct {
	// Banner is the line it started with, URL the dashboard's address in it, with a slash at the end.
	Banner, URL string

	t     testing.TB
	cmd   *exec.Cmd
	ended chan struct{}
	log   log
}

// log is what a process said, which a test reads while it goes on.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// Environ is an environment of the test's own: PATH, TMPDIR, a home folder, and nothing that configures Bullpen but extra.
func Environ(t testing.TB, extra ...string) []string {
	t.Helper()
	return append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}, extra...)
}

// Start starts the server and waits for its address. The test's end kills it, and shows what it said if the test failed.
func Start(t testing.TB, o Options) *Process {
	t.Helper()
	p := &Process{t: t, ended: make(chan struct{}), cmd: exec.Command(o.Path, o.Args...)}
	if p.cmd.Env = o.Env; o.Env == nil {
		p.cmd.Env = Environ(t)
	}
	if p.cmd.Dir = o.Dir; o.Dir == "" {
		p.cmd.Dir = t.TempDir()
	}
	p.cmd.Stderr = &p.log
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	banner := make(chan string, 1)
	go func() {
		defer close(p.ended)
		line, _ := bufio.NewReader(out).ReadString('\n')
		banner <- line
		_, _ = io.Copy(io.Discard, out)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("process %d said:\n%s", p.PID(), p.Said())
		}
	})
	select {
	case p.Banner = <-banner:
	case <-time.After(patience):
	}
	if p.URL = regexp.MustCompile(`http://\S+`).FindString(p.Banner); p.URL == "" {
		t.Fatalf("the server does not start; its first line is %q", p.Banner)
	}
	return p
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Said is what the process wrote to its error output so far.
func (p *Process) Said() string {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	return p.log.text.String()
}

// LastLine is the last line of that.
func (p *Process) LastLine() string {
	lines := strings.Split(strings.TrimSpace(p.Said()), "\n")
	return lines[len(lines)-1]
}

// Alive reports whether the process runs.
func (p *Process) Alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// Exit waits for the end and returns the exit code.
func (p *Process) Exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatal("the process does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// Terminate stops the server as an orchestrator does, and returns the exit code.
func (p *Process) Terminate() int {
	p.t.Helper()
	p.Signal(syscall.SIGTERM)
	return p.Exit()
}

// Kill ends the process without a chance to tidy up.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// client keeps no connection, so that none leaks when a process is killed.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}

// Do sends a request to the server; the address of the request is below URL. Status 0 means that there was no answer.
func (p *Process) Do(method, path, body string, header http.Header) (status int, answer string) {
	p.t.Helper()
	r, err := http.NewRequest(method, p.URL+strings.TrimPrefix(path, "/"), strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header = header
	res, err := client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// Get returns status and body of a page.
func (p *Process) Get(path string) (status int, body string) {
	p.t.Helper()
	return p.Do(http.MethodGet, path, "", http.Header{})
}

// Post sends JSON to the API as the dashboard's own pages do.
func (p *Process) Post(path, body string) (status int, answer string) {
	p.t.Helper()
	origin := strings.TrimSuffix(p.URL, "/")
	return p.Do(http.MethodPost, path, body, http.Header{"Content-Type": {"application/json"}, "Origin": {origin}})
}

// Ready reports whether the server says so at /readyz.
func (p *Process) Ready() bool {
	p.t.Helper()
	status, _ := p.Get("readyz")
	return status == http.StatusOK
}

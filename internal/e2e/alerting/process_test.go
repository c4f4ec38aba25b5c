package alerting

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds every wait of this test.
const patience = 2 * time.Minute

// eventually waits until ok says so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not so after %s: %s", patience, what)
		}
	}
}

// process is a program that runs beside the test. What it prints is kept.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	ended chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// run starts a program; the test's end kills it. pkg is the package of Debian that has it.
func run(t *testing.T, env []string, pkg, program string, args ...string) *process {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%s is not installed; install it with: apt-get install -y %s", program, pkg)
	}
	p := &process{t: t, cmd: exec.Command(path, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = p, p, append(os.Environ(), env...)
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(program), p.said())
		}
	})
	return p
}

// Write keeps what the program prints.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// await waits until the program has printed what pattern matches and returns the first group of the last match.
func (p *process) await(pattern string) string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	var found [][]string
	eventually(p.t, filepath.Base(p.cmd.Path)+" prints "+pattern, func() bool {
		found = re.FindAllStringSubmatch(p.said(), -1)
		select {
		case <-p.ended:
			require.NotEmpty(p.t, found, "it ended: %s", p.said())
		default:
		}
		return len(found) > 0
	})
	return found[len(found)-1][1]
}

// tell writes a line to the program.
func (p *process) tell(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.in, line+"\n")
	require.NoError(p.t, err)
}

// kill ends the program.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

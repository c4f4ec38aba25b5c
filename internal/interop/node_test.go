package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"testing"

	"bullpen/internal/testnode"
)

// nodeDir holds the Node programs and, after installPackages, their packages.
const nodeDir = "testdata/node"

// installPackages brings the packages once per run of the tests.
var installPackages = sync.OnceValue(func() error { return testnode.Install(nodeDir) })

// nodeProcess is one Node program that answers JSON requests line by line. It runs one request at a time.
type nodeProcess struct {
	mu     sync.Mutex
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *bytes.Buffer
	last   int
}

// request is one line to the driver.
type request struct {
	ID   int             `json:"id"`
	Side string          `json:"side,omitempty"`
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args,omitempty"`
	Now  int64           `json:"now,omitempty"` // ms; 0 = the real time
}

// stepError is how a step failed, on either side.
type stepError struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Code    int    `json:"code"`
}

func (e *stepError) Error() string { return fmt.Sprintf("%s (code %d): %s", e.Name, e.Code, e.Message) }

// startNode starts the driver; it ends in the test's cleanup.
func startNode(t testing.TB) *nodeProcess {
	t.Helper()
	if err := installPackages(); err != nil {
		t.Fatal(err)
	}
	n := &nodeProcess{stderr: new(bytes.Buffer)}
	n.cmd = exec.Command("node", "driver.mjs")
	n.cmd.Dir = nodeDir
	n.cmd.Stderr = n.stderr
	var err error
	if n.stdin, err = n.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	n.stdout = bufio.NewReaderSize(out, 1<<20)
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = n.stdin.Close()
		_, _ = io.Copy(io.Discard, n.stdout)
		if err := n.cmd.Wait(); err != nil {
			t.Errorf("node driver: %v\n%s", err, n.stderr)
		}
	})
	return n
}

// call sends one request and returns its result. A *stepError is the package's answer; any other error is the end of
// the process.
func (n *nodeProcess) call(r request) (json.RawMessage, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	r.ID = n.last
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	if _, err := n.stdin.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("write to node: %w; it said:\n%s", err, n.stderr)
	}
	text, err := n.stdout.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("read from node: %w; it said:\n%s", err, n.stderr)
	}
	var answer struct {
		ID     int             `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *stepError      `json:"error"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("decode answer %q: %w", text, err)
	}
	if answer.ID != r.ID {
		return nil, fmt.Errorf("node answered request %d with %d", r.ID, answer.ID)
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	return answer.Result, nil
}

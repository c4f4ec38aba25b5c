package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bullpen/internal/testbullpen"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) { goleak.VerifyTestMain(testbullpen.Main(m, &binary)) }

// patience bounds every wait in these tests.
const patience = 30 * time.Second

// result is how a run of the program ended.
type result struct {
	code     int
	out, err string
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
	*testbullpen.Process
	t *testing.T
}

// start starts the server on a free port and waits for its banner. The test's end kills it.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	args = append([]string{"-listen", "127.0.0.1:0"}, args...)
	return &process{testbullpen.Start(t, testbullpen.Options{Path: binary, Env: env, Args: args}), t}
}

// terminate stops the server and expects that all went well.
func (p *process) terminate() {
	p.t.Helper()
	require.Equal(p.t, exitFine, p.Terminate(), p.Said())
}

// awaitReady waits until /readyz answers with the status.
func (p *process) awaitReady(status int) {
	p.t.Helper()
	eventually(p.t, func() (bool, string) {
		code, body := p.Get("readyz")
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

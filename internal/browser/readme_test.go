package browser

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/testnode"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

// The first steps of the README lead to where it says: its own files, run as it says.
func TestReadmeFirstSteps(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	dir, address := t.TempDir(), freeAddress(t)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	local := strings.NewReplacer("redis://127.0.0.1:6379", "unix://"+srv.Socket, "{ host: '127.0.0.1', port: 6379 }", "{ path: '"+srv.Socket+"' }",
		"127.0.0.1:9000", address, "9000", port)
	files := readmeFiles(t)
	for _, name := range []string{"bullpen.yaml", "mail.mjs", "producer.mjs"} {
		require.Contains(t, files, name)
		write(name, local.Replace(files[name]))
	}
	const packages = "../interop/testdata/node"
	require.NoError(t, testnode.Install(packages))
	modules, err := filepath.Abs(packages + "/node_modules")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))

	work := node(dir, "mail.mjs")
	require.NoError(t, work.Start())
	t.Cleanup(func() {
		_ = work.Process.Kill()
		_ = work.Wait()
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, patience, 10*time.Millisecond)
	b := &bullpen{t: t, redis: srv, prefix: keys.DefaultPrefix, client: srv.Client(t)}
	b.run(dir, "-listen", "127.0.0.1:0")
	t.Cleanup(b.stop)
	out, err := node(dir, "producer.mjs").CombinedOutput()
	require.NoError(t, err, string(out))

	p := b.tab(look{})
	p.openQueue("mail", "failed")
	p.sees("no recipient")
	p.until("one job completed", shows(tabOf("Completed"), "Completed 1"))
	b.queue("mail-dead-letter").holds(keys.Waiting, 1)
}

func node(dir, program string) *exec.Cmd {
	cmd := exec.Command("node", program)
	cmd.Dir = dir
	return cmd
}

// readmeFiles are the code blocks of the README that begin with the name of a file.
func readmeFiles(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	files := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```\\w+\n(?:#|//) (\\S+)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		files[m[1]] = m[2]
	}
	return files
}

// freeAddress is a local address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

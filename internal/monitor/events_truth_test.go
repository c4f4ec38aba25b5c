package monitor

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/google/go-cmp/cmp"
)

// nodePackages is where the real bullmq package is installed.
const nodePackages = "../interop/testdata/node/node_modules"

// TestTotalsEqualTheTruth runs more than two thousand jobs of every kind on the bullmq package itself and compares the
// totals, which come from the event stream alone, with what its processors counted.
func TestTotalsEqualTheTruth(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	q := keys.Queue{Prefix: "bull", Name: "truth"}
	f := follow(t, srv.Client(t), q)
	f.waitUntilReading(t, q)

	want := runTruth(t, srv.Options().Addr, q)
	entries := srv.Client(t).XInfoStream(t.Context(), q.Events()).Val().EntriesAdded
	eventually(t, "all entries are read", func() bool { return f.Stat(q).Read == uint64(entries) })
	var got EventTotals
	for end := time.Now().Add(3 * time.Second); got != want && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		got, _ = f.Totals(q)
		want.StartedWithinTarget, want.FinishedWithinTarget = got.StartedWithinTarget, got.FinishedWithinTarget
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("totals differ from what the processors saw (-want +got):\n%s", diff)
	}
	if got.StartedWithinTarget != got.Started {
		t.Errorf("%d of %d attempts started within five minutes, want all", got.StartedWithinTarget, got.Started)
	}
	if stat := f.Stat(q); stat.Lost != 0 {
		t.Errorf("lost %d entries", stat.Lost)
	}
}

// runTruth runs testdata/truth.cjs against the Redis at the socket.
func runTruth(t *testing.T, socket string, q keys.Queue) (want EventTotals) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is not installed; install it with: apt-get install -y nodejs npm")
	}
	packages, err := filepath.Abs(nodePackages)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(packages, "bullmq")); err != nil {
		t.Fatal("the bullmq package is not installed; install it with: (cd internal/interop/testdata/node && npm ci)")
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), node, "testdata/truth.cjs", socket, q.Prefix, q.Name)
	cmd.Env = append(os.Environ(), "NODE_PATH="+packages)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("running the jobs: %v\n%s", err, stderr.Bytes())
	}
	if err := json.Unmarshal(stdout.Bytes(), &want); err != nil {
		t.Fatalf("reading the truth: %v\n%s", err, stdout.Bytes())
	}
	return want
}

package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"bullpen/internal/testredis"

	"go.uber.org/goleak"
)

// patience bounds every wait in these tests.
const patience = 20 * time.Second

var (
	redisServer *testredis.Server
	chrome      *chromium
	binary      string // the program under test
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(outfit{m}, &redisServer)) }

// outfit builds the program and opens the browser around the package's tests.
type outfit struct{ tests testredis.Runner }

func (o outfit) Run() int {
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		return complain(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "dashboard")
	build := exec.Command("go", "build", "-o", binary, "bullpen/cmd/dashboard")
	if out, err := build.CombinedOutput(); err != nil {
		return complain(fmt.Errorf("build the program: %w\n%s", err, out))
	}
	if chrome, err = openChromium(); err != nil {
		return complain(err)
	}
	defer chrome.close()
	return o.tests.Run()
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

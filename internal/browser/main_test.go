package browser

import (
	"fmt"
	"os"
	"testing"
	"time"

	"bullpen/internal/testbullpen"
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
	var err error
	if binary, err = testbullpen.Build(); err != nil {
		return complain(err)
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

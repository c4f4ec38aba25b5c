package e2e

import (
	"os"
	"testing"
	"time"

	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"go.uber.org/goleak"
)

// patience bounds every wait of these tests.
const patience = time.Minute

// redisServer is what all tests share, each under a prefix of its own; binary is the program.
var (
	redisServer *testredis.Server
	binary      string
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(testredis.Main(testbullpen.Main(m, &binary), &redisServer))
}

// soaking reports whether tests may go on for long.
func soaking() bool { return os.Getenv("BULLPEN_SOAK") != "" }

// eventually waits until ok says so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not so after %s: %s", patience, what)
		}
	}
}

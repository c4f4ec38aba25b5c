package monitor

import (
	"testing"

	"bullpen/internal/testredis"

	"go.uber.org/goleak"
)

// srv is the Redis the package's tests share; each takes a fresh prefix.
var srv *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &srv)) }

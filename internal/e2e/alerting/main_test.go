package alerting

import (
	"testing"

	"bullpen/internal/testbullpen"

	"go.uber.org/goleak"
)

// binary is the program, built for these tests.
var binary string

func TestMain(m *testing.M) { goleak.VerifyTestMain(testbullpen.Main(m, &binary)) }

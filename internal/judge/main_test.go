package judge

import (
	"testing"

	"bullpen/internal/testbullpen"

	"go.uber.org/goleak"
)

var binary string // the program under test

func TestMain(m *testing.M) { goleak.VerifyTestMain(testbullpen.Main(m, &binary)) }

package alerting

import (
	"fmt"
	"os"
	"testing"

	"bullpen/internal/testbullpen"

	"go.uber.org/goleak"
)

// binary is the program, built for these tests.
var binary string

func TestMain(m *testing.M) { goleak.VerifyTestMain(built{m}) }

// built builds the program before the tests run.
type built struct{ tests *testing.M }

func (b built) Run() int {
	var err error
	if binary, err = testbullpen.Build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return b.tests.Run()
}

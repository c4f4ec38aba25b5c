package judge

import (
	"fmt"
	"os"
	"testing"

	"bullpen/internal/testbullpen"

	"go.uber.org/goleak"
)

var binary string // the program under test

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

package testredis

import (
	"fmt"
	"os"
)

// Runner is what TestMain gets: *testing.M.
type Runner interface{ Run() int }

// Main wraps a package's tests so that *s is a running server while they run and is gone before the result is looked
// at. Its result goes to goleak.VerifyTestMain, or call Run and exit with what it returns.
func Main(m Runner, s **Server) Runner { return shared{m, s} }

type shared struct {
	tests  Runner
	server **Server
}

func (m shared) Run() int {
	s, err := Open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer s.Close()
	*m.server = s
	return m.tests.Run()
}

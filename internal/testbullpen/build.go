package testbullpen

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build builds the program and returns its path. All packages share the file, below bin in the module's folder, so that
// only the first one after a change has something to do.
func Build() (path string, err error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	path = filepath.Join(strings.TrimSpace(string(root)), "bin", "test", flavor, "dashboard")
	args := append(append([]string{"build"}, buildFlags()...), "-o", path, "bullpen/cmd/dashboard")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}

// Runner runs a package's tests, as *testing.M does.
type Runner interface{ Run() int }

// Main is tests with the program built before them; its path goes into path.
func Main(tests Runner, path *string) Runner { return built{tests, path} }

type built struct {
	tests Runner
	path  *string
}

func (b built) Run() int {
	var err error
	if *b.path, err = Build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return b.tests.Run()
}

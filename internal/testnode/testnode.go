// Package testnode installs the npm packages that tests run, once per content of their lock file.
package testnode

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Install runs npm ci in dir, which has a package-lock.json, unless the packages of that lock file are there already;
// a stamp beside them says for which they are.
func Install(dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("npm is not installed; install it with: apt-get install -y nodejs npm")
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return fmt.Errorf("read lock file: %w", err)
	}
	unlock, err := lockDirectory(dir)
	if err != nil {
		return err
	}
	defer unlock()
	sum := sha256.Sum256(lock)
	want := hex.EncodeToString(sum[:])
	stamp := filepath.Join(dir, "node_modules", ".stamp")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return nil
	}
	cmd := exec.Command(npm, "ci", "--no-progress")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci in %s: %w\n%s", dir, err, out)
	}
	if err := os.WriteFile(stamp, []byte(want), 0o600); err != nil {
		return fmt.Errorf("stamp packages: %w", err)
	}
	return nil
}

// lockDirectory keeps other test processes from installing into dir at the same time.
func lockDirectory(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return func() { _ = f.Close() }, nil
}

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"bullpen/internal/config"
	"bullpen/internal/engine/keys"
	"bullpen/internal/processor"
)

// preflight is the config.Check of workers that could never run a job: better no start than a queue whose every job
// fails. It is for the commands that run or judge workers; the others may be used where the programs are not.
func preflight(c *config.Config, report func(key, text string)) {
	for id, q := range c.Queues {
		if q.Worker == nil {
			continue
		}
		key := q.Key + ".worker."
		if h := q.Worker.HTTP; h != nil {
			tryHTTP(id, *h, key+"http.", report)
		}
		if cmd := q.Worker.Command; cmd != nil && len(cmd.Argv) > 0 {
			if err := findProgram(cmd.Argv[0], c.Dir); err != nil {
				report(key+"command.argv", err.Error())
			}
		}
	}
}

func tryHTTP(id keys.Queue, h config.HTTPWorker, key string, report func(key, text string)) {
	_, err := processor.HTTP(processor.HTTPOptions{Queue: id, URL: h.URL, Secret: h.Secret, Headers: h.Headers})
	if err == nil {
		return
	}
	option, text, _ := strings.Cut(err.Error(), ": ")
	if option == "secret" && h.SecretEnv != "" {
		option = "secret_env"
	}
	report(key+option, text)
}

// findProgram says why a command worker's program cannot be run.
func findProgram(program, dir string) error {
	// A name with a slash is relative to the folder the command will run in.
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	_, err := exec.LookPath(program)
	if err == nil {
		return nil
	}
	var cause *exec.Error
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("%s: %w", program, err)
}

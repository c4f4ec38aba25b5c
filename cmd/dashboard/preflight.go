package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"bullpen/internal/config"
	"bullpen/internal/engine/keys"
	"bullpen/internal/processor"
)

// preflight finds workers that could never run a job: better no start than a queue whose every job fails.
func preflight(c *config.Config) error {
	var errs []error
	for _, id := range workerQueues(c) {
		if err := tryWorker(c, id); err != nil {
			errs = append(errs, usagef("worker of queue %q: %v", id.Name, err))
		}
	}
	return errors.Join(errs...)
}

// workerQueues are the named queues that have a worker here, in the order of their names.
func workerQueues(c *config.Config) []keys.Queue {
	ids := slices.SortedFunc(maps.Keys(c.Queues), func(a, b keys.Queue) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Prefix, b.Prefix))
	})
	return slices.DeleteFunc(ids, func(id keys.Queue) bool { return c.Queues[id].Worker == nil })
}

func tryWorker(c *config.Config, id keys.Queue) error {
	w := c.Queues[id].Worker
	if h := w.HTTP; h != nil {
		_, err := processor.HTTP(processor.HTTPOptions{Queue: id, URL: h.URL, Secret: h.Secret, Headers: h.Headers})
		return err
	}
	// A name with a slash is relative to the folder the command will run in.
	program := w.Command.Argv[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(c.Dir, program)
	}
	if _, err := exec.LookPath(program); err != nil {
		var cause *exec.Error
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}

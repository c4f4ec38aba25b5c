package processor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
)

// Exit codes with a meaning of their own, from sysexits.h.
const (
	exitUnrecoverable = 65 // EX_DATAERR: no attempt can succeed
)

const (
	// DefaultMaxMessage is the longest line on a command's stdout that is taken as a message, in bytes.
	DefaultMaxMessage = 1 << 20
	// DefaultMaxLogRows and DefaultMaxLogBytes bound what one attempt of a command may add to the job's log.
	DefaultMaxLogRows  = 1000
	DefaultMaxLogBytes = 1 << 20
	// DefaultKillAfter is the time between SIGTERM and SIGKILL when an attempt took too long.
	DefaultKillAfter = 5 * time.Second
)

// CommandOptions configure Command.
type CommandOptions struct {
	// Queue is the queue whose jobs are run. Required.
	Queue keys.Queue
	// Argv is the program and its arguments; no shell reads it. A program with a slash is relative to Dir, another is
	// looked for in PATH. Required.
	Argv []string
	// Env is added to the few variables that are passed on.
	Env map[string]string
	// Dir is the working directory; default the server's.
	Dir string
	// Policy gives the time limit of an attempt.
	Policy policy.Policy
	// Interrupt, if set, is closed when a shutdown wants running commands to end; they get SIGTERM. Pool has one.
	Interrupt <-chan struct{}
	// KillAfter is how long after its time limit an attempt that ignores SIGTERM is killed; default DefaultKillAfter.
	KillAfter time.Duration
	// MaxMessage, MaxLogRows and MaxLogBytes bound the output of an attempt; 0 means the defaults above.
	MaxMessage, MaxLogRows, MaxLogBytes int
}

func (o CommandOptions) withDefaults() CommandOptions {
	if o.KillAfter <= 0 {
		o.KillAfter = DefaultKillAfter
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if o.MaxLogRows <= 0 {
		o.MaxLogRows = DefaultMaxLogRows
	}
	if o.MaxLogBytes <= 0 {
		o.MaxLogBytes = DefaultMaxLogBytes
	}
	return o
}

// Command returns a handler that runs each attempt as a child process in a process group of its own: the job as one
// JSON line on stdin, messages on stdout, the outcome in the exit code. The error names the option at fault.
//
// What is still in the group when the process ends is killed. A process that leaves the group (setsid) escapes that.
func Command(o CommandOptions) (engine.Handler, error) {
	if len(o.Argv) == 0 || o.Argv[0] == "" {
		return nil, errors.New("argv: no program")
	}
	return (&command{o.withDefaults()}).handle, nil
}

// command is the state behind Command; it does not change after construction.
type command struct{ CommandOptions }

// handle is the engine.Handler.
func (c *command) handle(ctx context.Context, j *engine.Job) (any, error) { return c.run(ctx, j, j) }

// run runs one attempt of j; logs and progress go to jr.
func (c *command) run(ctx context.Context, j *engine.Job, jr journal) (any, error) {
	ctx, cancel := withTimeout(ctx, c.Policy.Timeout)
	defer cancel()
	rec := newRecorder(ctx, jr, c.MaxLogRows, c.MaxLogBytes)
	defer rec.close()
	out := &output{limit: c.MaxMessage, record: rec}
	p, err := c.start(j, out)
	if err != nil {
		return nil, c.failed(out, "start command: "+describeStart(err))
	}
	end := p.wait(ctx, c.Interrupt, c.KillAfter)
	return c.outcome(ctx, end, p.state, out)
}

// outcome reads the job's outcome from how the process ended and what it said.
func (c *command) outcome(ctx context.Context, end ending, state *os.ProcessState, out *output) (any, error) {
	switch {
	case end == timeLimit:
		return nil, c.failed(out, stopped(ctx).Error())
	case end == interrupted && diedOf(state, syscall.SIGTERM):
		// Our own signal must not cost the job an attempt: when the grace ends, the worker hands it back.
		<-ctx.Done()
		return nil, stopped(ctx)
	case end == cancelled:
		return nil, stopped(ctx)
	}
	if s := killedBy(state); s != "" {
		return nil, c.failed(out, "killed by signal: "+s)
	}
	code := state.ExitCode()
	switch {
	case out.unrecoverable != nil || code == exitUnrecoverable:
		return nil, engine.Unrecoverable(c.exited(out, code))
	case code != 0 && out.rateLimit != nil:
		return nil, engine.RateLimit(rateLimit(*out.rateLimit, true))
	case code != 0 && out.delay != nil:
		return nil, engine.DelayJob(*out.delay)
	case code != 0 || out.failure != nil:
		return nil, c.exited(out, code)
	case out.oversize:
		return nil, c.failed(out, fmt.Sprintf("a message on stdout is longer than %d bytes", c.MaxMessage))
	case out.result == nil:
		return nil, nil
	}
	return out.result, nil
}

// exited is the failure of a process that ended by itself: what it said, else its last words on stderr, else its code.
func (c *command) exited(out *output, code int) error {
	trace := c.trace(fmt.Sprintf("exit code %d", code), out)
	reason := out.reason()
	if reason == "" {
		reason = fmt.Sprintf("exit code %d", code)
	}
	return newFailure(reason, trace)
}

// failed is the failure of a process that was not allowed to end by itself; its own words follow what happened.
func (c *command) failed(out *output, what string) error {
	trace := c.trace(what, out)
	if said := out.reason(); said != "" {
		what += ": " + said
	}
	return newFailure(what, trace)
}

func newFailure(reason, trace string) error {
	reason = head(reason, textLimit)
	return &failure{reason: reason, trace: "Error: " + reason + trace}
}

// trace says which program ended how, and what it wrote to stderr last. Arguments may be secret and are left out.
func (c *command) trace(how string, out *output) string {
	s := "\n    at " + c.Argv[0] + ": " + how
	if words := out.lastWords(); words != "" {
		s += "\n\n" + words
	}
	return s
}

// input is the job as one line: the stored texts may be spread over several, but only between their tokens.
func (c *command) input(j *engine.Job) []byte {
	b := payload(c.Queue, j)
	for i, ch := range b {
		if ch == '\n' || ch == '\r' {
			b[i] = ' '
		}
	}
	return append(b, '\n')
}

// passedOn are the server's own variables that a command sees.
var passedOn = [...]string{"PATH", "HOME", "LANG", "TZ", "TMPDIR"}

// environment is everything a command sees; of two entries with one name the later counts.
func (c *command) environment(j *engine.Job) []string {
	var env []string
	for _, name := range passedOn {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for name, value := range c.Env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env[len(env)-len(c.Env):])
	return append(env,
		"BULLPEN_QUEUE="+withoutNUL(c.Queue.Name),
		"BULLPEN_JOB_ID="+withoutNUL(j.ID),
		"BULLPEN_ATTEMPT="+strconv.Itoa(attempt(j)))
}

// withoutNUL makes a text fit for the environment, which ends at a zero byte.
func withoutNUL(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// describeStart leaves out the call that failed: "fork/exec ./x: no such file or directory" says less than its end.
func describeStart(err error) string {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Path + ": " + e.Err.Error()
	}
	return err.Error()
}

// jsonObject reports whether a line could be a message.
func jsonObject(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] == '{' && json.Valid(line)
}

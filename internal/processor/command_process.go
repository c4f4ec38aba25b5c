package processor

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"bullpen/internal/engine"
)

// drainAfterExit is how long output is read after the process and its group are gone; a process that left the group may
// keep the pipes open for ever.
const drainAfterExit = 2 * time.Second

// process is one running child and everything in its process group.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	pipes  []io.Closer    // read ends of stdout and stderr
	io     sync.WaitGroup // writer of stdin, readers of pipes
	exited chan struct{}  // closed when the process itself is gone
	state  *os.ProcessState
}

// ending is why a process ended.
type ending int

const (
	byItself    ending = iota
	timeLimit          // it took too long
	interrupted        // it ended after the shutdown's SIGTERM
	cancelled          // the attempt's context ended
)

// start runs the command for j; out gets what it says.
func (c *command) start(j *engine.Job, out *output) (*process, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env = c.Dir, c.environment(j)
	job := c.input(j) // before the command can report progress, which changes j
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stdin: stdin, pipes: []io.Closer{stdout, stderr}, exited: make(chan struct{})}
	p.io.Go(func() {
		_, _ = stdin.Write(job) // a command need not read its job
		_ = stdin.Close()
	})
	p.io.Go(func() { out.readStdout(stdout) })
	p.io.Go(func() { out.readStderr(stderr) })
	go func() {
		defer close(p.exited)
		// Not cmd.Wait, which would close the pipes under their readers.
		p.state, err = cmd.Process.Wait()
	}()
	return p, nil
}

// wait waits until the process is gone, ending it when it must, then ends what is left of its group and reads the rest
// of its output.
func (p *process) wait(ctx context.Context, interrupt <-chan struct{}, killAfter time.Duration) ending {
	end := p.supervise(ctx, interrupt, killAfter)
	p.signal(syscall.SIGKILL)
	_ = p.stdin.Close()
	closePipes := time.AfterFunc(drainAfterExit, func() {
		for _, pipe := range p.pipes {
			_ = pipe.Close()
		}
	})
	p.io.Wait()
	closePipes.Stop()
	for _, pipe := range p.pipes {
		_ = pipe.Close()
	}
	return end
}

// supervise returns when the process is gone. The time limit and a shutdown first ask with SIGTERM; any other end of
// the context means that the job may be somebody else's by now, so the group is killed at once.
func (p *process) supervise(ctx context.Context, interrupt <-chan struct{}, killAfter time.Duration) ending {
	end := byItself
	done := ctx.Done()
	var kill <-chan time.Time
	for {
		select {
		case <-p.exited:
			return end
		case <-interrupt:
			interrupt = nil
			if end == byItself {
				end = interrupted
				p.signal(syscall.SIGTERM)
			} else {
				p.signal(syscall.SIGKILL) // it was asked before, and the server is going down
			}
		case <-done:
			done = nil
			if t := (timedOut{}); errors.As(context.Cause(ctx), &t) {
				end = timeLimit
				p.signal(syscall.SIGTERM)
				timer := time.NewTimer(killAfter)
				defer timer.Stop()
				kill = timer.C
			} else {
				end = cancelled
				p.signal(syscall.SIGKILL)
			}
		case <-kill:
			kill = nil
			p.signal(syscall.SIGKILL)
		}
	}
}

// signal reaches every process of the group; one that has no members any more is not an error.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// killedBy names the signal that ended the process, "" if it exited.
func killedBy(state *os.ProcessState) string {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal().String()
	}
	return ""
}

// diedOf reports whether the process ended by the signal, or exited as shells do when it reached one of theirs.
func diedOf(state *os.ProcessState, s syscall.Signal) bool {
	w, ok := state.Sys().(syscall.WaitStatus)
	return ok && ((w.Signaled() && w.Signal() == s) || w.ExitStatus() == 128+int(s))
}

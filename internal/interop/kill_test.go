package interop

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// TestKilledWorkers kills worker processes at random moments while jobs are added and run.
func TestKilledWorkers(t *testing.T) {
	f := newFaulty(t)
	var workers []*exec.Cmd
	for i := range 3 {
		workers = append(workers, startWorkerProcess(t, workerSpec{f.server.Socket, fmt.Sprint("process-", i), faultLock}))
	}
	stop, produced := make(chan struct{}), make(chan error, 1)
	go func() { produced <- f.produce(stop) }()
	for range 12 {
		before := f.begun()
		f.await("another handler has begun", func() bool { return f.begun() > before })
		time.Sleep(rand.N(200 * time.Millisecond))
		i := rand.N(len(workers))
		kill(workers[i])
		workers[i] = startWorkerProcess(t, workerSpec{f.server.Socket, fmt.Sprint("process-", i), faultLock})
	}
	close(stop)
	require.NoError(t, <-produced)
	f.settle()
	d, err := takeDump(t.Context(), f.direct)
	require.NoError(t, err)
	recovered := 0
	for id := range f.by {
		if d[f.q.JobKey(id)+"|stc"] != "" {
			recovered++
		}
	}
	require.Positive(t, recovered, "no worker was killed in mid-job: the test shows nothing")
}

// TestKilledInMidJob has one job run in a process that is killed, and another process finish it.
func TestKilledInMidJob(t *testing.T) {
	f := newFaulty(t)
	first := startWorkerProcess(t, workerSpec{f.server.Socket, "first", faultLock})
	job, err := f.q.Add(t.Context(), "slow", map[string]int{"ms": 1500}, engine.JobOptions{})
	require.NoError(t, err)
	f.awaitBegun(1)
	kill(first)
	startWorkerProcess(t, workerSpec{f.server.Socket, "second", 30 * time.Second})
	f.awaitState(job.ID, keys.Completed)
	done, err := f.q.Job(t.Context(), job.ID)
	require.NoError(t, err)
	require.Equal(t, "second", done.ProcessedBy)
	require.Equal(t, []int{1, 2, 1}, []int{done.AttemptsMade, done.AttemptsStarted, done.StalledCount})
}

// TestTerminatedInMidJob has a worker process end its jobs after SIGTERM, take no more, and exit with 0.
func TestTerminatedInMidJob(t *testing.T) {
	f := newFaulty(t)
	worker := startWorkerProcess(t, workerSpec{f.server.Socket, "only", 30 * time.Second})
	specs := make([]engine.JobSpec, 12)
	for i := range specs {
		specs[i] = engine.JobSpec{Name: "slow", Data: map[string]int{"ms": 800}}
	}
	_, err := f.q.AddBulk(t.Context(), specs)
	require.NoError(t, err)
	f.awaitBegun(5)
	require.NoError(t, worker.Process.Signal(syscall.SIGTERM))
	require.NoError(t, worker.Wait(), "exit code")
	counts, err := f.q.Counts(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, counts[keys.Completed])
	require.EqualValues(t, 7, counts[keys.Waiting])
	require.Zero(t, counts[keys.Active])
}

func (f *faulty) awaitState(id string, want keys.State) {
	f.t.Helper()
	f.await(fmt.Sprintf("job %s is %s", id, want), func() bool {
		s, err := f.q.State(f.t.Context(), id)
		return err == nil && s == want
	})
}

// awaitBegun waits until n handlers of worker processes have begun.
func (f *faulty) awaitBegun(n int) {
	f.t.Helper()
	f.await(fmt.Sprintf("%d handlers have begun", n), func() bool { return f.begun() == n })
}

// begun counts the jobs of which a worker process has begun to run the handler.
func (f *faulty) begun() int { return len(f.direct.Keys(f.t.Context(), f.q.Key("*:logs")).Val()) }

func (f *faulty) await(what string, ok func() bool) {
	f.t.Helper()
	require.Eventually(f.t, ok, patience, 10*time.Millisecond, what)
}

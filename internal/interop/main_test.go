package interop

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"bullpen/internal/engine"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// workerEnv makes the test binary a worker process: its value says of what.
const workerEnv = "BULLPEN_INTEROP_WORKER"

func TestMain(m *testing.M) {
	if text := os.Getenv(workerEnv); text != "" {
		os.Exit(workerMain(text))
	}
	flag.Parse()
	// Faults, schedulers and listeners wait most of their time, so more of them go at once than there are cores.
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set("6"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// workerSpec is what a worker process needs to know.
type workerSpec struct {
	Socket, Name string
	Lock         time.Duration
}

// logged leaves a row in the job's log when its handler has begun.
func logged(ctx context.Context, j *engine.Job) (any, error) {
	if _, err := j.Log(ctx, "begun"); err != nil {
		return nil, err
	}
	return asNode(ctx, j)
}

// workerMain works until SIGTERM and then drains.
func workerMain(text string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var spec workerSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	options := func(name string) *redis.Options {
		return &redis.Options{Network: "unix", Addr: spec.Socket, ClientName: name}
	}
	q, err := engine.NewQueue(engine.QueueOptions{Client: redis.NewClient(options("")), Name: "q"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	w, err := engine.NewWorker(engine.WorkerOptions{
		Queue: q, Name: spec.Name, Concurrency: 5, Handler: logged, DrainDelay: time.Second,
		LockDuration: spec.Lock, StalledInterval: faultStalled, MaxStalledCount: &faultStalls,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Blocking: func(name string) redis.UniversalClient {
			o := options(name)
			o.MaxRetries = -1
			return redis.NewClient(o)
		},
	})
	if err == nil {
		err = w.Start(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if left, err := w.Stop(grace); err != nil || len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left:", left, err)
		return 1
	}
	return 0
}

// startWorkerProcess runs a worker in a process of its own; it is killed when the test ends, if it still runs.
func startWorkerProcess(t testing.TB, spec workerSpec) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(cmd) })
	return cmd
}

// kill ends a process with SIGKILL, if it still runs.
func kill(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

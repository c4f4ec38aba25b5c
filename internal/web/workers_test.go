package web

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// employ puts workers into the snapshot.
func (b *bench) employ(workers ...monitor.Worker) {
	b.t.Helper()
	snap := *b.monitor.Snapshot()
	for i := range workers {
		if workers[i].Queue.Name == "" {
			workers[i].Queue = b.queue.Queue
		}
	}
	snap.Workers = workers
	b.monitor.publish(&snap)
}

func TestWorkersPage(t *testing.T) {
	b := newBench(t)
	has(t, b.get("/workers").body, "No worker is connected")
	b.add(2, engine.JobOptions{})
	w, err := engine.NewWorker(engine.WorkerOptions{
		Queue: b.queue, Name: "ada", LockDuration: time.Hour,
		Handler:  func(context.Context, *engine.Job) (any, error) { return nil, nil },
		Blocking: func(string) redis.UniversalClient { return redisServer.Client(t) },
	})
	require.NoError(t, err)
	job, err := w.NextJob(t.Context())
	require.NoError(t, err)
	require.NotNil(t, job)
	b.recount()
	b.employ(
		monitor.Worker{Name: "ada", Bullpen: true, Host: "host-1", PID: 7, Concurrency: 4, Version: "1.2.3", PolicyHash: "aaa"},
		monitor.Worker{Name: "bob", Bullpen: true, Host: "host-2", PID: 8, Concurrency: 4, Version: "1.2.3", PolicyHash: "aaa"},
		monitor.Worker{Name: "<i>eve</i>", Bullpen: true, Host: "host-3", PID: 9, Concurrency: 4, Version: "1.2.2", PolicyHash: "bbb", Revision: 3},
		monitor.Worker{Addr: "10.0.0.7:4711", Connected: 3 * time.Hour, Idle: 2 * time.Second},
	)
	page := b.get("/workers").body
	has(t, page, "4\u00a0workers")
	has(t, page, "host-1, process 7")
	has(t, page, `1<span class="q"> of 4</span>`, "the job that ada runs")
	has(t, page, `0<span class="q"> of 4</span>`, "bob runs none")
	has(t, page, "&lt;i&gt;eve&lt;/i&gt;")
	has(t, page, "no name")
	has(t, page, "10.0.0.7:4711")
	has(t, page, "bbb, revision 3")
	require.Equal(t, 1, strings.Count(page, "policy differs"))
	page = b.get("/workers?q=HOST-2").body
	has(t, page, "bob")
	hasNot(t, page, "host-1")
	has(t, b.get("/workers?q=zzz").body, "No worker matches")
}

func TestWorkersUnknown(t *testing.T) {
	b := newBench(t)
	snap := *b.monitor.Snapshot()
	snap.WorkersErr = "this user may not run CLIENT LIST: grant it +client|list"
	b.monitor.publish(&snap)
	page := b.get("/workers").body
	has(t, page, "+client|list")
	has(t, page, "Whether others are is unknown.")
}

func TestWorkersOfHiddenQueuesAreNotShown(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.Auth = fixed{Identity{Name: "eve", Role: Viewer, Queues: []string{"other-*"}}}
	})
	b.employ(monitor.Worker{Name: "ada"})
	hasNot(t, b.get("/workers").body, "ada")
}

func TestWorkersPages(t *testing.T) {
	b := newBench(t)
	var many []monitor.Worker
	for i := range workerQueues + 1 {
		many = append(many, monitor.Worker{Queue: keys.Queue{Prefix: b.queue.Prefix, Name: fmt.Sprintf("q%02d", i)}, Name: "w"})
	}
	b.employ(many...)
	page := b.get("/workers").body
	has(t, page, "q19")
	hasNot(t, page, "q20")
	page = b.get("/workers?page=2").body
	has(t, page, "q20")
	hasNot(t, page, "q19")
	has(t, b.get("/workers?page=99").body, "q20")
}

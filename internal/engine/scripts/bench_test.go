package scripts_test

import (
	"fmt"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

// BenchmarkCycle adds, takes and completes jobs in batches over one connection; it reports jobs per second.
func BenchmarkCycle(b *testing.B) {
	for _, n := range []int{1, 10, 50} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			run := scripts.New(server.Client(b))
			q := scripts.Target{Queue: keys.Queue{Prefix: server.Prefix(), Name: "q"}}
			jobs := make([]scripts.NewJob, n)
			for i := range jobs {
				jobs[i] = plainJob("")
			}
			take := scripts.FetchOptions{Token: "tok", LockDuration: time.Minute, Count: n}
			keep := int64(100)
			ctx := b.Context()
			for b.Loop() {
				_, err := run.AddJobs(ctx, q, t0, jobs)
				require.NoError(b, err)
				taken, err := run.Fetch(ctx, q, t0, take)
				require.NoError(b, err)
				require.Len(b, taken.Jobs, n)
				finished := make([]scripts.FinishedJob, n)
				for i, j := range taken.Jobs {
					finished[i] = scripts.FinishedJob{
						Lock: scripts.Lock{ID: j.ID, Token: "tok"}, Result: "null", Keep: scripts.Keep{Count: &keep},
					}
				}
				codes, _, err := run.Finish(ctx, q, t0, finished, scripts.FinishOptions{})
				require.NoError(b, err)
				require.Equal(b, ok(n), codes)
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

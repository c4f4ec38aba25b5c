package search

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var server *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &server)) }

// rig is queues of their own on the shared Redis.
type rig struct {
	t      *testing.T
	client *redis.Client
	prefix string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return &rig{t, server.Client(t), server.Prefix()}
}

func (r *rig) queue(name string) *engine.Queue {
	r.t.Helper()
	q, err := engine.NewQueue(engine.QueueOptions{Client: r.client, Prefix: r.prefix, Name: name})
	require.NoError(r.t, err)
	return q
}

// epoch is when the jobs of end begin to end.
var epoch = time.Date(2026, 3, 12, 10, 0, 0, 0, time.UTC)

// end writes n ended jobs as a worker leaves them, numbered from 0; together of them ended in each millisecond.
func (r *rig) end(q *engine.Queue, st keys.State, n, together int) {
	r.t.Helper()
	const some = 5000 // Redis does nothing else while a script runs
	for i := 0; i < n; i += some {
		args := []any{q.Base(), i, min(i+some, n), together, epoch.UnixMilli()}
		require.NoError(r.t, seed.Run(r.t.Context(), r.client, []string{q.Key(string(st))}, args...).Err())
	}
}

// seed writes jobs within Redis, which is a lot faster than sending them.
var seed = redis.NewScript(`
for i = ARGV[2], ARGV[3] - 1 do
  local at = ARGV[5] + math.floor(i / ARGV[4])
  local id = string.format("j%06d", i)
  redis.call("HSET", ARGV[1] .. id, "name", "send", "data", string.format('{"n":%d,"customer":{"id":%d}}', i, i % 100),
    "opts", '{"attempts":3}', "timestamp", at - 1000, "processedOn", at - 10, "finishedOn", at, "atm", i % 4,
    "failedReason", "boom " .. i)
  redis.call("ZADD", KEYS[1], at, id)
end
return redis.status_reply("OK")`)

func (r *rig) add(q *engine.Queue, n int, o engine.JobOptions) []string {
	r.t.Helper()
	specs := make([]engine.JobSpec, n)
	for i := range specs {
		specs[i] = engine.JobSpec{Name: "send", Data: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)), Options: o}
	}
	jobs, err := q.AddBulk(r.t.Context(), specs)
	require.NoError(r.t, err)
	ids := make([]string, n)
	for i, j := range jobs {
		ids[i] = j.ID
	}
	return ids
}

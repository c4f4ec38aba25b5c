package processor

import (
	"encoding/json"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var srv *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &srv)) }

var hooks = keys.Queue{Prefix: "bull", Name: "hooks"}

// aJob is a job in its second attempt of five.
func aJob() *engine.Job {
	return &engine.Job{
		ID: "17", Name: "order.paid", Data: json.RawMessage(`{"order":1}`),
		RawOpts: json.RawMessage(`{"attempts":5}`), Opts: engine.JobOptions{Attempts: 5},
		AttemptsMade: 1, AttemptsStarted: 3, Timestamp: time.UnixMilli(1764500000000),
	}
}

// eventually waits until ok, or fails the test after a minute: a busy machine may take long.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, time.Minute, 5*time.Millisecond)
}

package judge

import (
	"os"
	"testing"
	"time"
)

// judgeVariable, when set, makes everything as large as promised and names the file that gets the figures.
const judgeVariable = "BULLPEN_JUDGE"

// scale is how much there is to measure with.
type scale struct {
	queues, failed, payload int
	// requests is how often a page is asked for, tabs how many are open, window how long rates are measured, rounds how
	// often few tabs are compared with many.
	requests, tabs, rounds int
	window                 time.Duration
}

var (
	full  = scale{queues: 5000, failed: 1_000_000, payload: 30 << 20, requests: 200, tabs: 50, rounds: 3, window: 20 * time.Second}
	small = scale{queues: 40, failed: 1000, payload: 2 << 20, requests: 1, tabs: 50, rounds: 1, window: 200 * time.Millisecond}
)

// TestJudge measures everything, one thing after the other, so that nothing disturbs another figure.
func TestJudge(t *testing.T) {
	path := os.Getenv(judgeVariable)
	s := small
	if path != "" {
		s = full
	}
	r := &report{timed: path != ""}
	t.Run("queues", func(t *testing.T) { judgeQueues(t, s, r) })
	t.Run("failed", func(t *testing.T) { judgeFailed(t, s, r) })
	t.Run("payload", func(t *testing.T) { judgePayload(t, s, r) })
	for _, f := range r.figures {
		t.Log(f.line())
	}
	if path != "" && !t.Failed() {
		r.write(t, path)
	}
	r.judge(t)
}

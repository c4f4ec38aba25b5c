package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor"
	"bullpen/internal/testredis"
)

// TestScrapesAskRedisNothing takes Redis away after one pass: scrapes still answer with its figures, and are no reason
// for another pass.
func TestScrapesAskRedisNothing(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	declared := map[keys.Queue]policy.Policy{}
	pipe := srv.Client(t).Pipeline()
	for i := range 500 {
		q := keys.Queue{Prefix: "bull", Name: fmt.Sprintf("q%03d", i)}
		declared[q] = policy.Policy{}
		pipe.HSet(t.Context(), q.Meta(), "version", "bullmq:6.7.0")
		pipe.LPush(t.Context(), q.Wait(), "1")
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := srv.Client(t)
	watch, err := monitor.New(monitor.Options{Client: c, Declared: declared, Tick: 100 * time.Millisecond, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if s := watch.Snapshot(); len(s.Queues) == len(declared) && s.Queues[0].Counts != nil && s.Queues[499].Counts != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the queues are not read")
		}
	}
	watch.Stop()
	srv.Kill()
	m := New(Options{})
	m.Watch(watch)
	before := watch.Snapshot()
	for range 10 {
		if got := strings.Count(text(t, m, ""), `state="waiting"} 1`); got != len(declared) {
			t.Fatalf("a scrape has %d queues, want %d", got, len(declared))
		}
	}
	if watch.Snapshot() != before {
		t.Error("a scrape made a pass")
	}
}

package monitor

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/redis/go-redis/v9"
)

// quickPace makes takeovers and commits fast enough for tests.
func quickPace() pace {
	return pace{
		house: 20 * time.Millisecond, renew: 100 * time.Millisecond, lease: time.Second,
		read: 5 * time.Millisecond, idle: time.Hour,
	}
}

// testFollowers are followers under test.
type testFollowers struct {
	*followers
	stop func()
}

// followWith starts followers of some queues. change may alter the options.
func followWith(t *testing.T, c redis.UniversalClient, change func(*followerOptions), queues ...keys.Queue) testFollowers {
	t.Helper()
	o := followerOptions{
		client: c, queues: func() []keys.Queue { return queues },
		policy: func(keys.Queue) policy.Policy { return policy.Policy{} },
		logger: slog.New(slog.DiscardHandler), clock: time.Now, pace: quickPace(),
	}
	for _, q := range queues {
		if len(o.prefixes) == 0 || o.prefixes[0] != q.Prefix {
			o.prefixes = append(o.prefixes, q.Prefix)
		}
	}
	if change != nil {
		change(&o)
	}
	f, err := newFollowers(o)
	if err != nil {
		t.Fatal(err)
	}
	f.Start()
	stop := sync.OnceFunc(f.Stop)
	t.Cleanup(stop)
	return testFollowers{f, stop}
}

func follow(t *testing.T, c redis.UniversalClient, queues ...keys.Queue) testFollowers {
	t.Helper()
	return followWith(t, c, nil, queues...)
}

// eventually polls until ok, for at most ten seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("timed out waiting until %s", what)
}

func (f testFollowers) waitUntilReading(t *testing.T, q keys.Queue) {
	t.Helper()
	eventually(t, "the stream of "+q.Name+" is read", func() bool {
		_, known := f.Totals(q)
		return known && f.Stat(q).Reading
	})
}

func (f testFollowers) waitForTotals(t *testing.T, q keys.Queue, ok func(EventTotals) bool) EventTotals {
	t.Helper()
	var got EventTotals
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if got, _ = f.Totals(q); ok(got) {
			return got
		}
	}
	t.Fatalf("timed out; the totals are %+v", got)
	return got
}

// emit appends events, each a list of field, value.
func emit(t *testing.T, c redis.UniversalClient, q keys.Queue, events ...[]string) {
	t.Helper()
	pipe := c.TxPipeline()
	for _, e := range events {
		pipe.XAdd(context.Background(), &redis.XAddArgs{Stream: q.Events(), Values: e})
	}
	if _, err := pipe.Exec(context.Background()); err != nil {
		t.Fatal(err)
	}
}

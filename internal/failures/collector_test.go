package failures

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/fold"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var server *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &server)) }

// rig is a collector over queues of its own, and a clock.
type rig struct {
	*Collector
	t      *testing.T
	client *redis.Client
	prefix string
	now    time.Time
	queues []keys.Queue
	seq    int
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	r := &rig{t: t, client: server.Client(t), prefix: server.Prefix(), now: time.Date(2026, 3, 12, 14, 22, 5, 0, time.UTC)}
	o.Queue = func(id keys.Queue) (*engine.Queue, error) {
		return engine.NewQueue(engine.QueueOptions{Client: r.client, Prefix: id.Prefix, Name: id.Name})
	}
	o.Clock = func() time.Time { return r.now }
	if o.Time == 0 {
		o.Time = time.Minute // a busy machine is not what is tested
	}
	c, err := New(o)
	require.NoError(t, err)
	r.Collector = c
	for _, name := range []string{"a", "b"} {
		r.queues = append(r.queues, keys.Queue{Prefix: r.prefix, Name: name})
	}
	return r
}

// fail writes n failed jobs, a second apart, the last one ago before now.
func (r *rig) fail(q keys.Queue, n int, ago time.Duration, name, reason string) (last string) {
	r.t.Helper()
	p := r.client.Pipeline()
	for i := range n {
		at := r.now.Add(-ago - time.Duration(n-1-i)*time.Second).UnixMilli()
		r.seq++
		last = fmt.Sprintf("j%d", r.seq)
		p.HSet(r.t.Context(), q.Job(last), "name", name, "failedReason", strings.ReplaceAll(reason, "#", strconv.Itoa(r.seq)), "timestamp", at, "finishedOn", at, "atm", 1, "opts", `{"attempts":2}`)
		p.ZAdd(r.t.Context(), q.Failed(), redis.Z{Score: float64(at), Member: last})
	}
	_, err := p.Exec(r.t.Context())
	require.NoError(r.t, err)
	return last
}

func everything(keys.Queue) bool { return true }

// look lets time pass and returns the groups as "3 send: User <n> not found".
func (r *rig) look() ([]string, *Report) {
	r.now = r.now.Add(time.Hour / 100)
	rep := r.Look(r.t.Context(), r.queues)
	var out []string
	for _, g := range rep.Groups(everything) {
		out = append(out, fmt.Sprintf("%d %s: %s", g.Count, g.Name, g.Error))
	}
	return out, rep
}

func TestGroups(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	a, b := r.queues[0], r.queues[1]
	r.fail(a, 3, 30*time.Minute, "send", "User # not found")
	r.fail(b, 2, 5*time.Hour+30*time.Minute, "send", "User # not found")
	r.fail(a, 4, 25*time.Hour, "send", "boom")
	newest := r.fail(a, 1, time.Minute, "pull", "User # not found")
	require.NoError(t, r.client.ZAdd(t.Context(), b.Failed(), redis.Z{Score: 5, Member: "ghost"}).Err())

	got, rep := r.look()
	require.ElementsMatch(t, []string{"5 send: User <n> not found", "4 send: boom", "1 pull: User <n> not found", "1 : "}, got)
	require.Equal(t, "5 send: User <n> not found", got[0], "the largest first")
	seen, total := rep.Seen(everything)
	require.EqualValues(t, 11, seen)
	require.EqualValues(t, 11, total)

	g := rep.Groups(everything)[0]
	require.Equal(t, fold.ID("send", "User <n> not found"), g.ID)
	require.Equal(t, []Share{{a, 3}, {b, 2}}, g.Queues)
	require.EqualValues(t, 5, g.Final, "attempts were left")
	require.EqualValues(t, 3, g.Trend[Hours-1])
	require.EqualValues(t, 2, g.Trend[Hours-6])
	require.Equal(t, "j3", g.Sample.ID)
	require.Equal(t, "User 3 not found", g.Sample.Error)
	require.True(t, g.Last.After(g.First))

	mine := rep.Groups(func(q keys.Queue) bool { return q == b })
	require.Len(t, mine, 2)
	require.EqualValues(t, 2, mine[0].Count, "what is in other queues is not told")

	// What leaves is forgotten, what comes is counted.
	require.NoError(t, r.client.ZRem(t.Context(), a.Failed(), newest, "j1").Err())
	r.fail(b, 1, 0, "new", "oh")
	got, _ = r.look()
	require.ElementsMatch(t, []string{"4 send: User <n> not found", "4 send: boom", "1 new: oh", "1 : "}, got)
	r.queues = r.queues[1:]
	got, _ = r.look()
	require.Len(t, got, 3, "a queue that is gone is forgotten")
	require.Len(t, r.shelves, 1)
	require.Equal(t, r.held, len(r.shelves[b].jobs))
}

// TestPassesAreBounded: each pass reads so many and no more, and what was not seen is told.
func TestPassesAreBounded(t *testing.T) {
	t.Parallel()
	for memory, want := range map[int][]int64{1800: {1000, 1600, 1600}, 1000: {900, 900, 900}, 400: {400, 400, 400}} {
		r := newRig(t, Options{Step: 300, Depth: 900, Pass: 1000, Memory: memory})
		r.fail(r.queues[0], 2000, 0, "send", "boom #")
		r.fail(r.queues[1], 700, 0, "send", "boom #")
		var seen []int64
		for range want {
			_, rep := r.look()
			n, total := rep.Seen(everything)
			require.EqualValues(t, 2700, total)
			seen = append(seen, n)
		}
		require.Equal(t, want, seen, "memory for %d", memory)
		require.False(t, r.last.Load().Queues[0].Since.IsZero())
	}
}

func TestNothingNewIsNotReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.fail(r.queues[0], 50, 0, "send", "boom #")
	r.look()
	first := r.shelves[r.queues[0]].jobs
	r.look()
	require.Equal(t, fmt.Sprintf("%p", first), fmt.Sprintf("%p", r.shelves[r.queues[0]].jobs))
}

func TestOnePassServesAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.fail(r.queues[0], 5, 0, "send", "boom #")
	var wg sync.WaitGroup
	reports := make([]*Report, 20)
	for i := range reports {
		wg.Go(func() { reports[i] = r.Look(context.Background(), r.queues) })
	}
	wg.Wait()
	for _, rep := range reports {
		require.Same(t, reports[0], rep)
	}
	r.Refresh()
	require.NotSame(t, reports[0], r.Look(t.Context(), r.queues))
	r.now = r.now.Add(time.Second)
	require.Same(t, r.last.Load(), r.Look(t.Context(), r.queues), "young enough")
}

func TestTroubleIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	r.fail(r.queues[0], 5, 0, "send", "boom #")
	require.NoError(t, r.client.Set(t.Context(), r.queues[1].Failed(), "x", 0).Err())
	got, rep := r.look()
	require.Equal(t, []string{"5 send: boom <n>"}, got)
	require.Error(t, rep.Queues[1].Err)
	require.NoError(t, r.client.Set(t.Context(), r.queues[0].Failed(), "x", 0).Err())
	got, rep = r.look()
	require.Equal(t, []string{"5 send: boom <n>"}, got, "the figures of before")
	require.Error(t, rep.Queues[0].Err)
	_, err := New(Options{})
	require.Error(t, err)
}

func TestTimeEndsAPass(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{Time: time.Nanosecond})
	r.fail(r.queues[0], 600, 0, "send", "boom #")
	_, rep := r.look()
	seen, total := rep.Seen(everything)
	require.Zero(t, seen)
	require.EqualValues(t, 600, total)
	r.o.Time = time.Minute
	got, _ := r.look()
	require.Equal(t, []string{"600 send: boom <n>"}, got, "the next pass goes on")
}

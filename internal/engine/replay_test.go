package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
)

// deadQueue is another queue of q's prefix.
func deadQueue(t testing.TB, q *Queue) *Queue {
	t.Helper()
	dead, err := NewQueue(QueueOptions{Client: q.client, Prefix: q.Prefix, Name: "dead"})
	if err != nil {
		t.Fatal(err)
	}
	return dead
}

// bury adds n jobs, lets a worker fail each for good and returns their ids and letters.
func bury(t testing.TB, q *Queue, o *redis.Options, n int, options JobOptions) (ids, letters []string) {
	t.Helper()
	ids = addMany(t, q, n, options)
	w := newWorker(t, q, func(context.Context, *Job) (any, error) { return nil, errors.New("boom") }, func(wo *WorkerOptions) {
		wo.DeadLetter, wo.Concurrency, wo.Blocking = "dead", 20, blockingOn(o)
	})
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	dead := deadQueue(t, q)
	awaitCount(t, dead, keys.Waiting, int64(n))
	if _, err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := dead.IDs(t.Context(), keys.Waiting, 0, int64(n), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		i := slices.IndexFunc(found, func(letter string) bool { return strings.HasPrefix(letter, q.Name+"."+id+".") })
		if i < 0 {
			t.Fatalf("job %s has no letter", id)
		}
		letters = append(letters, found[i])
	}
	return ids, letters
}

func TestReplayRunsTheOriginalAgain(t *testing.T) {
	t.Parallel()
	for _, kept := range []int64{-1, 0} {
		q := newQueue(t)
		options := JobOptions{Attempts: 2, KeepFailed: &Keep{Count: &kept}}
		ids, letters := bury(t, q, srv.Options(), 1, options)
		dead := deadQueue(t, q)
		told := read(t, dead, letters[0]).DeadLetter()
		if told == nil || told.Queue != "q" || told.ID != ids[0] || told.Reason != "boom" || told.AttemptsMade != 2 {
			t.Fatalf("the letter tells %+v", told)
		}
		r, err := dead.ReplayOne(t.Context(), letters[0])
		if want := (Replay{Letter: letters[0], Queue: "q", ID: ids[0], Again: kept == 0}); err != nil || r != want {
			t.Fatalf("replay = %+v, %v; want %+v", r, err, want)
		}
		j := read(t, q, ids[0])
		from := j.ReplayedFrom()
		if from == nil || from.Queue != "dead" || from.ID != letters[0] || from.At == 0 {
			t.Errorf("the job says it came from %+v", from)
		}
		if at, err := dead.ReplayedAt(t.Context(), letters[0]); err != nil || at.UnixMilli() != from.At {
			t.Errorf("letter replayed at %v, %v", at, err)
		}
		if j.AttemptsMade != 0 || len(j.Stacktrace) != 2 || j.Opts.Attempts != 2 || string(j.Data) != "0" {
			t.Errorf("replayed job %+v", j)
		}
		startWorker(t, q, func(context.Context, *Job) (any, error) { return "well", nil }, nil)
		awaitState(t, q, ids[0], keys.Completed)
		if n := counts(t, dead)[keys.Waiting]; n != 0 {
			t.Errorf("%d letters are left", n)
		}
	}
}

func TestReplayRefusesWithTheReason(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ids, letters := bury(t, q, srv.Options(), 3, JobOptions{})
	dead := deadQueue(t, q)
	if err := q.RetryJob(t.Context(), keys.Failed, ids[0], true); err != nil {
		t.Fatal(err)
	}
	other := add(t, dead, "n", nil, JobOptions{})
	if _, err := dead.ReplayOne(t.Context(), letters[1]); err != nil {
		t.Fatal(err)
	}
	told, err := dead.DeadLetters(t.Context(), []string{letters[2], other.ID, "nobody"})
	if err != nil || told[0] == nil || told[0].ID != ids[2] || told[1] != nil || told[2] != nil {
		t.Errorf("the letters tell %v, %v", told, err)
	}
	replayed, refused, err := dead.Replay(t.Context(), []string{letters[0], letters[1], letters[2], other.ID, "nobody"})
	if err != nil || len(replayed) != 1 || replayed[0].ID != ids[2] {
		t.Fatalf("replayed %+v, %v", replayed, err)
	}
	want := []struct {
		id   string
		err  error
		text string
	}{
		{letters[0], ErrOriginalNotFailed, "job " + ids[0] + " of q is waiting, not failed"},
		{letters[1], ErrReplayed, "dead letter " + letters[1] + " was replayed before"},
		{other.ID, ErrNotDeadLetter, "job " + other.ID + " is not a dead letter"},
		{"nobody", ErrJobNotFound, "Missing key for job nobody. replay"},
	}
	if len(refused) != len(want) {
		t.Fatalf("refused %+v", refused)
	}
	for i, w := range want {
		if r := refused[i]; r.ID != w.id || !errors.Is(r.Err, w.err) || r.Err.Error() != w.text {
			t.Errorf("refusal %d = %s: %v, want %s: %s", i, r.ID, r.Err, w.id, w.text)
		}
	}
}

func TestReplayBatches(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	_, _ = bury(t, q, srv.Options(), 1200, JobOptions{})
	dead := deadQueue(t, q)
	add(t, dead, "n", nil, JobOptions{})
	batches, done, refusals := 0, 0, 0
	err := dead.ReplayBatches(t.Context(), func(r []Replay, no []Refusal) error {
		batches, done, refusals = batches+1, done+len(r), refusals+len(no)
		return nil
	})
	if err != nil || batches != 2 || done != 1200 || refusals != 1 {
		t.Errorf("%d batches, %d done, %d refused, %v", batches, done, refusals, err)
	}
	if n := counts(t, q)[keys.Waiting]; n != 1200 {
		t.Errorf("%d jobs wait again", n)
	}
	stop := errors.New("stop")
	if err := dead.ReplayBatches(t.Context(), func([]Replay, []Refusal) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the error of a step is %v", err)
	}
}

// lostReplies lets commands run and then reports that the connection broke.
type lostReplies struct{ left int }

func (l *lostReplies) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *lostReplies) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *lostReplies) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if l.left > 0 && err == nil && cmd.Name() == "evalsha" {
			l.left--
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return err
	}
}

func TestReplayWhoseReplyWasLostIsOnce(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ids, letters := bury(t, q, srv.Options(), 1, JobOptions{})
	client := srv.Client(t)
	hook := &lostReplies{left: 1}
	dead, err := NewQueue(QueueOptions{Client: client, Prefix: q.Prefix, Name: "dead"})
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.runner.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	client.AddHook(hook)
	if _, err := dead.ReplayOne(t.Context(), letters[0]); !errors.Is(err, io.EOF) {
		t.Fatalf("the lost reply is %v", err)
	}
	if _, err := dead.ReplayOne(t.Context(), letters[0]); !errors.Is(err, ErrReplayed) {
		t.Fatalf("the repetition is %v", err)
	}
	if state(t, q, ids[0]) != keys.Waiting || counts(t, q)[keys.Waiting] != 1 {
		t.Errorf("the job is not there once: %v", counts(t, q))
	}
}

// TestReplayThroughCrashes kills Redis again and again while letters are replayed: each job is in exactly one place.
func TestReplayThroughCrashes(t *testing.T) {
	t.Parallel()
	own := testredis.Start(t)
	q := queueOn(t, own.Client(t), "p")
	// With everysec the first crash could take back that the jobs failed.
	if err := q.client.ConfigSet(t.Context(), "appendfsync", "always").Err(); err != nil {
		t.Fatal(err)
	}
	const n = 300
	ids, letters := bury(t, q, own.Options(), n, JobOptions{})
	dead := deadQueue(t, q)
	if _, _, err := q.Remove(t.Context(), ids[n/2:], false); err != nil { // these will be added again
		t.Fatal(err)
	}
	for crash := 0; crash < 6; crash++ {
		killed := make(chan struct{})
		after := time.Duration(rand.IntN(4000)) * time.Microsecond
		go func() {
			defer close(killed)
			time.Sleep(after)
			own.Kill()
		}()
		for i := range letters {
			if _, _, err := dead.Replay(t.Context(), letters[i:i+1]); err != nil {
				break
			}
		}
		<-killed
		own.Restart(t)
		for i, id := range ids {
			requireOnePlace(t, q, dead, id, letters[i])
		}
	}
	if _, _, err := dead.Replay(t.Context(), letters); err != nil {
		t.Fatal(err)
	}
	if w, l := counts(t, q)[keys.Waiting], counts(t, dead)[keys.Waiting]; w != n || l != 0 {
		t.Errorf("%d jobs wait and %d letters are left", w, l)
	}
}

// requireOnePlace checks that a job either waits again or has its letter.
func requireOnePlace(t *testing.T, q, dead *Queue, id, letter string) {
	t.Helper()
	var waits, told, listed bool
	// The first commands after a restart may meet connections of the time before.
	eventually(t, "redis answers", func() bool {
		_, w := q.client.LPos(t.Context(), q.Wait(), id, redis.LPosArgs{}).Result()
		n, e := q.client.Exists(t.Context(), dead.JobKey(letter)).Result()
		_, l := q.client.LPos(t.Context(), dead.Wait(), letter, redis.LPosArgs{}).Result()
		waits, told, listed = w == nil, n == 1, l == nil
		return e == nil && (w == nil || w == redis.Nil) && (l == nil || l == redis.Nil)
	})
	if waits == told || told != listed {
		t.Fatalf("job %s waits: %v; its letter exists: %v, is listed: %v", id, waits, told, listed)
	}
}

func ExampleQueue_Replay() {
	letter := Job{RawOpts: json.RawMessage(`{"deadLetter":{"queue":"webhooks","id":"17","reason":"503","attemptsMade":5,"failedAt":1764500000000,"opts":{}}}`)}
	fmt.Println(letter.DeadLetter().Queue, letter.DeadLetter().ID)
	// Output: webhooks 17
}

func TestReplayOnTheInProcessStore(t *testing.T) {
	t.Parallel()
	q := queueOn(t, testredis.Memory(t), "p")
	dead := deadQueue(t, q)
	for _, id := range []string{"kept", "gone"} {
		j := add(t, q, "n", id, JobOptions{ID: id})
		_, err := q.client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			p.LRem(t.Context(), q.Wait(), 1, j.ID)
			p.ZAdd(t.Context(), q.Failed(), redis.Z{Score: 1, Member: j.ID})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		letter := add(t, dead, "n", id, JobOptions{ID: "letter-" + id})
		told := `{"deadLetter":{"queue":"q","id":"` + id + `","reason":"boom","attemptsMade":1,"failedAt":5,"opts":{"attempts":3}}}`
		if err := q.client.HSet(t.Context(), dead.JobKey(letter.ID), "opts", told).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.RemoveJob(t.Context(), "gone", false); err != nil {
		t.Fatal(err)
	}
	replayed, refused, err := dead.Replay(t.Context(), []string{"letter-kept", "letter-gone", "letter-kept"})
	if err != nil || len(replayed) != 2 || replayed[0].Again || !replayed[1].Again || len(refused) != 1 || !errors.Is(refused[0].Err, ErrReplayed) {
		t.Fatalf("replayed %+v, refused %+v, %v", replayed, refused, err)
	}
	if n := counts(t, q)[keys.Waiting]; n != 2 {
		t.Errorf("%d jobs wait", n)
	}
	if j := read(t, q, "gone"); j.Opts.Attempts != 3 || j.ReplayedFrom() == nil {
		t.Errorf("added again: %+v", j.Opts)
	}
}

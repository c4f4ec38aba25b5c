package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// watchdogSlack is how much later than its timeout a blocking read may answer before its connection counts as dead.
const watchdogSlack = 2 * time.Second

// errClosed ends the waker.
var errClosed = errors.New("waker is closed")

// waker waits for the queue's marker on a connection of its own (lifecycle 11.3). It only saves time: the loop polls
// whatever the waker says, so a read that hangs or fails costs latency and nothing else.
type waker struct {
	w     *Worker
	arm   chan struct{} // asks for one wait; buffered, the loop asks only when the last wait is over
	wakes chan wake

	mu     sync.Mutex
	client redis.UniversalClient
	closed bool
	quit   chan struct{}
}

// wake is how a wait ended: with a marker, or with member "" when its time was up or it failed.
type wake struct {
	member string
	score  float64
	failed bool
}

// The members of the marker set (lifecycle 5.3).
const (
	baseMarker  = "0" // something is ready
	delayMarker = "1" // score: when a delayed job becomes ready
)

func newWaker(w *Worker) *waker {
	return &waker{w: w, arm: make(chan struct{}, 1), wakes: make(chan wake), quit: make(chan struct{})}
}

func (k *waker) run(ctx context.Context) {
	trouble := trouble{log: k.w.log, level: slog.LevelDebug}
	for {
		select {
		case <-k.arm:
		case <-k.quit:
			return
		}
		woken, err := k.wait(ctx)
		if errors.Is(err, errClosed) {
			return
		}
		if err != nil {
			woken.failed = true
			k.sleep(trouble.failed(ctx, "waiting for jobs", err))
		} else {
			trouble.ok(ctx, "waiting for jobs")
		}
		select {
		case k.wakes <- woken:
		case <-k.quit:
			return
		}
	}
}

// wait blocks until a marker comes or the time is up.
func (k *waker) wait(ctx context.Context) (wake, error) {
	client, err := k.open()
	if err != nil {
		return wake{}, err
	}
	// The client cuts a blocking read to whole seconds, and a context does not end one. Closing the client does.
	block := max(k.w.o.DrainDelay.Truncate(time.Second), time.Second)
	watchdog := time.AfterFunc(block+watchdogSlack, func() { k.drop(client) })
	defer watchdog.Stop()
	popped, err := client.BZPopMin(ctx, block, k.w.q.Marker()).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return wake{}, nil
	case err != nil:
		if k.isClosed() {
			return wake{}, errClosed
		}
		return wake{}, err
	}
	member, _ := popped.Member.(string)
	return wake{member: member, score: popped.Score}, nil
}

// open returns the connection, a new one after the last was dropped.
func (k *waker) open() (redis.UniversalClient, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errClosed
	}
	if k.client == nil {
		k.client = k.w.o.Blocking(ConnectionName(k.w.q.Prefix, k.w.q.Name, k.w.o.Name))
	}
	return k.client, nil
}

// drop closes a connection that does not answer.
func (k *waker) drop(client redis.UniversalClient) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.client == client {
		_ = client.Close()
		k.client = nil
	}
}

// close ends the present wait, and all further ones. It may be called more than once.
func (k *waker) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	k.closed = true
	close(k.quit)
	if k.client != nil {
		_ = k.client.Close()
	}
}

func (k *waker) isClosed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.closed
}

func (k *waker) sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-k.quit:
	}
}

// woken draws the conclusion from a wait of the waker.
func (l *loop) woken(k wake) {
	l.armed = false
	switch {
	case k.failed:
		l.wanted = true // markers may have been missed
	case k.member == delayMarker:
		l.expect(instant(k.score))
	case k.member != "":
		l.wanted, l.owesWake = true, true
	}
}

// passWake wakes another worker in our place: a marker was consumed that we cannot follow.
func (l *loop) passWake() {
	l.owesWake = false
	q := l.w.q
	l.beside.Go(func() {
		if err := q.client.ZAdd(context.Background(), q.Marker(), redis.Z{Member: baseMarker}).Err(); err != nil {
			l.w.log.Debug("passing on a wake-up failed", "err", err)
		}
	})
}

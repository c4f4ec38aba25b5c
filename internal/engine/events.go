package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// Event is one entry of a queue's event stream (lifecycle 6).
type Event struct {
	ID     string            // of the stream entry, "<ms>-<n>"
	Name   string            // "added", "completed", …, or a custom name
	JobID  string            // "" for events of the whole queue
	Fields map[string]string // all fields of the entry
}

// EventsOptions configure NewQueueEvents.
type EventsOptions struct {
	Queue *Queue // required
	// Blocking returns a client of its own for the blocking read; it must carry the given connection name and have no
	// retries. QueueEvents closes it. Required.
	Blocking func(connectionName string) redis.UniversalClient
	// After is the id of the entry after which to begin; default the newest when Start is called.
	After string
	// Handle, if set, is called for every event, in order, from one goroutine.
	Handle func(Event)
	Logger *slog.Logger // default none
}

const (
	// eventsBlock is how long one read waits for events.
	eventsBlock = 10 * time.Second
	// eventsBatch bounds what one read returns.
	eventsBatch = 500
	// finishedPoll is how often a wait for a job's end looks for itself, should its event never come.
	finishedPoll = 5 * time.Second
)

// QueueEvents follows the event stream of one queue on a connection of its own. It survives reconnects: events written
// meanwhile are read as long as the stream still holds them. Entries it cannot make sense of are passed on or skipped,
// never an error.
type QueueEvents struct {
	o       EventsOptions
	q       *Queue
	trouble trouble

	mu      sync.Mutex
	client  redis.UniversalClient // nil before Start
	waiters map[string]map[chan Event]bool
	quit    chan struct{} // closed by Stop
	done    chan struct{} // closed when the reader has ended; nil before Start
	stopped bool
}

// NewQueueEvents validates o. It does not touch Redis.
func NewQueueEvents(o EventsOptions) (*QueueEvents, error) {
	switch {
	case o.Queue == nil:
		return nil, errors.New("queue events: the queue is missing")
	case o.Blocking == nil:
		return nil, errors.New("queue events: the function for the blocking connection is missing")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	log := o.Logger.With("component", "events", "queue", o.Queue.Name)
	return &QueueEvents{
		o: o, q: o.Queue, trouble: trouble{log: log, level: slog.LevelWarn},
		waiters: map[string]map[chan Event]bool{}, quit: make(chan struct{}),
	}, nil
}

// Start begins reading and returns at once, with the place in the stream settled: every later event is seen.
func (e *QueueEvents) Start(ctx context.Context) error {
	after := e.o.After
	if after == "" {
		var err error
		if after, err = e.newest(ctx); err != nil {
			return fmt.Errorf("follow events of %s: %w", e.q.Name, err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done != nil || e.stopped {
		return fmt.Errorf("follow events of %s: it was started or stopped before", e.q.Name)
	}
	e.client = e.o.Blocking(ConnectionName(e.q.Prefix, e.q.Name, "") + ":qe")
	e.done = make(chan struct{})
	go e.follow(after)
	return nil
}

// Stop ends the reading and waits until Handle is not running any more. It may be called more than once.
func (e *QueueEvents) Stop() {
	e.mu.Lock()
	done := e.done
	if !e.stopped {
		e.stopped = true
		close(e.quit)
		if e.client != nil {
			_ = e.client.Close() // which ends the blocking read
		}
	}
	e.mu.Unlock()
	if done != nil {
		<-done
	}
}

// newest is the id of the last entry, so that the place does not move between two reads as "$" would.
func (e *QueueEvents) newest(ctx context.Context) (string, error) {
	last, err := e.q.client.XRevRangeN(ctx, e.q.Events(), "+", "-", 1).Result()
	if err != nil {
		return "", err
	}
	if len(last) == 0 {
		return "0-0", nil
	}
	return last[0].ID, nil
}

func (e *QueueEvents) follow(after string) {
	defer close(e.done)
	ctx := context.Background()
	args := &redis.XReadArgs{Streams: []string{e.q.Events(), after}, Block: eventsBlock, Count: eventsBatch}
	for {
		streams, err := e.client.XRead(ctx, args).Result()
		select {
		case <-e.quit:
			return
		default:
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			e.pause(e.trouble.failed(ctx, "reading events", err))
			continue
		}
		e.trouble.ok(ctx, "reading events")
		for _, s := range streams {
			for _, entry := range s.Messages {
				args.Streams[1] = entry.ID
				e.deliver(decodeEvent(entry))
			}
		}
	}
}

func (e *QueueEvents) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-e.quit:
	}
}

func decodeEvent(entry redis.XMessage) Event {
	ev := Event{ID: entry.ID, Fields: make(map[string]string, len(entry.Values))}
	for name, value := range entry.Values {
		ev.Fields[name], _ = value.(string)
	}
	ev.Name, ev.JobID = ev.Fields["event"], ev.Fields["jobId"]
	return ev
}

// deliver passes an event on; an entry without a name is none.
func (e *QueueEvents) deliver(ev Event) {
	if ev.Name == "" {
		return
	}
	if ev.Name == "completed" || ev.Name == "failed" {
		e.announce(ev)
	}
	if e.o.Handle != nil {
		e.o.Handle(ev)
	}
}

// announce tells those who wait for the end of a job.
func (e *QueueEvents) announce(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for waiter := range e.waiters[ev.JobID] {
		select {
		case waiter <- ev:
		default: // has been told already
		}
	}
}

// await registers a waiter for the end of a job.
func (e *QueueEvents) await(id string) (ended <-chan Event, cancel func()) {
	waiter := make(chan Event, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiters[id] == nil {
		e.waiters[id] = map[chan Event]bool{}
	}
	e.waiters[id][waiter] = true
	return waiter, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if delete(e.waiters[id], waiter); len(e.waiters[id]) == 0 {
			delete(e.waiters, id)
		}
	}
}

// JobFailedError is how WaitUntilFinished reports a job that failed for good.
type JobFailedError struct {
	JobID  string
	Reason string
}

func (e *JobFailedError) Error() string { return e.Reason }

// WaitUntilFinished waits for the end of a job and returns its result as JSON, or a *JobFailedError if it failed for
// good. ErrJobNotFound if the job is not there. A deadline of ctx ends the wait with an error that matches
// context.DeadlineExceeded (lifecycle 9). The reader must have been started before the job could finish.
func (e *QueueEvents) WaitUntilFinished(ctx context.Context, j *Job) (json.RawMessage, error) {
	started := time.Now()
	ended, cancel := e.await(j.ID)
	defer cancel()
	poll := time.NewTicker(finishedPoll)
	defer poll.Stop()
	for {
		value, finished, err := e.q.finished(ctx, j.ID)
		if err != nil || finished {
			return value, err
		}
		select {
		case ev := <-ended: // which knows the end even of a job that was removed at once
			return ev.outcome()
		case <-poll.C:
		case <-e.quit:
			return nil, fmt.Errorf("wait for job %s: event reader was stopped", j.ID)
		case <-ctx.Done():
			return nil, fmt.Errorf("Job wait %s timed out before finishing, no finish notification arrived after %dms (id=%s): %w",
				j.Name, time.Since(started).Milliseconds(), j.ID, context.Cause(ctx))
		}
	}
}

// outcome is the end of a job as its event tells it.
func (ev Event) outcome() (json.RawMessage, error) {
	if ev.Name == "failed" {
		return nil, &JobFailedError{JobID: ev.JobID, Reason: ev.Fields["failedReason"]}
	}
	return json.RawMessage(ev.Fields["returnvalue"]), nil
}

// finished asks how a job ended.
func (q *Queue) finished(ctx context.Context, id string) (value json.RawMessage, ended bool, err error) {
	s, result, code, err := q.runner.Finished(ctx, q.target, id)
	if err != nil {
		return nil, false, fmt.Errorf("wait for job %s: %w", id, err)
	}
	if err := codeError(code, q.JobKey(id), "isFinished", "", ""); err != nil {
		return nil, true, err
	}
	switch s {
	case keys.Completed:
		return json.RawMessage(result), true, nil
	case keys.Failed:
		return nil, true, &JobFailedError{JobID: id, Reason: result}
	}
	return nil, false, nil
}

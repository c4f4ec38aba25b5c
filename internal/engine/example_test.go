package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
)

// connect starts a Redis for an example. blocking makes a worker's second connection.
func connect() (client *redis.Client, blocking func(string) redis.UniversalClient, done func()) {
	server, err := testredis.Open()
	if err != nil {
		log.Fatal(err)
	}
	client = redis.NewClient(server.Options())
	blocking = func(name string) redis.UniversalClient {
		o := server.Options()
		o.ClientName, o.MaxRetries = name, -1
		return redis.NewClient(o)
	}
	return client, blocking, func() {
		_ = client.Close()
		server.Close()
	}
}

// A queue, a worker, and somebody who waits for the result.
func Example() {
	ctx := context.Background()
	client, blocking, done := connect()
	defer done()

	queue, err := engine.NewQueue(engine.QueueOptions{Client: client, Name: "paint"})
	if err != nil {
		log.Fatal(err)
	}
	worker, err := engine.NewWorker(engine.WorkerOptions{
		Queue:       queue,
		Blocking:    blocking,
		Concurrency: 4,
		Handler: func(ctx context.Context, j *engine.Job) (any, error) {
			var car struct{ Color string }
			if err := json.Unmarshal(j.Data, &car); err != nil {
				return nil, engine.Unrecoverable(err) // another attempt would not help
			}
			return map[string]string{"painted": car.Color}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	events, err := engine.NewQueueEvents(engine.EventsOptions{Queue: queue, Blocking: blocking})
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(events.Start(ctx), worker.Start(ctx)); err != nil {
		log.Fatal(err)
	}
	defer events.Stop()

	job, err := queue.Add(ctx, "car", map[string]string{"color": "blue"}, engine.JobOptions{Attempts: 3})
	if err != nil {
		log.Fatal(err)
	}
	result, err := events.WaitUntilFinished(ctx, job)
	fmt.Printf("%s %v\n", result, err)

	// Running jobs get ten seconds to finish; what still runs then is handed back to the queue.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	handedBack, err := worker.Stop(ctx)
	fmt.Println(len(handedBack), err)
	// Output:
	// {"painted":"blue"} <nil>
	// 0 <nil>
}

// Retries with growing waits, kept for a day once they failed for good.
func ExampleQueue_Add() {
	ctx := context.Background()
	client, _, done := connect()
	defer done()
	queue, err := engine.NewQueue(engine.QueueOptions{Client: client, Name: "mail"})
	if err != nil {
		log.Fatal(err)
	}

	job, err := queue.Add(ctx, "welcome", json.RawMessage(`{"to":"ada@example.com"}`), engine.JobOptions{
		ID:            "welcome-ada", // the same job is never added twice
		Attempts:      5,
		Backoff:       &engine.Backoff{Type: "exponential", Delay: time.Second, Jitter: 0.5},
		Delay:         time.Minute,
		KeepCompleted: engine.KeepCount(100),
		KeepFailed:    engine.KeepAge(24 * time.Hour),
	})
	if err != nil {
		log.Fatal(err)
	}
	state, err := queue.State(ctx, job.ID)
	fmt.Println(job.ID, state, err)

	again, err := queue.Add(ctx, "welcome", nil, engine.JobOptions{ID: "welcome-ada"})
	fmt.Println(again.ID, again.Existing, err)

	_, err = queue.Add(ctx, "welcome", nil, engine.JobOptions{ID: "42"})
	fmt.Println(err)
	// Output:
	// welcome-ada delayed <nil>
	// welcome-ada true <nil>
	// add job to mail: jobId: Custom Id cannot be integers
}

// What a handler's error decides.
func ExampleHandler() {
	busy := errors.New("busy")
	var handler engine.Handler = func(_ context.Context, j *engine.Job) (any, error) {
		switch j.Name {
		case "broken for good":
			return nil, engine.Unrecoverable(busy)
		case "come back in a minute":
			return nil, engine.RetryAfter(time.Minute, busy)
		case "everybody slow down":
			return nil, engine.RateLimit(10 * time.Second)
		case "not my time yet":
			return nil, engine.DelayJob(time.Hour)
		}
		return "done", nil
	}
	result, err := handler(context.Background(), &engine.Job{Name: "easy"})
	fmt.Println(result, err)
	// Output: done <nil>
}

// All failed jobs again, and which were left alone.
func ExampleQueue_Retry() {
	ctx := context.Background()
	client, _, done := connect()
	defer done()
	queue, err := engine.NewQueue(engine.QueueOptions{Client: client, Name: "mail"})
	if err != nil {
		log.Fatal(err)
	}

	failed, err := queue.IDs(ctx, keys.Failed, 0, 10_000, time.Now())
	if err != nil {
		log.Fatal(err)
	}
	retried, refused, err := queue.Retry(ctx, keys.Failed, append(failed, "gone"), false)
	fmt.Println(len(retried), err)
	for _, r := range refused {
		fmt.Println(r.ID, r.Err)
	}
	// Output:
	// 0 <nil>
	// gone Missing key for job gone. reprocessJob
}

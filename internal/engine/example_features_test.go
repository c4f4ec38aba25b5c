package engine_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"bullpen/internal/engine"

	"github.com/redis/go-redis/v9"
)

// A car is assembled once its parts are painted.
func ExampleFlowProducer_Add() {
	ctx := context.Background()
	client, _, done := connect()
	defer done()
	flows, err := engine.NewFlowProducer(engine.FlowProducerOptions{Client: client})
	if err != nil {
		log.Fatal(err)
	}
	car, err := flows.Add(ctx, engine.FlowNode{
		Queue: "assembly", Name: "car", Options: engine.JobOptions{ID: "car-7"},
		Children: []engine.FlowNode{
			{Queue: "paint", Name: "door", Options: engine.JobOptions{ID: "door-7", OnFailure: engine.FailParentOnFailure}},
			{Queue: "paint", Name: "roof", Options: engine.JobOptions{ID: "roof-7", Attempts: 3}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	run(client, "paint", "door")
	state, _ := car.Job.Queue().State(ctx, car.Job.ID)
	children, _ := car.Job.DependencyCounts(ctx)
	fmt.Println(car.Job.ID, "is", state, "with", children.Unprocessed, "of", children.All(), "parts to come")

	run(client, "paint", "roof")
	values, _ := car.Job.ChildrenValues(ctx)
	fmt.Printf("%s\n", values["bull:paint:roof-7"])
	// Output:
	// car-7 is waiting-children with 1 of 2 parts to come
	// "roof painted"
}

// run runs one job.
func run(client *redis.Client, queue, name string) {
	q, err := engine.NewQueue(engine.QueueOptions{Client: client, Name: queue})
	if err != nil {
		log.Fatal(err)
	}
	w, err := engine.NewWorker(engine.WorkerOptions{
		Queue: q, Blocking: func(string) redis.UniversalClient { return nil }, // never asked for: the worker is not started
		Handler: func(context.Context, *engine.Job) (any, error) { return name + " painted", nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := w.RunOnce(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// A report on every weekday, on the clock of Madrid.
func ExampleQueue_UpsertScheduler() {
	ctx := context.Background()
	client, _, done := connect()
	defer done()
	queue, err := engine.NewQueue(engine.QueueOptions{
		Client: client, Name: "reports", Clock: func() time.Time { return time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = queue.UpsertScheduler(ctx, "daily", engine.Repeat{Pattern: "30 9 * * 1-5", TZ: "Europe/Madrid"},
		engine.JobTemplate{Name: "report", Data: map[string]string{"to": "ada"}, Options: engine.JobOptions{Attempts: 3}})
	if err != nil {
		log.Fatal(err)
	}
	s, err := queue.Scheduler(ctx, "daily")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Name, s.Repeat.InWords())
	runs, err := s.NextRuns(time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC), 2)
	for _, at := range runs {
		fmt.Println(at.UTC().Format(time.RFC3339)) // the clock changes on 29 March
	}
	fmt.Println(err)
	// Output:
	// report every weekday at 09:30
	// 2026-03-30T07:30:00Z
	// 2026-03-31T07:30:00Z
	// <nil>
}

package processor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
)

const (
	// demoOrderEvery is the mean time between two orders.
	demoOrderEvery = 12 * time.Second
	// demoOpenOrders is how many orders may wait for their parts before no more come.
	demoOpenOrders = 20
)

// demoScheduler is a scheduler of a queue of the demo.
type demoScheduler struct {
	id     string
	repeat engine.Repeat
	job    engine.JobTemplate
}

// reminderSchedulers fire often enough for somebody who looks, and at times that people would choose.
func reminderSchedulers() []demoScheduler {
	return []demoScheduler{
		{"abandoned-carts", engine.Repeat{Every: 45 * time.Second}, engine.JobTemplate{
			Name: "sweep", Data: map[string]any{"olderThan": "24h", "segment": "all"},
		}},
		{"morning-digest", engine.Repeat{Pattern: "30 7 * * 1-5", TZ: "Europe/Berlin"}, engine.JobTemplate{
			Name: "digest", Data: map[string]any{"locale": "de-DE", "token": "not-shown"}, Options: engine.JobOptions{Priority: 2},
		}},
	}
}

// schedule makes the schedulers of a queue, unless they are there from the last time.
func (d *Demo) schedule(ctx context.Context, q *demoQueue) error {
	for _, s := range q.schedulers {
		found, err := q.Scheduler(ctx, s.id)
		if err != nil {
			return err
		}
		if found != nil && found.Pending {
			continue
		}
		s.repeat.Every = d.scaled(s.repeat.Every).Truncate(time.Millisecond)
		if _, err := q.UpsertScheduler(ctx, s.id, s.repeat, s.job); err != nil {
			return err
		}
	}
	return nil
}

// makeOrder is a flow over four queues: the notice of an order waits until a carrier is booked, its label is drawn and
// the shop's own systems know.
func makeOrder(r *rand.Rand) engine.FlowNode {
	order := 400_000 + r.IntN(90_000)
	id := func(part string) string { return fmt.Sprintf("%s-%d-%s", part, order, hexID(r, 4)) }
	label := engine.FlowNode{
		Queue: "thumbnails", Name: "label", Options: engine.JobOptions{ID: id("label"), OnFailure: engine.FailParentOnFailure},
		Data: thumbnail{Source: fmt.Sprintf("s3://labels/%d.png", order), Bytes: 80_000, Sizes: []int{320, 1280}, Format: "webp"},
	}
	hook := webhook{URL: pick(r, endpoints...).url, Event: "order.packed", EventID: "evt_" + hexID(r, 14), Payload: map[string]any{"id": order}}
	return engine.FlowNode{
		Queue: "emails", Name: "shipping-notice", Options: engine.JobOptions{ID: id("order")},
		Data: email{To: aPerson(r), Template: "shipping-notice", Locale: pick(r, "en-GB", "de-DE"), OrderID: order},
		Children: []engine.FlowNode{
			{
				Queue: "partner-sync", Name: "book-carrier", Options: engine.JobOptions{ID: id("carrier"), OnFailure: engine.FailParentOnFailure},
				Data:     partnerSync{Partner: "northwind", Since: time.Now().UTC().Truncate(time.Second), Pages: 2},
				Children: []engine.FlowNode{label},
			},
			{Queue: "webhooks", Name: "deliver", Data: hook, Options: engine.JobOptions{ID: id("hook"), OnFailure: engine.IgnoreDependencyOnFailure}},
		},
	}
}

// order adds a flow, unless many are open already.
func (d *Demo) order(ctx context.Context) error {
	for _, q := range d.queues {
		counts, err := q.Counts(ctx)
		if err != nil {
			return err
		}
		if counts[keys.WaitingChildren] >= demoOpenOrders {
			return nil
		}
	}
	_, err := d.flows.Add(ctx, makeOrder(d.orders))
	return err
}

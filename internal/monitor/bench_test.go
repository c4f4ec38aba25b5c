package monitor

import (
	"context"
	"fmt"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
)

// BenchmarkPass reads 5,000 queues of which a tenth are busy, as every pass does once all are known.
func BenchmarkPass(b *testing.B) {
	ctx := context.Background()
	c := srv.Client(b)
	prefix := srv.Prefix()
	o := Options{Client: c, Prefixes: []string{prefix}}.withDefaults()
	f := newFinds(o)
	p := c.Pipeline()
	for i := range 5000 {
		q := keys.Queue{Prefix: prefix, Name: fmt.Sprintf("queue-%04d", i)}
		p.HSet(ctx, q.Meta(), "opts.maxLenEvents", "10000", "version", "bullmq:6.7.0")
		p.Set(ctx, q.ID(), i, 0)
		if i%10 == 0 {
			p.LPush(ctx, q.Wait(), "1", "2", "3")
			p.HSet(ctx, q.Job("1"), "timestamp", time.Now().UnixMilli(), "opts", `{"attempts":3}`)
		}
		f.offer(find{queue: q})
	}
	if _, err := p.Exec(ctx); err != nil {
		b.Fatal(err)
	}
	m := newCollector(o, newPolicies(o), f, nil)
	var busy time.Duration
	passes := 0
	for b.Loop() {
		s, err := m.collect(ctx, false)
		if err != nil || len(s.Queues) != 5000 {
			b.Fatal(len(s.Queues), err)
		}
		busy += m.wire.busy
		passes++
	}
	b.ReportMetric(float64(busy.Microseconds())/1000/float64(passes), "redis-ms/op")
}

package livepolicy

import (
	"context"
	"strconv"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/redis/go-redis/v9"
)

// meta are fields of the queue's meta hash to write; 0 deletes a field.
type meta map[string]int64

func (m meta) send(ctx context.Context, p redis.Pipeliner, q keys.Queue) {
	for field, value := range m {
		if value == 0 {
			p.HDel(ctx, q.Meta(), field)
			continue
		}
		p.HSet(ctx, q.Meta(), field, value)
	}
}

// readMeta reads what live values may take the place of.
func readMeta(ctx context.Context, c redis.Cmdable, q keys.Queue) (Found, error) {
	values, err := c.HMGet(ctx, q.Meta(), "concurrency", "max", "duration").Result()
	if err != nil {
		return Found{}, err
	}
	number := func(i int) int64 {
		text, _ := values[i].(string)
		n, _ := strconv.ParseInt(text, 10, 64)
		return max(n, 0)
	}
	return Found{Concurrency: number(0), Max: number(1), DurationMS: number(2)}, nil
}

// InForce is a policy with what the meta hash holds instead of what it was meant to: there it is obeyed by all.
func InForce(p policy.Policy, f Found) policy.Policy {
	p.GlobalConcurrency = int(f.Concurrency)
	if f.Concurrency > 0 {
		p.ClearGlobal = false
	}
	if f.Max > 0 && f.DurationMS > 0 {
		p.Limiter = policy.Limiter{Max: int(f.Max), Duration: time.Duration(f.DurationMS) * time.Millisecond, Scope: "queue"}
	}
	return p
}

// Effect tells what is in force now and what would be with other live values. found is what the meta hash holds now.
func (r *Record) Effect(values Values, file policy.Policy, found Found) (before, after policy.Policy) {
	return InForce(r.Live.Over(file), found), InForce(values.Over(file), r.foundAfter(values, file, found))
}

// foundAfter is what the meta hash will hold once values are live.
func (r *Record) foundAfter(values Values, file policy.Policy, now Found) Found {
	next := Record{Live: values, Found: r.Found}
	for field, value := range next.writeMeta(r.Live, file, now) {
		switch field {
		case "concurrency":
			now.Concurrency = value
		case "max":
			now.Max = value
		case "duration":
			now.DurationMS = value
		}
	}
	return now
}

// writeMeta decides what the change from the values before to those that are live now does to the meta hash, and keeps
// what a live value takes the place of. now is what the hash holds.
func (r *Record) writeMeta(before Values, file policy.Policy, now Found) meta {
	m := meta{}
	after := r.Live.Over(file)
	switch {
	case after.GlobalConcurrency > 0 || after.ClearGlobal:
		m["concurrency"] = int64(after.GlobalConcurrency)
	case before.GlobalConcurrency != nil: // back to a file that does not name it
		m["concurrency"] = r.Found.Concurrency
	}
	switch {
	case after.Limiter.Max > 0 && after.Limiter.Scope == "queue":
		m["max"], m["duration"] = int64(after.Limiter.Max), after.Limiter.Duration.Milliseconds()
	case r.Live.Limiter == nil && before.Limiter != nil:
		m["max"], m["duration"] = r.Found.Max, r.Found.DurationMS
	case r.Live.Limiter != nil: // a limiter in the hash would beat the workers'
		m["max"], m["duration"] = 0, 0
	}
	if before.GlobalConcurrency == nil && r.Live.GlobalConcurrency != nil {
		r.Found.Concurrency = now.Concurrency
	}
	if before.Limiter == nil && r.Live.Limiter != nil {
		r.Found.Max, r.Found.DurationMS = now.Max, now.DurationMS
	}
	return m
}

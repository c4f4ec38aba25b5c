package web

import (
	"strings"

	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/internal/monitor"
	"bullpen/internal/words"
	"bullpen/templates"
)

// loadUnder is what the queue would have to cope with, and might use, under another policy than the one in force.
func loadUnder(p policyState, after policy.Policy) monitor.Load {
	l := p.load
	l.Attempts = max(after.Attempts, 1)
	if limiter := after.Limiter; limiter != p.inForce.Limiter {
		l.Limit = 0
		if limiter.Max > 0 && limiter.Duration > 0 {
			l.Limit = float64(limiter.Max) / limiter.Duration.Seconds()
		}
	}
	if !p.q.CeilingKnown {
		return l
	}
	own := p.q.Announced
	if after.Concurrency != p.inForce.Concurrency {
		own = p.q.BullpenWorkers * int64(after.Concurrency)
	}
	l.Ceiling = own + max(p.q.Workers-p.q.BullpenWorkers, 0)*int64(after.WorkerConcurrency)
	if g := int64(after.GlobalConcurrency); g > 0 {
		l.Ceiling = min(l.Ceiling, g)
	}
	return l
}

// effects say what a change touches and what it does to the ceiling, the rate downstream and the backlog.
func effects(p policyState, after policy.Policy, changed []livepolicy.Difference) []templates.Detail {
	after = after.WithDefaults()
	then := loadUnder(p, after)
	out := []templates.Detail{
		touched(p, changed),
		{Label: "Ceiling", Value: beforeAfter(ceilingText(p.load), ceilingText(then))},
		{Label: "Downstream gets at most", Value: beforeAfter(mostText(p.load), mostText(then))},
	}
	if p.q.Rate.Known {
		z := then.Size()
		out = append(out,
			templates.Detail{Label: "Backlog of " + words.Count(p.load.Backlog), Value: beforeAfter(outlook(p.load, p.size), outlook(then, z))},
			templates.Detail{Label: "Starts wanted", Value: beforeAfter(words.PerSecond(p.size.Wanted), words.PerSecond(z.Wanted)), Small: "new jobs and their retries"})
	}
	return out
}

// touched names the workers and replicas that will act differently.
func touched(p policyState, changed []livepolicy.Difference) templates.Detail {
	own := p.bullpen()
	d := templates.Detail{Label: "Touches", Value: "No worker of Bullpen's runs this queue now"}
	if n := int64(len(own)); n > 0 {
		names := make([]string, 0, len(own))
		for _, w := range own {
			names = append(names, visibleText(w.Name))
		}
		replicas := int64(len(replicasOf(own)))
		d.Value = words.Plural(n, "worker", "workers") + " on " + words.Plural(replicas, "replica", "replicas") + ": " + strings.Join(names, ", ")
	}
	if others := p.q.Workers - p.q.BullpenWorkers; others > 0 {
		d.Small = words.Plural(others, "worker", "workers") + " of others: " + othersObey(changed)
	}
	return d
}

// othersObey says what workers of other clients make of a change.
func othersObey(changed []livepolicy.Difference) string {
	for _, c := range changed {
		switch {
		case c.Field == "paused", c.Field == "global_concurrency", c.Field == "limiter" && strings.HasSuffix(c.After, "for all clients"):
			return "they obey it too, as far as it is kept in Redis"
		}
	}
	return "not touched"
}

func beforeAfter(before, after string) string {
	if before == after {
		return before + ", as before"
	}
	return before + " → " + after
}

func ceilingText(l monitor.Load) string {
	if l.Ceiling < 0 {
		return "unknown"
	}
	return words.Count(l.Ceiling) + " at once"
}

// mostText is the most that can start per second: what the limiter lets through or the workers can run.
func mostText(l monitor.Load) string {
	z := l.Size()
	switch {
	case l.Limit > 0 && z.Capacity > 0:
		return words.PerSecond(min(l.Limit, z.Capacity))
	case l.Limit > 0:
		return words.PerSecond(l.Limit)
	case z.Capacity > 0:
		return words.PerSecond(z.Capacity)
	}
	return "no known bound"
}

func changeRows(changes []livepolicy.Difference) []templates.PolicyChange {
	out := make([]templates.PolicyChange, len(changes))
	for i, c := range changes {
		out[i] = templates.PolicyChange(c)
	}
	return out
}

// changeWords are the changes in a sentence.
func changeWords(changes []livepolicy.Difference) string {
	parts := make([]string, len(changes))
	for i, c := range changes {
		parts[i] = c.String()
	}
	return strings.Join(parts, "; ") + "."
}

package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bullpen/internal/config"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor"
	"bullpen/internal/words"
)

const (
	// manyKept is how many finished jobs of a queue are worth a word.
	manyKept = 100_000
	// typoDistance is how far a misspelt name may be from the right one.
	typoDistance = 2
	// sampledJobs are looked at per queue for their run times, in at most sampledQueues queues.
	sampledJobs, sampledQueues = 100, 200
)

// workers judges who runs the jobs of each queue.
func workers(c *config.Config, s *monitor.Snapshot) []Finding {
	var out []Finding
	served := map[keys.Queue]bool{}
	for _, q := range s.Queues {
		served[q.Queue] = q.Workers > 0 || c.Queues[q.Queue].Worker != nil
	}
	for _, q := range s.Queues {
		name := q.Qualified()
		if q.Unreadable != "" {
			out = append(out, Finding{Warning, "queue", name, "cannot be read: " + q.Unreadable})
			continue
		}
		if waiting := q.Backlog(); q.WorkersKnown && !served[q.Queue] && !q.DeadLetter && waiting > 0 {
			out = append(out, Finding{Warning, "workers", name, words.Plural(waiting, "job waits", "jobs wait") + " and no worker is connected" + meant(q, s, served)})
		}
		for _, kept := range []keys.State{keys.Completed, keys.Failed} {
			if n := q.Counts[kept]; n > manyKept {
				out = append(out, Finding{Warning, "retention", name, fmt.Sprintf("%s %s jobs are kept; bound them with keep_%s", words.Count(n), kept, kept)})
			}
		}
	}
	if len(out) == 0 {
		text := words.Plural(int64(len(s.Queues)), "queue", "queues") + ", none with jobs and no worker"
		out = append(out, Finding{OK, "queues", "", text})
	}
	return out
}

// meant suggests the queue that somebody probably meant: a similar name, under the same prefix, with workers.
func meant(q *monitor.Queue, s *monitor.Snapshot, served map[keys.Queue]bool) string {
	var names []string
	for _, other := range s.Queues {
		if other.Prefix == q.Prefix && served[other.Queue] {
			names = append(names, other.Name)
		}
	}
	best, distance := config.Nearest(q.Name, names)
	if best == "" || distance > typoDistance || distance >= len(q.Name) {
		return ""
	}
	return fmt.Sprintf("; is it a misspelt %q?", best)
}

// runTimes compares how long jobs ran with how long their locks last, and with what the limiter lets through.
func runTimes(ctx context.Context, o Options, s *monitor.Snapshot) []Finding {
	var out []Finding
	queues := slices.Clone(s.Queues)
	queues = slices.DeleteFunc(queues, func(q *monitor.Queue) bool { return q.Legacy || q.Counts[keys.Completed] == 0 })
	for _, q := range queues[:min(len(queues), sampledQueues)] {
		runs, err := recentRuns(ctx, o, q.Queue)
		if err != nil {
			out = append(out, Finding{Warning, "run times", q.Qualified(), "cannot be read: " + err.Error()})
			continue
		}
		p, _ := o.Live(q.Queue, o.Config.Policy(q.Queue))
		lock := p.WithDefaults().LockDuration
		if runs.longest > lock {
			out = append(out, Finding{
				Warning, "run times", q.Qualified(),
				fmt.Sprintf("a job ran for %s, longer than the lock of %s: a worker that cannot renew it in time, because it is busy, loses the job to another",
					runs.longest.Round(time.Millisecond), lock),
			})
		}
		out = append(out, limits(q, p, runs.mean)...)
	}
	return out
}

// limits says whether the limiter fits what the workers can do and what arrives.
func limits(q *monitor.Queue, p policy.Policy, mean time.Duration) []Finding {
	facts := policy.Facts{Queue: q.Name, RunTime: mean}
	if q.CeilingKnown {
		facts.Ceiling = int(q.Ceiling)
	}
	if q.Rate.Known {
		facts.Arrival = q.Rate.Added
	}
	var out []Finding
	for _, found := range p.ValidateWith(facts) {
		if found.Field == "limiter" && found.Warning {
			out = append(out, Finding{Warning, "limiter", q.Qualified(), found.Text})
		}
	}
	return out
}

// runs are how long the newest completed jobs of a queue ran.
type runs struct{ mean, longest time.Duration }

func recentRuns(ctx context.Context, o Options, id keys.Queue) (r runs, err error) {
	q, err := o.Queue(id)
	if err != nil {
		return r, err
	}
	rows, _, err := q.Rows(ctx, keys.Completed, 0, sampledJobs-1, false)
	if err != nil {
		return r, err
	}
	var total time.Duration
	var seen int
	for _, row := range rows {
		if run := row.FinishedOn.Sub(row.ProcessedOn); !row.ProcessedOn.IsZero() && run >= 0 {
			total, seen = total+run, seen+1
			r.longest = max(r.longest, run)
		}
	}
	r.mean = total / time.Duration(max(seen, 1))
	return r, nil
}

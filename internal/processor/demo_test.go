package processor

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// runDemo runs the demo twenty times as fast as life until the test ends.
func runDemo(t *testing.T, c redis.UniversalClient, blocking func(string) redis.UniversalClient, prefix string) *Demo {
	t.Helper()
	d, err := NewDemo(DemoOptions{Client: c, Prefix: prefix, Seed: 1, Pace: 20})
	require.NoError(t, err)
	p, err := NewPool(PoolOptions{Client: c, Blocking: blocking})
	require.NoError(t, err)
	start(t, p, d.Workers()...)
	require.NoError(t, d.Start(t.Context()))
	t.Cleanup(func() {
		d.Stop()
		stop(t, p, 5*time.Second)
	})
	return d
}

func counts(t *testing.T, q *engine.Queue) map[keys.State]int64 {
	t.Helper()
	n, err := q.Counts(t.Context())
	require.NoError(t, err)
	return n
}

func (d *Demo) queue(name string) *engine.Queue {
	for _, q := range d.queues {
		if q.Name == name {
			return q.Queue
		}
	}
	return nil
}

func TestDemoIsALivelySystem(t *testing.T) {
	t.Parallel()
	d := runDemo(t, srv.Client(t), blocking, srv.Prefix())
	enough := map[string]func(n map[keys.State]int64) bool{
		"emails":               func(n map[keys.State]int64) bool { return n[keys.Completed] >= 100 },
		"thumbnails":           func(n map[keys.State]int64) bool { return n[keys.Completed] >= 40 },
		"partner-sync":         func(n map[keys.State]int64) bool { return n[keys.Completed] >= 5 },
		"webhooks":             func(n map[keys.State]int64) bool { return n[keys.Completed] >= 60 && n[keys.Failed] >= 5 },
		"reminders":            func(n map[keys.State]int64) bool { return n[keys.Completed] >= 5 && n[keys.Delayed] >= 5 },
		"webhooks-dead-letter": func(n map[keys.State]int64) bool { return n[keys.Waiting] >= 5 },
	}
	for name, ok := range enough {
		eventually(t, func() bool { return ok(counts(t, d.queue(name))) })
	}

	// Schedulers fire, and flows come to their end.
	eventually(t, func() bool {
		s, err := d.queue("reminders").Scheduler(t.Context(), "abandoned-carts")
		require.NoError(t, err)
		return s != nil && s.Pending && s.Iterations >= 2
	})
	eventually(t, func() bool {
		done, _, err := d.queue("emails").Rows(t.Context(), keys.Completed, 0, -1, false)
		require.NoError(t, err)
		return slices.ContainsFunc(done, func(r engine.Row) bool { return strings.HasPrefix(r.ID, "order-") })
	})

	// The failures are of several kinds, exhausted and unrecoverable, with traces.
	q := d.queue("webhooks")
	eventually(t, func() bool {
		rows, _, err := q.Rows(t.Context(), keys.Failed, 0, -1, true)
		require.NoError(t, err)
		reasons, exhausted, early := map[string]bool{}, false, false
		for _, r := range rows {
			reasons[r.FailedReason] = true
			exhausted = exhausted || r.AttemptsMade == 4
			early = early || r.AttemptsMade == 1
		}
		return len(reasons) >= 2 && exhausted && early
	})
	failed, _, err := q.Rows(t.Context(), keys.Failed, 0, 0, false)
	require.NoError(t, err)
	j, err := q.Job(t.Context(), failed[0].ID)
	require.NoError(t, err)
	require.Contains(t, j.Stacktrace[0], "at POST ")

	// Jobs have logs and progress.
	for name, progress := range map[string]bool{"emails": false, "thumbnails": true, "partner-sync": true} {
		newest, _, err := d.queue(name).Rows(t.Context(), keys.Completed, 0, 0, false) // the oldest are on their way out
		require.NoError(t, err)
		_, total, err := d.queue(name).Logs(t.Context(), newest[0].ID, 0, -1, true)
		require.NoError(t, err)
		require.Positive(t, total, name)
		j, err := d.queue(name).Job(t.Context(), newest[0].ID)
		require.NoError(t, err)
		require.Equal(t, progress, len(j.Progress) > 0, name)
	}
}

func TestDemoRunsOnTheInProcessStore(t *testing.T) {
	t.Parallel()
	c := testredis.Memory(t)
	blocking := func(name string) redis.UniversalClient {
		o := *c.Options()
		o.ClientName, o.MaxRetries, o.ReadTimeout = name, -1, 15*time.Second
		return redis.NewClient(&o)
	}
	d := runDemo(t, c, blocking, "bull")
	eventually(t, func() bool {
		return counts(t, d.queue("emails"))[keys.Completed] >= 20 && counts(t, d.queue("webhooks"))[keys.Completed] >= 10
	})
}

func TestDemoStaysSmall(t *testing.T) {
	d, err := NewDemo(DemoOptions{Client: srv.Client(t), Prefix: srv.Prefix(), Seed: 1})
	require.NoError(t, err)
	for _, q := range d.queues {
		if q.beat == nil {
			specs := make([]engine.JobSpec, demoDeadLetters+20)
			for i := range specs {
				specs[i] = engine.JobSpec{Name: "deliver", Data: i}
			}
			_, err := q.AddBulk(t.Context(), specs)
			require.NoError(t, err)
		}
		for range 2 * demoBacklog { // nobody works
			require.NoError(t, q.tick(t.Context()))
		}
		n := counts(t, q.Queue)
		total := n[keys.Waiting] + n[keys.Prioritized] + n[keys.Delayed]
		if q.beat == nil {
			require.EqualValues(t, demoDeadLetters, total)
		} else {
			require.Less(t, total, int64(demoBacklog+40), q.Name)
		}
	}
	for _, p := range d.Policies() {
		require.True(t, p.KeepCompleted.Set && p.KeepCompleted.Count <= 500)
		require.True(t, p.KeepFailed.Set && p.KeepFailed.Count <= 500)
	}
}

func TestDemoPoliciesAreValid(t *testing.T) {
	d, err := NewDemo(DemoOptions{Client: srv.Client(t)})
	require.NoError(t, err)
	policies := d.Policies()
	require.Len(t, policies, 6)
	for q, p := range policies {
		require.Equal(t, "bull", q.Prefix)
		for _, problem := range p.Validate() {
			require.True(t, problem.Warning, "%s: %s", q.Name, problem)
		}
	}
}

// The same seed makes the same jobs, and the same attempt of a job ends the same way.
func TestDemoIsDeterministic(t *testing.T) {
	for _, plan := range demoPlans() {
		if plan.beat == nil {
			continue
		}
		a, b := rand.New(rand.NewPCG(3, 1)), rand.New(rand.NewPCG(3, 1))
		for range 20 {
			specs := plan.beat(a)
			again := plan.beat(b)
			require.Len(t, again, len(specs))
			for i := range specs {
				if _, dated := specs[i].Data.(partnerSync); !dated {
					require.Equal(t, specs[i], again[i])
				}
			}
		}
	}
	d, err := NewDemo(DemoOptions{Client: srv.Client(t), Seed: 3, Pace: 1000})
	require.NoError(t, err)
	q := d.queues[3]
	require.Equal(t, "webhooks", q.Name)
	spec := makeWebhooks(rand.New(rand.NewPCG(9, 9)))[0]
	ended := func() string {
		j, err := q.Add(context.Background(), spec.Name, spec.Data, engine.JobOptions{})
		require.NoError(t, err)
		j, err = q.Job(context.Background(), j.ID)
		require.NoError(t, err)
		defer func() { require.NoError(t, q.RemoveJob(context.Background(), j.ID, false)) }()
		j.ID = "fixed"
		_, err = q.work(context.Background(), d.job(q, j))
		return outcome(err)
	}
	require.Equal(t, ended(), ended())
}

func TestDemoWorkStopsWithItsContext(t *testing.T) {
	d, err := NewDemo(DemoOptions{Client: srv.Client(t), Prefix: srv.Prefix()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, q := range d.queues {
		if q.work == nil {
			continue
		}
		specs := q.beat(q.rand)
		j, err := q.Add(t.Context(), specs[0].Name, specs[0].Data, engine.JobOptions{})
		require.NoError(t, err)
		j, err = q.Job(t.Context(), j.ID)
		require.NoError(t, err)
		_, err = q.work(ctx, d.job(q, j))
		require.ErrorIs(t, err, context.Canceled, q.Name)
	}
	_, err = NewDemo(DemoOptions{})
	require.ErrorContains(t, err, "client")
}

func TestDemoPolicyIsPaced(t *testing.T) {
	d := &Demo{o: DemoOptions{Pace: 10}}
	p := d.paced(policy.Policy{Backoff: policy.Backoff{Delay: time.Second, Max: time.Minute}, Limiter: policy.Limiter{Max: 5, Duration: 10 * time.Second}})
	require.Equal(t, policy.Backoff{Delay: 100 * time.Millisecond, Max: 6 * time.Second}, p.Backoff)
	require.Equal(t, policy.Limiter{Max: 5, Duration: time.Second}, p.Limiter)
}

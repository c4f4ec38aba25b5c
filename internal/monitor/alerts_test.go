package monitor

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor/alerting"
)

// alertTest evaluates alerts over snapshots of the test's making, half a minute apart.
type alertTest struct {
	*alertWatch
	now time.Time
	s   *Snapshot
}

func newAlertTest() *alertTest {
	t := &alertTest{now: time.Unix(1_800_000_000, 0), s: &Snapshot{Redis: Redis{Known: true, Up: true, AOFEnabled: true, AOFLastWriteOK: true, RDBLastSaveOK: true, MaxMemoryPolicy: "noeviction"}}}
	o := Options{Alias: "default", Clock: func() time.Time { return t.now }}
	t.alertWatch = newAlertWatch(o, func(keys.Queue) policy.Policy { return policy.Policy{} }, func() *Snapshot { return t.s })
	return t
}

// pass evaluates for a time.
func (t *alertTest) pass(d time.Duration) {
	for end := t.now.Add(d); !t.now.After(end); t.now = t.now.Add(alerting.Interval) {
		t.s.At = t.now
		t.evaluate()
	}
}

// state returns the state of the first rule of a name.
func (t *alertTest) state(name string) alerting.Status {
	for _, s := range t.engine.Status() {
		if s.Rule.Name == name {
			return s
		}
	}
	panic("no rule " + name)
}

func waitingQueue(name string, waiting, workers int64) *Queue {
	return &Queue{
		Queue: keys.Queue{Prefix: "bull", Name: name}, Declared: true,
		Counts: map[keys.State]int64{keys.Waiting: waiting}, Workers: workers, WorkersKnown: true,
	}
}

func TestAlertComesAndGoes(t *testing.T) {
	t.Parallel()
	a := newAlertTest()
	const rule = "BullMQQueueWithoutWorkers"
	a.s.Queues = []*Queue{waitingQueue("mail", 7, 0)}
	a.pass(2 * time.Minute)
	if got := a.state(rule); got.State != alerting.Pending {
		t.Errorf("after 2 minutes without workers the alert is %s, want pending", got.State)
	}
	a.pass(5 * time.Minute)
	got := a.state(rule)
	if got.State != alerting.Firing || len(got.Active) != 1 {
		t.Fatalf("after 7 minutes without workers the alert is %s with %d alerts, want one firing", got.State, len(got.Active))
	}
	if want := "Queue mail has waiting jobs and no worker."; got.Active[0].Summary != want || got.Active[0].Value != 7 {
		t.Errorf("it says %q of %v, want %q of 7", got.Active[0].Summary, got.Active[0].Value, want)
	}
	a.s.Queues[0].Workers = 2
	a.pass(3 * time.Minute)
	if got := a.state(rule); got.State != alerting.Inactive {
		t.Errorf("with workers the alert is %s, want inactive", got.State)
	}
}

func TestUnknownUntilTheWindowIsFilled(t *testing.T) {
	t.Parallel()
	a := newAlertTest()
	a.s.Queues = []*Queue{waitingQueue("mail", 0, 1)}
	if got := a.state("BullMQRedisDown"); got.State != alerting.Unknown || !got.UnknownUntil.IsZero() {
		t.Errorf("before the first evaluation the alert is %s until %v, want unknown, until nobody knows", got.State, got.UnknownUntil)
	}
	began := a.now
	a.pass(time.Minute)
	for rule, until := range map[string]time.Duration{
		"BullMQQueueSaturated": 15 * time.Minute, "BullMQDeadLettersGrowing": 6 * time.Hour, "BullMQRedisMemoryFilling": time.Hour,
	} {
		if got := a.state(rule); got.State != alerting.Unknown || !got.UnknownUntil.Equal(began.Add(until)) {
			t.Errorf("%s is %s until %v, want unknown until %v after the start", rule, got.State, got.UnknownUntil, until)
		}
	}
	if got := a.state("BullMQRedisDown"); got.State != alerting.Inactive {
		t.Errorf("an alert that needs no past is %s, want inactive", got.State)
	}
	a.pass(15 * time.Minute)
	if got := a.state("BullMQQueueSaturated"); got.State != alerting.Inactive {
		t.Errorf("after its window the alert is %s, want inactive", got.State)
	}
}

func TestFailedPassesAreNoFigures(t *testing.T) {
	t.Parallel()
	a := newAlertTest()
	a.s.Queues = []*Queue{waitingQueue("mail", 7, 0)}
	a.pass(10 * time.Minute)
	a.s.Err = errors.New("connection refused")
	a.pass(8 * time.Minute)
	if got := a.state("BullMQQueueWithoutWorkers"); got.State != alerting.Inactive {
		t.Errorf("while Redis is away the alert is %s, want inactive: nothing is known of the queue", got.State)
	}
	if got := a.state("BullMQRedisDown"); got.State != alerting.Firing {
		t.Errorf("while Redis is away, that alert is %s, want firing", got.State)
	}
	a.s.Err = nil
	a.pass(time.Minute)
	if got := a.state("BullMQRedisDown"); got.State != alerting.Inactive {
		t.Errorf("with Redis back, that alert is %s, want inactive", got.State)
	}
}

func TestNearestReading(t *testing.T) {
	t.Parallel()
	a := newAlertTest()
	a.s.Redis.UsedMemory, a.s.Redis.MaxMemory = 30, 100
	near := waitingQueue("near", 0, 1)
	near.OldestWait = 2 * time.Minute
	a.s.Queues = []*Queue{waitingQueue("far", 0, 1), near}
	a.pass(time.Minute)
	for i, s := range a.engine.Status() {
		r, ok := a.engine.Nearest(i)
		switch {
		case s.Rule.Name == "BullMQRedisMemoryHigh" && s.Rule.Severity == "warning":
			if !ok || r.Value != 0.3 || r.Limit != 0.8 {
				t.Errorf("memory reads %+v, want 0.3 of 0.8", r)
			}
		case s.Rule.Name == "BullMQWaitTargetMissed" && s.Rule.Severity == "warning":
			if !ok || r.Value != 120 || r.Limit != 300 || r.Labels.Get("queue") != "near" {
				t.Errorf("the wait reads %+v, want 120 of 300 in queue near", r)
			}
		}
	}
}

func TestAlertsOfManyQueuesAreBounded(t *testing.T) {
	t.Parallel()
	s := &Snapshot{At: time.Unix(1_800_000_000, 0)}
	for i := range maxAlertQueues + 20 {
		q := waitingQueue(fmt.Sprintf("q%04d", i), 1, 1)
		q.Declared = i > maxAlertQueues
		s.Queues = append(s.Queues, q)
	}
	seen := map[string]bool{}
	for _, x := range AlertSamples(s, "default", s.At, func(keys.Queue) policy.Policy { return policy.Policy{} }) {
		if x.Name == "bullmq_queue_paused" {
			seen[x.Labels.Get("queue")] = true
		}
	}
	if len(seen) != maxAlertQueues || !seen[fmt.Sprintf("q%04d", maxAlertQueues+19)] {
		t.Errorf("%d queues are evaluated, want %d with the declared ones among them", len(seen), maxAlertQueues)
	}
}

// BenchmarkAlerts evaluates 500 queues that change all the time, after an hour.
func BenchmarkAlerts(b *testing.B) {
	a := newAlertTest()
	for i := range 500 {
		q := waitingQueue(fmt.Sprintf("q%03d", i), 5, 1)
		q.TotalsKnown, q.CeilingKnown, q.Ceiling = true, true, 4
		a.s.Queues = append(a.s.Queues, q)
	}
	step := func() {
		for i, q := range a.s.Queues {
			q.Counts = map[keys.State]int64{keys.Waiting: a.now.Unix() % 97, keys.Active: int64(i) % 5, keys.Failed: a.now.Unix() % 31}
			q.Totals.Completed += 7
			q.Totals.FailedExhausted++
			q.Totals.RetriedBackoff++
		}
		a.pass(0)
	}
	for range 120 {
		step()
	}
	for b.Loop() {
		step()
	}
}

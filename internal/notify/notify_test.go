package notify

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bullpen/alerts"
	"bullpen/internal/monitor/alerting"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var redisServer *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &redisServer)) }

// patience bounds every wait.
const patience = 20 * time.Second

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("still not so after %s: %s", patience, what)
		}
	}
}

// receiver takes messages.
type receiver struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	code     int // of the answers; 0 is 200
	messages []message
	keys     []string // every Idempotency-Key, also of messages that were not taken
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP takes a message.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = append(r.keys, req.Header.Get("Idempotency-Key"))
	if r.code != 0 {
		w.WriteHeader(r.code)
		return
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		r.t.Errorf("not a message: %v", err)
	}
	r.messages = append(r.messages, m)
}

func (r *receiver) answer(code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.code = code
}

// got is what was taken, as "status: alert status, …".
func (r *receiver) got() (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.messages {
		var parts []string
		for _, a := range m.Alerts {
			parts = append(parts, strings.TrimPrefix(a.Labels["alertname"], "BullMQ")+" "+a.Labels["severity"]+" "+a.Status)
		}
		out = append(out, m.Status+": "+strings.Join(parts, ", "))
	}
	return out
}

func (r *receiver) tries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.keys)
}

// rules are the state of all rules, which a test changes.
type rules struct {
	mu  sync.Mutex
	all []alerting.Status
}

func newRules() *rules {
	r := &rules{}
	for _, a := range alerts.Alerts("bullpen") {
		if !a.Outside {
			r.all = append(r.all, alerting.Status{Rule: a, State: alerting.Inactive})
		}
	}
	return r
}

func (r *rules) now() []alerting.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// change changes the first rule of a name and severity.
func (r *rules) change(name string, severity alerts.Severity, how func(*alerting.Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.all, func(s alerting.Status) bool { return s.Rule.Name == name && s.Rule.Severity == severity })
	how(&r.all[i])
}

// since is when every alert of these tests began.
var since = time.Unix(1_800_000_000, 0)

// set gives a rule alerts for queues in a state; none ends them.
func (r *rules) set(name string, severity alerts.Severity, state alerting.State, queues ...string) {
	r.change(name, severity, func(s *alerting.Status) {
		s.State, s.Active = state, nil
		for _, q := range queues {
			labels := []string{"redis", "default", "prefix", "bull", "queue", q}
			for name, value := range s.Rule.Labels() {
				labels = append(labels, name, value)
			}
			s.Active = append(s.Active, alerting.Active{
				Labels: alerting.NewLabels(labels...), State: state, Since: since, Summary: "Look at " + q + ".", Description: "Now.",
			})
		}
		if len(queues) == 0 {
			s.State = alerting.Inactive
		}
	})
}

// Rules that tests fire.
const (
	noWorkers = "BullMQQueueWithoutWorkers"
	wait      = "BullMQWaitTargetMissed"
)

func quick() pace {
	return pace{step: 5 * time.Millisecond, lease: 300 * time.Millisecond, send: 2 * time.Second, first: 10 * time.Millisecond, most: 50 * time.Millisecond}
}

// start runs a notifier until the test ends.
func start(t *testing.T, c redis.UniversalClient, alias string, r *rules, url string, change ...func(*pace)) *Notifier {
	t.Helper()
	p := quick()
	for _, c := range change {
		c(&p)
	}
	n, err := New(Options{URL: url, Alerts: r.now, Client: c, Alias: alias, Base: "https://bullpen.example", ReadOnly: c == nil, pace: p})
	require.NoError(t, err)
	n.Start()
	t.Cleanup(n.Stop)
	return n
}

func TestTellsWhatFiresAndWhatEnds(t *testing.T) {
	t.Parallel()
	r, to := newRules(), newReceiver(t)
	r.set(noWorkers, alerts.Critical, alerting.Firing, "mail")
	start(t, redisServer.Client(t), t.Name(), r, to.URL)
	eventually(t, "it is told", func() bool { return len(to.got()) == 1 })
	r.set(wait, alerts.Critical, alerting.Firing, "mail")
	eventually(t, "the second is told", func() bool { return len(to.got()) == 2 })
	r.set(noWorkers, alerts.Critical, alerting.Inactive)
	eventually(t, "the end is told", func() bool { return len(to.got()) == 3 })
	r.set(wait, alerts.Critical, alerting.Inactive)
	eventually(t, "all is told", func() bool { return len(to.got()) == 4 })
	require.Equal(t, []string{
		"firing: QueueWithoutWorkers critical firing",
		"firing: QueueWithoutWorkers critical firing, WaitTargetMissed critical firing",
		"firing: WaitTargetMissed critical firing, QueueWithoutWorkers critical resolved",
		"resolved: WaitTargetMissed critical resolved",
	}, sorted(to.got()))

	m := to.messages[0]
	a := m.Alerts[0]
	require.Equal(t, `{}:{prefix="bull", queue="mail", redis="default"}`, m.GroupKey)
	require.Equal(t, map[string]string{"prefix": "bull", "queue": "mail", "redis": "default"}, m.GroupLabels)
	require.Equal(t, "4", m.Version)
	require.Equal(t, a.Labels, m.CommonLabels)
	require.Equal(t, map[string]string{
		"summary": "Look at mail.", "description": "Now.", "runbook_url": "https://bullpen.example/runbooks/no-workers",
	}, a.Annotations)
	require.True(t, a.StartsAt.Equal(since))
	require.True(t, a.EndsAt.IsZero())
	require.False(t, to.messages[3].Alerts[0].EndsAt.IsZero())
	require.Equal(t, a.Fingerprint, to.messages[2].Alerts[1].Fingerprint)
}

// sorted puts the alerts of each message in the order of their names within a status.
func sorted(all []string) []string {
	for i, text := range all {
		head, tail, _ := strings.Cut(text, ": ")
		parts := strings.Split(tail, ", ")
		slices.SortFunc(parts, func(a, b string) int {
			fa, fb := strings.HasSuffix(a, " firing"), strings.HasSuffix(b, " firing")
			if fa != fb {
				if fa {
					return -1
				}
				return 1
			}
			return strings.Compare(a, b)
		})
		all[i] = head + ": " + strings.Join(parts, ", ")
	}
	return all
}

// TestWhatIsNotWorthAMessage keeps quiet.
func TestWhatIsNotWorthAMessage(t *testing.T) {
	t.Parallel()
	r, to := newRules(), newReceiver(t)
	r.set("BullMQDeadLettersGrowing", alerts.Info, alerting.Firing, "mail") // a digest
	r.set(wait, alerts.Warning, alerting.Firing, "mail")                    // said by the critical one
	r.set(wait, alerts.Critical, alerting.Firing, "mail")
	r.set(noWorkers, alerts.Critical, alerting.Pending, "mail")
	start(t, redisServer.Client(t), t.Name(), r, to.URL)
	eventually(t, "one is told", func() bool { return len(to.got()) == 1 })
	r.set(noWorkers, alerts.Critical, alerting.Firing, "done") // so that we know the rest was looked at
	eventually(t, "another is told", func() bool { return len(to.got()) == 2 })
	require.Equal(t, []string{"firing: WaitTargetMissed critical firing", "firing: QueueWithoutWorkers critical firing"}, to.got())
}

// TestOneOfSeveralSends runs three replicas: each alert is told once, also after the sender is gone.
func TestOneOfSeveralSends(t *testing.T) {
	t.Parallel()
	r, to := newRules(), newReceiver(t)
	var all []*Notifier
	for range 3 {
		all = append(all, start(t, redisServer.Client(t), t.Name(), r, to.URL))
	}
	r.set(noWorkers, alerts.Critical, alerting.Firing, "a", "b")
	eventually(t, "both are told", func() bool { return len(to.got()) == 2 })
	i := slices.IndexFunc(all, func(n *Notifier) bool { return n.Status().Sending })
	all[i].Stop()
	r.set(noWorkers, alerts.Critical, alerting.Firing, "b", "c")
	eventually(t, "the next one tells the rest", func() bool { return len(to.got()) == 4 })
	all = slices.Delete(all, i, i+1)
	eventually(t, "one sends", func() bool { return all[0].Status().Sending != all[1].Status().Sending })
	require.Equal(t, []string{
		"firing: QueueWithoutWorkers critical firing", "firing: QueueWithoutWorkers critical firing",
		"resolved: QueueWithoutWorkers critical resolved", "firing: QueueWithoutWorkers critical firing",
	}, to.got())
	require.Len(t, to.keys, 4)
}

// TestADeadSenderIsReplaced leaves a turn to run out.
func TestADeadSenderIsReplaced(t *testing.T) {
	t.Parallel()
	r, to, c := newRules(), newReceiver(t), redisServer.Client(t)
	dead := newRedisRecord(c, "bullpen:notify:"+t.Name(), "dead", 200*time.Millisecond)
	_, mine, err := dead.hold(t.Context(), false)
	require.True(t, err == nil && mine, err)
	r.set(noWorkers, alerts.Critical, alerting.Firing, "mail")
	n := start(t, c, t.Name(), r, to.URL)
	eventually(t, "the turn is taken over", func() bool { return len(to.got()) == 1 && n.Status().Sending })
	require.ErrorIs(t, dead.save(t.Context(), told{"x": {}}), errNotMyTurn)
}

// TestARestartTellsNothingAgain has a new process whose rules do not know yet what they see.
func TestARestartTellsNothingAgain(t *testing.T) {
	t.Parallel()
	r, to, c := newRules(), newReceiver(t), redisServer.Client(t)
	r.set(noWorkers, alerts.Critical, alerting.Firing, "mail")
	r.set(wait, alerts.Critical, alerting.Firing, "mail")
	old := start(t, c, t.Name(), r, to.URL)
	eventually(t, "it is told", func() bool { return len(to.got()) == 1 })
	old.Stop()

	again := newRules()
	unknown := func(s *alerting.Status) { s.State, s.UnknownUntil = alerting.Unknown, time.Now().Add(time.Hour) }
	again.change(noWorkers, alerts.Critical, unknown)
	again.set(wait, alerts.Critical, alerting.Pending, "mail")
	n := start(t, c, t.Name(), again, to.URL)
	eventually(t, "the new one sends", func() bool { return n.Status().Sending })
	again.set(noWorkers, alerts.Critical, alerting.Firing, "other") // so that we know it was looked at
	eventually(t, "the other is told", func() bool { return len(to.got()) == 2 })
	again.set(wait, alerts.Critical, alerting.Firing, "mail")
	again.change(noWorkers, alerts.Critical, func(s *alerting.Status) {
		s.State, s.UnknownUntil, s.Active = alerting.Inactive, time.Time{}, nil
	})
	eventually(t, "the ends are told", func() bool { return len(to.got()) == 4 })
	require.ElementsMatch(t, []string{
		"firing: QueueWithoutWorkers critical firing, WaitTargetMissed critical firing",
		"firing: QueueWithoutWorkers critical firing",
		"firing: WaitTargetMissed critical firing, QueueWithoutWorkers critical resolved",
		"resolved: QueueWithoutWorkers critical resolved",
	}, sorted(to.got()))
}

// TestAnAlertMayHaveMoreLabelsThanItsRule as those of a series that has a reason.
func TestAnAlertMayHaveMoreLabelsThanItsRule(t *testing.T) {
	t.Parallel()
	for _, r := range newRules().all {
		labels := r.Rule.Labels()
		labels[nameLabel] = r.Rule.Name
		labels["more"] = "x"
		if labels["reason"] == "" {
			labels["reason"] = "stalled"
		}
		of := 0
		for _, other := range newRules().all {
			if (alert{Labels: labels}).isOf(other.Rule) {
				of++
			}
		}
		require.Equal(t, 1, of, r.Rule.Name)
	}
	stalled := alert{Labels: map[string]string{nameLabel: "BullMQJobsLostToStalls", "severity": "warning", "component": "queue", "reason": "stalled"}}
	r := newRules()
	r.change("BullMQJobsLostToStalls", alerts.Warning, func(s *alerting.Status) { s.State = alerting.Unknown })
	require.Empty(t, look(r.now(), "").changes(told{"x": stalled}), "it is not known whether it ended")
}

// TestARuleThatIsGoneEnds tells the end of what a rule said that a newer version does not have.
func TestARuleThatIsGoneEnds(t *testing.T) {
	t.Parallel()
	r, to, c := newRules(), newReceiver(t), redisServer.Client(t)
	gone, err := json.Marshal(alert{Labels: map[string]string{"alertname": "BullMQOld", "severity": "critical"}, StartsAt: since})
	require.NoError(t, err)
	require.NoError(t, c.HSet(t.Context(), "bullpen:notify:"+t.Name(), "f00", gone).Err())
	start(t, c, t.Name(), r, to.URL)
	eventually(t, "its end is told", func() bool { return slices.Equal(to.got(), []string{"resolved: Old critical resolved"}) })
}

// TestTriesAgain has a receiver that is out of order, in two ways.
func TestTriesAgain(t *testing.T) {
	t.Parallel()
	r, to := newRules(), newReceiver(t)
	to.answer(http.StatusServiceUnavailable)
	r.set(noWorkers, alerts.Critical, alerting.Firing, "mail", "hooks")
	n := start(t, redisServer.Client(t), t.Name(), r, to.URL)
	eventually(t, "it is tried", func() bool { return to.tries() > 6 })
	require.Equal(t, "the receiver answers 503 Service Unavailable", n.Status().Err)
	r.set(noWorkers, alerts.Critical, alerting.Firing, "mail") // that of hooks was never told, so neither is its end
	to.answer(0)
	eventually(t, "it is told", func() bool { return len(to.got()) > 0 && n.Status().Err == "" })
	r.set(noWorkers, alerts.Critical, alerting.Inactive)
	eventually(t, "the end is told", func() bool { return len(to.got()) >= 2 && !strings.Contains(to.got()[len(to.got())-1], "firing") })
	require.LessOrEqual(t, len(slices.Compact(slices.Sorted(slices.Values(to.keys)))), 4, "the same message has the same key")
}

// TestTheAddressIsNoSecretInErrors and neither is it in the log.
func TestTheAddressIsNoSecretInErrors(t *testing.T) {
	t.Parallel()
	r, to := newRules(), newReceiver(t)
	to.Close()
	r.set(noWorkers, alerts.Critical, alerting.Firing, "mail")
	n := start(t, redisServer.Client(t), t.Name(), r, to.URL+"/hooks/s3cret")
	eventually(t, "it fails", func() bool { return n.Status().Err != "" })
	require.NotContains(t, n.Status().Err, "s3cret")
	require.Contains(t, n.Status().Err, "connection refused")
}

// TestRedisAway tells that Redis is away, and does not take what cannot be seen for ended.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	server := testredis.Start(t)
	r, to := newRules(), newReceiver(t)
	r.set(noWorkers, alerts.Critical, alerting.Firing, "mail")
	lasting := func(p *pace) { p.lease = 3 * time.Second } // long enough for a busy machine
	sender := start(t, server.Client(t), "a", r, to.URL, lasting)
	eventually(t, "it is told", func() bool { return len(to.got()) == 1 })
	other := start(t, server.Client(t), "a", r, to.URL, lasting)

	server.Kill()
	r.set(noWorkers, alerts.Critical, alerting.Inactive)
	r.set(redisDown, alerts.Critical, alerting.Pending, "")
	time.Sleep(3 * time.Second) // its turn is over by any clock
	r.set(redisDown, alerts.Critical, alerting.Firing, "")
	eventually(t, "that Redis is away is told", func() bool { return len(to.got()) == 2 })
	server.Restart(t)
	eventually(t, "the sender goes on", func() bool { return sender.Status().Sending && !other.Status().Sending })
	r.set(redisDown, alerts.Critical, alerting.Inactive)
	r.set(noWorkers, alerts.Critical, alerting.Pending, "mail")
	eventually(t, "that it is back is told", func() bool { return len(to.got()) == 3 })
	r.set(noWorkers, alerts.Critical, alerting.Inactive)
	eventually(t, "all is told", func() bool { return len(to.got()) == 4 })
	require.Equal(t, []string{
		"firing: QueueWithoutWorkers critical firing", "firing: RedisDown critical firing",
		"resolved: RedisDown critical resolved", "resolved: QueueWithoutWorkers critical resolved",
	}, to.got())
}

func TestReadOnlyKeepsNothing(t *testing.T) {
	t.Parallel()
	r, to := newRules(), newReceiver(t)
	r.set(noWorkers, alerts.Critical, alerting.Firing, "mail")
	start(t, nil, "", r, to.URL)
	eventually(t, "it is told", func() bool { return len(to.got()) == 1 })
	r.set(noWorkers, alerts.Critical, alerting.Inactive)
	eventually(t, "the end is told", func() bool { return len(to.got()) == 2 })
}

func TestLongMessagesAreCut(t *testing.T) {
	t.Parallel()
	changes := told{}
	for i := range maxAlerts + 5 {
		labels := map[string]string{"alertname": "A", "n": string(rune('a' + i))}
		changes[fingerprint(labels)] = alert{Labels: labels}
	}
	m := compose(group{}, told{}, changes, "", since)
	require.Len(t, m.Alerts, maxAlerts)
	require.Equal(t, 5, m.TruncatedAlerts)
	require.Equal(t, map[string]string{"alertname": "A"}, m.CommonLabels)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{}, {URL: "http://x", Alerts: newRules().now}, {URL: "x", Alerts: newRules().now, ReadOnly: true}, {URL: "http://x", ReadOnly: true},
	} {
		_, err := New(o)
		require.Error(t, err)
	}
}

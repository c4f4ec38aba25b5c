package web

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"bullpen/alerts"
	"bullpen/internal/notify"
	"bullpen/internal/outside"

	"github.com/stretchr/testify/require"
)

// said is what a Prometheus and an Alertmanager say of the bench's queue.
func said(prefix string) *outside.State {
	answered := time.Now().Add(-12 * time.Second)
	labels := func(name, queue string, rule ...string) map[string]string {
		l := map[string]string{"alertname": name, "redis": "default", "prefix": prefix, "queue": queue}
		for i := 0; i < len(rule); i += 2 {
			l[rule[i]] = rule[i+1]
		}
		return l
	}
	st := &outside.State{
		Prometheus:   &outside.Source{URL: "http://prometheus:9090", Asked: true, Answered: answered},
		Alertmanager: &outside.Source{URL: "http://alertmanager:9093", Asked: true, Answered: answered},
		Rules:        map[string]outside.Rule{},
		Alerts: []outside.Alert{
			{Labels: labels("BullMQQueueWithoutWorkers", "email", "severity", "critical", "component", "queue"), State: "silenced", SilencedBy: []string{"s1"}},
			{Labels: labels("BullMQQueueWithoutWorkers", "secret", "severity", "critical", "component", "queue"), State: "active"},
		},
		Silences: []outside.Silence{
			{
				ID: "s1", State: "active", EndsAt: time.Now().Add(90 * time.Minute), By: "ada", Comment: `<script>alert("x")</script>`,
				Matchers: []outside.Matcher{{Name: "queue", Op: "=", Value: "email"}},
			},
			{ID: "s2", State: "pending", Matchers: []outside.Matcher{{Name: "queue", Op: "=~", Value: "secret.*"}}},
		},
	}
	for _, a := range alerts.Alerts("bullpen") {
		st.Rules[outside.Key(a.Name, a.Labels())] = outside.Rule{}
	}
	st.Rules["BullMQQueueWithoutWorkers/critical//"] = outside.Rule{Active: []outside.Alert{
		{Labels: labels("BullMQQueueWithoutWorkers", "email"), State: "firing"},
		{Labels: labels("BullMQQueueWithoutWorkers", "secret"), State: "pending"},
	}}
	st.Rules["BullpenExporterDown/critical//"] = outside.Rule{Active: []outside.Alert{{State: "firing"}}}
	st.Rules["BullMQRedisDown/critical//"] = outside.Rule{Err: "many-to-many <b>matching</b>"}
	return st
}

func TestAlertsPageShowsWhatOthersSay(t *testing.T) {
	b := newBench(t)
	b.monitor.statuses = rulesNow()
	st := said(b.queue.Prefix)
	b.o.Outside = func() *outside.State { return st }
	b.o.Webhook = func() notify.Status { return notify.Status{Sending: true, Err: "the receiver answers 503"} }
	page := b.get("/alerts").body
	has(t, page, "Prometheus, Alertmanager</th>")
	has(t, page, "1 firing, 1 pending")
	has(t, page, "1 active")
	has(t, page, "1 silenced until ")
	has(t, page, "cannot be evaluated: many-to-many &lt;b&gt;matching&lt;/b&gt;")
	has(t, page, "Evaluates all ")
	has(t, page, "Asked 12\u00a0s ago.")
	has(t, page, "Knows 2\u00a0alerts of Bullpen")
	has(t, page, "The last message was not taken: the receiver answers 503. It is tried again.")
	has(t, page, "&lt;script&gt;")
	hasNot(t, page, "<script>alert")
	has(t, page, `href="http://alertmanager:9093/#/silences/s1"`)
	has(t, page, "secret.*")
	has(t, page, "Prometheus says so.", "an alert that only Prometheus can see fires")

	st.Prometheus.Err, st.Alertmanager.Err = "connection refused", "it answers 503 Service Unavailable"
	page = b.get("/alerts").body
	has(t, page, "Cannot be asked at http://prometheus:9090: connection refused. What is shown of it is from 12\u00a0s ago.")
	has(t, page, "Cannot be asked at http://alertmanager:9093: it answers 503 Service Unavailable.")
	hasNot(t, page, "Prometheus says so.", "what is old is not news")

	st.Prometheus = &outside.Source{URL: "http://prometheus:9090"}
	st.Alertmanager, st.Rules = nil, nil
	page = b.get("/alerts").body
	has(t, page, "Not asked yet.")
	hasNot(t, page, "not loaded")
	st.Prometheus = &outside.Source{Asked: true, Answered: time.Now()}
	page = b.get("/alerts").body
	has(t, page, "Has none of Bullpen&#39;s rules.")
	hasNot(t, page, "not loaded", "that is said once")
	st.Rules = map[string]outside.Rule{"BullMQRedisDown/critical//": {}}
	page = b.get("/alerts").body
	has(t, page, "Lacks ")
	has(t, page, "not loaded")
}

// TestOthersTellNoSecrets shows nothing of queues that the viewer may not see.
func TestOthersTellNoSecrets(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.Auth = fixed{Identity{Name: "eve", Role: Viewer, Queues: []string{"email"}}}
	})
	b.monitor.statuses = rulesNow()
	b.o.Outside = func() *outside.State { return said(b.queue.Prefix) }
	page := b.get("/alerts").body
	has(t, page, "Knows 1\u00a0alert of")
	has(t, page, "queue=&#34;email&#34;")
	hasNot(t, page, "secret")
	hasNot(t, page, "1 pending")
	hasNot(t, page, "1 active")
}

// TestProgramsHearWhatOthersSay answers what the page shows, to each what he may see.
func TestProgramsHearWhatOthersSay(t *testing.T) {
	b := newBench(t)
	b.monitor.statuses = rulesNow()
	ask := func() (told alertsJSON, rules map[string]ruleJSON) {
		require.NoError(t, json.Unmarshal([]byte(b.get("/api/v1/alerts").body), &told))
		rules = map[string]ruleJSON{}
		for _, r := range told.Rules {
			rules[r.Name] = r
		}
		return told, rules
	}
	told, rules := ask()
	require.Nil(t, told.Prometheus)
	require.Nil(t, told.Webhook)
	require.Empty(t, told.Silences)
	require.Equal(t, "outside", rules["BullpenExporterDown"].State, "a rule that only Prometheus can evaluate is told too")

	b.o.Outside = func() *outside.State { return said(b.queue.Prefix) }
	b.o.Webhook = func() notify.Status { return notify.Status{Sending: true, Err: "the receiver answers 503"} }
	told, rules = ask()
	require.Equal(t, "http://prometheus:9090", told.Prometheus.URL)
	require.NotNil(t, told.Alertmanager.Answered)
	require.Equal(t, webhookJSON{Sending: true, Error: "the receiver answers 503"}, *told.Webhook)
	require.Len(t, told.Silences, 2)
	require.Equal(t, []string{`queue="email"`}, told.Silences[0].Matchers)
	require.Equal(t, ruleOutsideJSON{Loaded: true, Firing: 1, Pending: 1}, *rules["BullMQQueueWithoutWorkers"].Prometheus)
	require.Equal(t, map[string]int64{"silenced": 1, "active": 1}, rules["BullMQQueueWithoutWorkers"].Alertmanager)
	require.Equal(t, "many-to-many <b>matching</b>", rules["BullMQRedisDown"].Prometheus.Error)

	b = newBench(t, func(o *Options) {
		o.Auth = fixed{Identity{Name: "eve", Role: Viewer, Queues: []string{"email"}}}
	})
	b.monitor.statuses = rulesNow()
	b.o.Outside = func() *outside.State { return said(b.queue.Prefix) }
	told, rules = ask()
	require.Len(t, told.Silences, 1)
	require.Equal(t, ruleOutsideJSON{Loaded: true, Firing: 1}, *rules["BullMQQueueWithoutWorkers"].Prometheus)
	require.Equal(t, map[string]int64{"silenced": 1}, rules["BullMQQueueWithoutWorkers"].Alertmanager)
}

// TestMarkCountsWhatTheViewerSees does not betray the alerts of hidden queues in the top bar.
func TestMarkCountsWhatTheViewerSees(t *testing.T) {
	for pattern, mark := range map[string]bool{"email": true, "other-*": false} {
		b := newBench(t, func(o *Options) {
			o.Auth = fixed{Identity{Name: "eve", Role: Viewer, Queues: []string{pattern}}}
		})
		b.monitor.statuses = rulesNow()
		b.fire("BullMQQueueWithoutWorkers", 3204)
		page := b.get("/workers").body
		if mark {
			has(t, page, "sr\"> firing")
		} else {
			hasNot(t, page, "sr\"> firing")
			hasNot(t, b.get("/api/v1/alerts").body, `"state":"firing"`)
		}
	}
}

// TestRequestsAreCountedByRoute takes patterns for routes, and one for all that matches none.
func TestRequestsAreCountedByRoute(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	b := newBench(t, func(o *Options) {
		o.Answered = func(route, method string, status int, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			require.Positive(t, took)
			seen[method+" "+route] = status
		}
	})
	b.get("/queues/email")
	b.get("/no/such/page")
	b.get("/queues/email/jobs/none")
	require.Equal(t, map[string]int{"GET /queues/:queue": 200, "GET other": 404, "GET /queues/:queue/jobs/:id": 404}, seen)
}

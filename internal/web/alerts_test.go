package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"bullpen/alerts"
	"bullpen/docs/runbooks"
	"bullpen/internal/monitor/alerting"

	"github.com/stretchr/testify/require"
)

// rulesNow is every rule that is evaluated inside, with nothing found.
func rulesNow() []alerting.Status {
	var out []alerting.Status
	for _, a := range alerts.Alerts("bullpen") {
		if !a.Outside {
			out = append(out, alerting.Status{Rule: a, State: alerting.Inactive})
		}
	}
	return out
}

// ruleAt is the place of the first rule of a name.
func ruleAt(t *testing.T, all []alerting.Status, name string) int {
	t.Helper()
	for i, st := range all {
		if st.Rule.Name == name {
			return i
		}
	}
	t.Fatalf("no rule %s", name)
	return 0
}

// fire makes a rule fire for the bench's queue.
func (b *bench) fire(name string, value float64) {
	b.t.Helper()
	st := &b.monitor.statuses[ruleAt(b.t, b.monitor.statuses, name)]
	st.State = alerting.Firing
	st.Active = []alerting.Active{{
		Labels: alerting.NewLabels("prefix", b.queue.Prefix, "queue", "email", "severity", string(st.Rule.Severity)),
		State:  alerting.Firing, Since: time.Now().Add(-14 * time.Minute), Value: value,
		Summary: "Queue email has jobs but no workers.", Description: "3,204 jobs wait.",
	}}
}

func TestAlertsPageShowsEveryRule(t *testing.T) {
	b := newBench(t)
	b.monitor.statuses = rulesNow()
	page := b.get("/alerts").body
	has(t, page, "No alert is firing")
	for _, a := range alerts.Alerts("bullpen") {
		has(t, page, ">"+a.Name+"<")
		has(t, page, `href="/runbooks/`+a.Runbook+`"`, "the way to the page of", a.Name)
	}
	has(t, page, "Evaluated by Prometheus only")
	hasNot(t, page, "sr\"> firing", "a mark in the top bar")
}

func TestFiringAlertsComeFirst(t *testing.T) {
	b := newBench(t)
	b.monitor.statuses = rulesNow()
	waiting := &b.monitor.statuses[ruleAt(t, b.monitor.statuses, "BullMQWaitTargetMissed")]
	waiting.State, waiting.UnknownUntil = alerting.Unknown, time.Date(2026, 3, 12, 14, 30, 0, 0, time.UTC)
	memory := ruleAt(t, b.monitor.statuses, "BullMQRedisMemoryHigh")
	b.monitor.readings = map[int]alerting.Reading{memory: {Labels: alerting.NewLabels("redis", "default"), Value: .64, Limit: .8}}
	b.fire("BullMQQueueWithoutWorkers", 3204)
	page := b.get("/alerts").body
	has(t, page, "1\u00a0alert is firing")
	has(t, page, "3,204 jobs wait.")
	has(t, page, `<a href="/queues/email">email</a>`)
	has(t, page, "14\u00a0min ago")
	has(t, page, "unknown until 14:30")
	has(t, page, "Nearest to its limit: 64\u00a0% of 80\u00a0%")
	has(t, page, `<b class="s-failed">1<span class="sr"> firing</span></b>`, "the mark in the top bar")
	require.Less(t, strings.Index(page, ">BullMQQueueWithoutWorkers<"), strings.Index(page, ">BullMQWaitTargetMissed<"))
	require.Less(t, strings.Index(page, ">BullMQWaitTargetMissed<"), strings.Index(page, ">BullMQRedisMemoryHigh<"))
}

func TestPendingAlertsSayWhenTheyFire(t *testing.T) {
	b := newBench(t)
	b.monitor.statuses = rulesNow()
	b.fire("BullMQQueueWithoutWorkers", 3)
	st := &b.monitor.statuses[ruleAt(t, b.monitor.statuses, "BullMQQueueWithoutWorkers")]
	st.State, st.Active[0].State, st.Active[0].Since = alerting.Pending, alerting.Pending, time.Now().Add(-time.Minute)
	page := b.get("/alerts").body
	has(t, page, "1\u00a0alert fires if it lasts")
	require.Regexp(t, `3, fires in (4\x{a0}min|3\x{a0}min)`, page)
	hasNot(t, page, "sr\"> firing", "pending alerts are not counted")
}

func TestAlertsOfHiddenQueuesAreNotShown(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.Auth = fixed{Identity{Name: "eve", Role: Viewer, Queues: []string{"other-*"}}}
	})
	b.monitor.statuses = rulesNow()
	b.fire("BullMQQueueWithoutWorkers", 3204)
	page := b.get("/alerts").body
	hasNot(t, page, "3,204")
	hasNot(t, page, ">email<")
}

func TestManyAlertsOfARuleAreCounted(t *testing.T) {
	b := newBench(t)
	b.monitor.statuses = rulesNow()
	b.fire("BullMQQueueWithoutWorkers", 3204)
	st := &b.monitor.statuses[ruleAt(t, b.monitor.statuses, "BullMQQueueWithoutWorkers")]
	for range 2 * maxAlertsOfRule {
		st.Active = append(st.Active, st.Active[0])
	}
	has(t, b.get("/alerts").body, "21 more of this alert.")
}

func TestRunbooks(t *testing.T) {
	b := newBench(t, func(o *Options) { o.BasePath = "/ops" })
	b.monitor.statuses = rulesNow()
	b.fire("BullMQRedisMemoryHigh", .85)
	for _, name := range runbooks.Names() {
		a := b.get("/ops/runbooks/" + name)
		require.Equal(t, http.StatusOK, a.status, name)
		has(t, a.body, "<h2>What to do</h2>", name)
		hasNot(t, a.body, ".md\"", name)
		hasNot(t, a.body, "raw HTML omitted", name)
	}
	page := b.get("/ops/runbooks/wait-target").body
	has(t, page, `<a href="/ops/runbooks/no-workers">no workers</a>`)
	has(t, b.get("/ops/runbooks/redis-memory.md").body, "critical, nothing found", "the state of its rules")
	has(t, b.get("/ops/runbooks/redis-memory").body, "warning, firing")
	require.Equal(t, http.StatusNotFound, b.get("/ops/runbooks/no-such").status)
}

func TestRunbookMarkupIsInert(t *testing.T) {
	b := newBench(t)
	title, html, err := b.runbook("# A <b>title</b>\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1)) and <img src=x onerror=alert(1)>\n")
	require.NoError(t, err)
	require.Equal(t, "A <b>title</b>", title)
	for _, bad := range []string{"<script", "javascript:", "<img", "onerror"} {
		hasNot(t, html, bad)
	}
}

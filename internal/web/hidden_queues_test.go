package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"bullpen/internal/audit"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor/alerting"
	"bullpen/internal/web/operation"

	"github.com/stretchr/testify/require"
)

// switching is a login whose person changes.
type switching struct{ who *Identity }

func (s switching) Identify(*http.Request) (Identity, error) { return *s.who, nil }

var (
	boss = Identity{Name: "ada", Role: Admin}
	vic  = Identity{Name: "vic", Role: Operator, Queues: []string{"email", "dead"}}
)

// several runs an operation on email and on a queue that vic may not see, to its end.
func (b *bench) several() {
	b.t.Helper()
	call := &Call{Action: &Action{Name: "retry"}, Who: boss, Path: "/failures/abc/retry", Values: url.Values{}}
	spec := operation.Spec{
		Verb: "retry", Subject: "failed jobs", Group: "abc", Queues: []string{b.queue.Qualified(), b.queue.Prefix + ":payroll"},
		Prepare: func(context.Context) (int64, error) { return 2, nil },
		Step: func(context.Context, int) (operation.Batch, error) {
			return operation.Batch{Done: 1, Refused: []operation.Refusal{{ID: "salary-7", Reason: "of payroll is locked"}}, Last: true}, nil
		},
	}
	_, err := b.begin(b.t.Context(), call, spec)
	require.NoError(b.t, err)
	<-b.ops.Get(1).Over()
}

// TestOperationsOnHiddenQueues: who may see one queue of an operation learns nothing of the others but their number.
func TestOperationsOnHiddenQueues(t *testing.T) {
	who := boss
	b := withActivity(t, func(o *Options) { o.Auth = switching{&who} })
	b.several()
	pages := []string{"/operations", "/operations/1", "/api/v1/operations", "/api/v1/operations/1", "/operations/1/refusals", "/api/v1/operations/1/refusals", "/activity", "/api/v1/activity"}
	all := ""
	for _, path := range pages {
		all += b.get(path).body
	}
	for _, secret := range []string{"payroll", "salary-7", "/failures/abc/retry"} {
		has(t, all, secret, "to those who may see all queues")
	}
	who = vic
	for _, path := range pages {
		page := b.get(path).body
		hasNot(t, page, "payroll", path)
		hasNot(t, page, "salary-7", path)
		hasNot(t, page, "/failures/abc/retry", path)
	}
	has(t, b.get("/operations/1").body, "and 1 you may not see")
	has(t, b.get("/api/v1/operations/1").body, `"hiddenQueues": 1`)
	require.Equal(t, http.StatusForbidden, b.get("/operations/1/refusals").status)
	has(t, b.get("/activity").body, "On 2\u00a0queues, of which you may not see 1.")
	hasNot(t, b.get("/activity?q=salary").body, "On 2\u00a0queues", "nor by a search")
	who.Queues = []string{"other"}
	hasNot(t, b.get("/activity").body, "On 2\u00a0queues")
	hasNot(t, b.get("/operations").body, "failed jobs")
}

// TestTheStartOfAnActOnSeveralQueuesNamesThem, so that the activity can hide it.
func TestTheStartOfAnActOnSeveralQueuesNamesThem(t *testing.T) {
	b := newBench(t)
	a := Action{Name: "retry", Path: "/failures/:group/retry", Role: Operator, Do: func(context.Context, *Call) (Result, error) {
		return Result{Message: "Retrying.", Operation: "1", Queues: []string{"a:b", "a:c"}}, nil
	}}
	r := httptest.NewRequest(http.MethodPost, "/failures/abc/retry", nil)
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	require.NoError(t, b.gate(&a)(b.echo.NewContext(r, httptest.NewRecorder())))
	e := b.audit.take()
	require.Equal(t, audit.Started, e[0].Outcome)
	require.Equal(t, []string{"a:b", "a:c"}, e[0].Queues)
}

func TestRunningOperationsAreCountedForWhoMaySeeThem(t *testing.T) {
	who := boss
	b := newBench(t, func(o *Options) { o.Auth = switching{&who} })
	b.stuck()
	text, _, _ := runningMark(b.Server, boss)
	require.Equal(t, "1", text)
	text, _, _ = runningMark(b.Server, Identity{Name: "eve", Role: Viewer, Queues: []string{"other"}})
	require.Empty(t, text)
}

// TestParentsInHiddenQueues: neither a job, nor a download, nor the record names them.
func TestParentsInHiddenQueues(t *testing.T) {
	who := boss
	b := newBench(t, func(o *Options) { o.Auth = switching{&who} })
	b.family()
	paths := []string{"/queues/label/jobs/leaf-1", "/api/v1/queues/label/jobs/leaf-1", "/queues/label/export?state=waiting"}
	for _, path := range paths {
		has(t, b.get(path).body, "carrier-mid", path)
	}
	who = Identity{Name: "vic", Role: Viewer, Queues: []string{"email", "label"}}
	for _, path := range paths {
		page := b.get(path).body
		has(t, page, "leaf-1", path)
		hasNot(t, page, "carrier", path)
	}
	label := keys.Queue{Prefix: b.queue.Prefix, Name: "label"}
	require.NoError(t, b.client.HDel(t.Context(), label.Job("leaf-1"), "parentKey").Err())
	for _, path := range paths {
		hasNot(t, b.get(path).body, "carrier", path, "whatever of it is stored")
	}
}

// TestOriginalsInHiddenQueues: the id of a letter begins with its queue's name; nothing else tells of it.
func TestOriginalsInHiddenQueues(t *testing.T) {
	who := boss
	b := bury(t, 1, func(o *Options) { o.Auth = switching{&who} })
	id := b.letters[0]
	paths := []string{"/queues/dead/jobs/" + id, "/api/v1/queues/dead/jobs/" + id, "/queues/dead/export?state=waiting"}
	require.NoError(t, b.client.HSet(t.Context(), b.dead.JobKey(id), "replayedFrom", `{"queue":"email","id":"gone-1","at":1}`).Err())
	has(t, b.get(paths[0]).body, "gone-1")
	who = Identity{Name: "dee", Role: Operator, Queues: []string{"dead"}}
	for _, path := range paths {
		page := strings.ReplaceAll(b.get(path).body, id, "ID")
		hasNot(t, page, "email", path)
		hasNot(t, page, "gone-1", path)
	}
	has(t, b.get(paths[0]).body, "Dead letter of a job in a queue that you may not see")
	who = boss
	b.post("/queues/dead/jobs/"+id+"/replay", nil)
	has(t, b.get(paths[0]).body, "/queues/email/jobs/")
	who = Identity{Name: "dee", Role: Operator, Queues: []string{"dead"}}
	gone := b.get(paths[0]).body
	has(t, gone, "was replayed on")
	hasNot(t, gone, "/queues/email/jobs/")
}

func TestOptionsOfOthersAreLeftOut(t *testing.T) {
	for raw, want := range map[string]string{
		`{"attempts":3,"parent":{"id":"7","queue":"bull:payroll"}}`:                                           `{"attempts":3}`,
		`{"attempts":3, "parent":{"id":"7","queue":"bull:email"}}`:                                            `{"attempts":3, "parent":{"id":"7","queue":"bull:email"}}`,
		`{"deadLetter":{"queue":"payroll","id":"7"}}`:                                                         `{}`,
		`{"deadLetter":{"queue":"email","id":"7","opts":{"parent":{"id":"7","queue":"bull:payroll"},"x":1}}}`: `{"deadLetter":{"id":"7","opts":{"x":1},"queue":"email"}}`,
		`{"deadLetter":5,"parent":{"id":"7","queue":"bull:payroll"}}`:                                         `{"deadLetter":5}`,
		`[]`: `[]`,
	} {
		require.Equal(t, want, string(visibleOptions(vic, "bull", json.RawMessage(raw))))
		require.Equal(t, raw, string(visibleOptions(boss, "bull", json.RawMessage(raw))))
	}
}

// TestAlertsOfHiddenQueuesDoNotShowInTheRule, not by its look either.
func TestAlertsOfHiddenQueuesDoNotShowInTheRule(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Auth = fixed{Identity{Name: "eve", Role: Viewer, Queues: []string{"other"}}} })
	b.monitor.statuses = rulesNow()
	calm := strings.Count(b.get("/alerts").body, "firing")
	b.fire("BullMQQueueWithoutWorkers", 14)
	require.Equal(t, calm, strings.Count(b.get("/alerts").body, "firing"))

	st := &b.monitor.statuses[ruleAt(t, b.monitor.statuses, "BullMQQueueWithoutWorkers")]
	st.Active = append(st.Active, alerting.Active{Labels: alerting.NewLabels("prefix", b.queue.Prefix, "queue", "other"), State: alerting.Pending, Since: time.Now()})
	hasNot(t, b.get("/api/v1/alerts").body, `"state": "firing"`)
	has(t, b.get("/api/v1/alerts").body, `"state": "pending"`)
}

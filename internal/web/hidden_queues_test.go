package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"bullpen/internal/audit"
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

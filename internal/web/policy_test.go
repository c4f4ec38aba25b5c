package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/internal/monitor"
	"bullpen/templates"

	"github.com/stretchr/testify/require"
)

// filed is the policy the tests' file has for the queue "email".
var filed = policy.Policy{
	Attempts: 5, Backoff: policy.Backoff{Type: policy.Exponential, Delay: time.Second, Max: time.Minute, Jitter: 0.5}, Concurrency: 4,
	Limiter: policy.Limiter{Max: 50, Duration: time.Second}, Timeout: 10 * time.Second,
	KeepCompleted: policy.Keep{Set: true, Count: 1000, Limit: 7}, KeepFailed: policy.Keep{Set: true, Age: 168 * time.Hour, Count: -1}, DeadLetter: "email-dead",
}

// withPolicies lets a bench change policies.
func withPolicies(t *testing.T, two bool) func(*Options) {
	return func(o *Options) {
		var err error
		o.Policies, err = livepolicy.New(livepolicy.Options{
			Client: redisServer.Client(t), Queue: o.Queue, TwoPeople: two,
			File: func(keys.Queue) (policy.Policy, string) { return filed, "bullpen.yaml" },
		})
		require.NoError(t, err)
	}
}

// busy puts a load into the snapshot: 34 new jobs a second, 38 % of the attempts fail, five workers of four.
func (b *bench) busy() {
	b.t.Helper()
	snap := *b.monitor.Snapshot()
	q := *snap.Queues[0]
	q.Counts = map[keys.State]int64{keys.Waiting: 3960, keys.Active: 17}
	q.Limiter = monitor.Limiter{Max: 50, Duration: time.Second, Closed: true}
	q.Ceiling, q.CeilingKnown, q.CeilingSource = 20, true, "workers"
	q.Workers, q.WorkersKnown, q.BullpenWorkers, q.Announced = 5, true, 5, 20
	q.Rate = monitor.Rates{Known: true, Added: 34, Started: 50, Completed: 31, Retried: 18, Failed: 1, FailingShare: 0.38, Active: 17}
	q.History = []monitor.Minute{{Start: time.Now().Truncate(time.Minute).Add(-time.Minute), RunMean: 346, Seen: 3000, Completed: 1860, Failed: 16, Limited: 1}}
	snap.Queues = append([]*monitor.Queue{&q}, snap.Queues[1:]...)
	snap.Workers = nil
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		snap.Workers = append(snap.Workers, monitor.Worker{Queue: q.Queue, Name: name + ":7", Host: name, PID: 7 + i, Bullpen: true, Concurrency: 4, PolicyHash: "abc"})
	}
	b.monitor.publish(&snap)
}

func TestPolicyAgainstWhatHappens(t *testing.T) {
	b := newBench(t, withPolicies(t, false))
	b.busy()
	page := b.get("/queues/email/policy")
	require.Equal(t, http.StatusOK, page.status)
	for _, want := range []string{
		"Retries fill the limiter of email", "34.0 new jobs a second become 54.4 starts, the limiter lets 50.0 through, and",
		"4.4 a second are left over: waiting grows by 264 a minute.", "Workers are not the limit, they could run 57.8.",
		"0.60 more attempts for each new job", "50 per 1\u00a0s over the whole fleet", "ceiling 20, mean run 346\u00a0ms", "grows by 264/min", "62\u00a0% of 50.0 starts",
		"Limiter at 60 per 1\u00a0s", "workers then cap at 57.8/s", "3\u00a0attempts instead of 5", "Backlog of 3,960", "the limiter decides, not the ceiling",
		"An outage of more than 11\u00a0s uses up every attempt.", "Failed for good, last hour", "16 of 1,876",
		"<b>5</b> replicas", "<b>4</b> each", "<b>20</b> at once", "17 of 20\u00a0places taken", "<b>17.3</b> in flight", "86\u00a0% of the ceiling, 2.7 to spare.",
		"exponential, 1s, max 1m, jitter 0.5", "1000", "168h", "bullpen.yaml", "full for",
		"at 38\u00a0% failing attempts, 0.8\u00a0% of the jobs use up all 5\u00a0attempts; the policy tolerates 0.01\u00a0%",
	} {
		has(t, page.body, want)
	}
	has(t, b.get("/queues/email").body, `/queues/email/policy"`, "the queue's page leads here")
}

func TestPolicyFindings(t *testing.T) {
	t.Parallel()
	known := func(load monitor.Load) policyState {
		q := &monitor.Queue{Queue: keys.Queue{Name: "q"}, Counts: map[keys.State]int64{}, Rate: monitor.Rates{Known: true}}
		return policyState{q: q, load: load, size: load.Size(), inForce: filed.WithDefaults()}
	}
	run := 100 * time.Millisecond
	tests := map[string]policyState{
		"Retries fill the limiter of q":                 known(monitor.Load{Arrival: 10, FailingShare: 0.5, Attempts: 3, Limit: 12, MeanRun: run, Ceiling: 10}),
		"More arrives at q than its limiter lets start": known(monitor.Load{Arrival: 20, Attempts: 1, Limit: 12, MeanRun: run, Ceiling: 10}),
		"The workers of q cannot keep up":               known(monitor.Load{Arrival: 20, Attempts: 1, MeanRun: run, Ceiling: 1}),
		"Nobody works on q":                             known(monitor.Load{Arrival: 20, Attempts: 1, MeanRun: run, Ceiling: 0}),
		"Nothing arrives at q":                          known(monitor.Load{Attempts: 1, MeanRun: run, Ceiling: 3}),
		"q has little room left":                        known(monitor.Load{Arrival: 9.5, Attempts: 1, MeanRun: run, Ceiling: 1}),
		"q has room":                                    known(monitor.Load{Arrival: 1, Attempts: 1, MeanRun: run, Ceiling: 10}),
	}
	unknown := known(monitor.Load{})
	unknown.q.Rate.Known = false
	tests["Policy of q"] = unknown
	for want, p := range tests {
		var v templates.PolicyPage
		policyFinding(p, &v)
		require.Equal(t, want, v.Title)
	}
}

func TestSizingCalculator(t *testing.T) {
	b := newBench(t, withPolicies(t, false))
	b.busy()
	page := b.get("/queues/email/policy?rate=50&run=200ms&replicas=4&pool=10")
	for _, want := range []string{
		"50 per 1\u00a0s", "about 3 per replica", "50.0/s × 200\u00a0ms are 10.0 requests in flight", "2.5 on each of 4\u00a0replicas", "2.5 ÷ 0.8, rounded up: 4.", "It fits into the pool of 10.",
		"/queues/email/policy/propose?back=%2Fqueues%2Femail%2Fpolicy%3Fpool%3D10%26rate%3D50%26replicas%3D4%26run%3D200ms&amp;concurrency=4&amp;limiter_duration=1s&amp;limiter_max=50",
	} {
		has(t, page.body, want)
	}
	measured := b.get("/queues/email/policy")
	has(t, measured.body, `name="rate" value="50"`, "the limiter is the first guess")
	has(t, measured.body, `name="run" value="346ms"`)
	has(t, measured.body, `name="replicas" value="5"`)
	wrong := b.get("/queues/email/policy?rate=lots&run=-1&replicas=0&pool=x")
	require.Equal(t, 4, strings.Count(wrong.body, "Not understood."))
	hasNot(t, wrong.body, "about 3 per replica")
	small := b.get("/queues/email/policy?rate=50&run=200ms&replicas=2&pool=3")
	has(t, small.body, "The pool of 3 on each replica allows 30.0/s at most. For 50.0/s it takes 5\u00a0replicas, or a larger pool.")
}

func TestProposeAndRollBack(t *testing.T) {
	b := newBench(t, withPolicies(t, false))
	b.busy()
	form := b.get("/queues/email/policy/propose")
	require.Equal(t, http.StatusOK, form.status)
	for _, want := range []string{`name="concurrency" value="4"`, `name="limiter_max" value="50"`, `name="limiter_duration" value="1s"`, `name="keep_failed" value="168h"`, `name="apply" value="1" checked`} {
		has(t, form.body, want)
	}
	bad := b.post("/queues/email/policy/propose", url.Values{"concurrency": {"0"}, "backoff_max": {"10ms"}, "backoff_jitter": {"2"}, "limiter_duration": {"soon"}, "keep_failed": {"many"}, "why": {""}})
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	for _, want := range []string{"A whole number from 1 up.", "10ms is less than the delay, 1s", "2 is not between 0 and 1", "write a number and a unit", "Such as 1000, 168h", "Say why"} {
		has(t, bad.body, want)
	}
	same := b.post("/queues/email/policy/propose", url.Values{"concurrency": {"4"}, "why": {"x"}})
	has(t, same.body, "Nothing would change")
	require.Empty(t, b.client.Exists(t.Context(), b.queue.LivePolicy()).Val())

	change := url.Values{"back": {"/queues/email/policy"}, "concurrency": {"8"}, "global_concurrency": {"24"}, "why": {"more work"}, "apply": {"1"}, "seen": {"at revision 0"}}
	asked := b.post("/queues/email/policy/propose", change)
	require.Equal(t, http.StatusOK, asked.status, asked.body)
	for _, want := range []string{"4 → 8", "not set → 24", "Touches: 5\u00a0workers on 5\u00a0replicas: a:7, b:7, c:7, d:7, e:7", "Ceiling: 20 at once → 24 at once", "Downstream gets at most: 50.0/s, as before", "Make it live"} {
		has(t, asked.body, want)
	}
	require.Empty(t, b.client.HGet(t.Context(), b.queue.Meta(), "concurrency").Val(), "a question changes nothing")
	change.Set("confirm", "yes")
	done := b.post("/queues/email/policy/propose", change)
	require.Equal(t, http.StatusSeeOther, done.status, done.body)
	require.Equal(t, "/queues/email/policy", done.header.Get("Location"))
	has(t, b.notice(done), "concurrency 4 → 8; global_concurrency not set → 24. Live as revision 1")
	require.Equal(t, "24", b.client.HGet(t.Context(), b.queue.Meta(), "concurrency").Val())
	entries := b.audit.take()
	require.Equal(t, "done", entries[len(entries)-1].Outcome)

	page := b.get("/queues/email/policy")
	for _, want := range []string{"live, revision 1", "bullpen.yaml says 4", "5\u00a0workers do not act by revision 1 yet", "more work", "Roll back to the file…"} {
		has(t, page.body, want)
	}
	stale := b.post("/queues/email/policy/propose", change)
	require.Equal(t, http.StatusSeeOther, stale.status)
	has(t, b.notice(stale), "is no longer at revision 0, it is at revision 1 now")

	back := url.Values{"to": {"0"}, "why": {"worse"}, "apply": {"1"}}
	asked = b.post("/queues/email/policy/rollback", back)
	require.Equal(t, http.StatusOK, asked.status)
	has(t, asked.body, "Roll email back to the file?")
	has(t, asked.body, "8 → 4")
	back.Set("confirm", "yes")
	done = b.post("/queues/email/policy/rollback", back)
	require.Equal(t, http.StatusSeeOther, done.status, done.body)
	require.Empty(t, b.client.HGet(t.Context(), b.queue.Meta(), "concurrency").Val())
	has(t, b.get("/queues/email/policy").body, "Revision 2, back to the file")
	nowhere := b.call("/api/v1/queues/email/policy/rollback", `{"to":"9","why":"x","confirm":"yes"}`)
	require.Equal(t, http.StatusUnprocessableEntity, nowhere.status)
}

func TestTwoPeopleDecide(t *testing.T) {
	who := &someone{Identity{Name: "ada", Role: Operator}}
	b := newBench(t, withPolicies(t, true), func(o *Options) { o.Auth = who })
	b.busy()
	made := b.call("/api/v1/queues/email/policy/propose", `{"concurrency":8,"paused":"yes","why":"maintenance","apply":true,"confirm":"yes"}`)
	require.Equal(t, http.StatusOK, made.status, made.body)
	has(t, made.body, "It waits for approval.", "apply does not help where two have to agree")
	page := b.get("/queues/email/policy")
	for _, want := range []string{"A change waits for approval", "maintenance", "Proposed by ada", "20 at once → 40 at once", "Two people have to agree", "disabled"} {
		has(t, page.body, want)
	}
	hasNot(t, page.body, "Edit limits")
	own := b.call("/api/v1/queues/email/policy/approve", `{"number":1}`)
	require.Equal(t, http.StatusForbidden, own.status, own.body)
	another := b.call("/api/v1/queues/email/policy/propose", `{"concurrency":9,"why":"x","confirm":"yes"}`)
	require.Equal(t, http.StatusConflict, another.status)
	has(t, another.body, "ada proposed one; approve or reject it first.")

	who.id.Name = "bob"
	approved := b.call("/api/v1/queues/email/policy/approve", `{"number":1}`)
	require.Equal(t, http.StatusOK, approved.status, approved.body)
	is, err := b.queue.IsPaused(t.Context())
	require.NoError(t, err)
	require.True(t, is)
	again := b.call("/api/v1/queues/email/policy/approve", `{"number":1}`)
	require.Equal(t, http.StatusConflict, again.status)
	has(t, again.body, "was decided meanwhile")

	next := b.call("/api/v1/queues/email/policy/propose", `{"attempts":2,"why":"less load","confirm":"yes"}`)
	require.Equal(t, http.StatusOK, next.status, next.body)
	rejected := b.post("/queues/email/policy/reject", url.Values{"number": {"2"}, "note": {"not now"}, "confirm": {"yes"}})
	require.Equal(t, http.StatusSeeOther, rejected.status, rejected.body)
	has(t, b.get("/queues/email/policy").body, "rejected: not now")

	var told policyJSON
	a := b.get("/api/v1/queues/email/policy")
	require.NoError(t, json.Unmarshal([]byte(a.body), &told), a.body)
	require.Equal(t, int64(1), told.Revision)
	require.True(t, told.TwoPeople)
	require.Len(t, told.Past, 2)
	require.Equal(t, 8, *told.Live.Concurrency)
	require.Contains(t, told.InForce, settingJSON{Field: "concurrency", Value: "8", Source: "live, revision 1"})
	require.InDelta(t, 54.4, told.Load.Wanted, 0.1)
}

// someone is an Authenticator whose person changes.
type someone struct{ id Identity }

func (s *someone) Identify(*http.Request) (Identity, error) { return s.id, nil }

func TestPolicyWithoutAStore(t *testing.T) {
	b := newBench(t)
	b.busy()
	page := b.get("/queues/email/policy")
	require.Equal(t, http.StatusOK, page.status)
	has(t, page.body, "Policies cannot be changed live here.")
	hasNot(t, page.body, "Edit limits")
	a := b.call("/api/v1/queues/email/policy/propose", `{"concurrency":8,"why":"x","confirm":"yes"}`)
	require.Equal(t, http.StatusNotFound, a.status)
}

func TestPolicyForm(t *testing.T) {
	t.Parallel()
	current := filed.WithDefaults()
	tests := map[string]struct {
		given url.Values
		want  func(*policy.Policy)
		wrong []string
	}{
		"nothing":           {url.Values{}, func(*policy.Policy) {}, nil},
		"numbers":           {url.Values{"concurrency": {"1,000"}, "attempts": {"2"}, "global_concurrency": {"9"}}, func(p *policy.Policy) { p.Concurrency, p.Attempts, p.GlobalConcurrency = 1000, 2, 9 }, nil},
		"no limiter":        {url.Values{"limiter_max": {"none"}}, func(p *policy.Policy) { p.Limiter = policy.Limiter{} }, nil},
		"limiter for all":   {url.Values{"limiter_max": {"7"}, "limiter_duration": {"2min"}, "limiter_scope": {"queue"}}, func(p *policy.Policy) { p.Limiter = policy.Limiter{Max: 7, Duration: 2 * time.Minute, Scope: "queue"} }, nil},
		"no backoff":        {url.Values{"backoff_type": {"none"}}, func(p *policy.Policy) { p.Backoff = policy.Backoff{Max: time.Minute} }, nil},
		"no cap, no jitter": {url.Values{"backoff_max": {""}, "backoff_jitter": {""}}, func(p *policy.Policy) { p.Backoff.Max, p.Backoff.Jitter = 0, 0 }, nil},
		"kept": {url.Values{"keep_completed": {"all"}, "keep_failed": {"5, 2h"}}, func(p *policy.Policy) {
			p.KeepCompleted, p.KeepFailed = policy.Keep{Set: true, Count: -1}, policy.Keep{Set: true, Count: 5, Age: 2 * time.Hour}
		}, nil},
		"kept as it was": {url.Values{"keep_completed": {"1000"}}, func(*policy.Policy) {}, nil},
		"kept none":      {url.Values{"keep_completed": {"none"}}, func(p *policy.Policy) { p.KeepCompleted = policy.Keep{Set: true} }, nil},
		"half a limiter": {url.Values{"limiter_duration": {""}}, nil, []string{"limiter_duration"}},
		"not words":      {url.Values{"limiter_scope": {"all"}, "backoff_type": {"linear"}, "paused": {"perhaps"}}, nil, []string{"backoff_type", "limiter_scope", "paused"}},
		"not numbers":    {url.Values{"attempts": {"-1"}, "concurrency": {""}, "backoff_jitter": {"half"}}, nil, []string{"attempts", "backoff_jitter", "concurrency"}},
		"kept nonsense":  {url.Values{"keep_completed": {"1, 2"}, "keep_failed": {"1h, 2h"}}, nil, []string{"keep_completed", "keep_failed"}},
		"delay without":  {url.Values{"backoff_delay": {""}}, nil, []string{"backoff_delay"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := readPolicyForm(tt.given, current, false)
			if tt.wrong != nil {
				var wrong []string
				for n := range f.problems {
					wrong = append(wrong, n)
				}
				slices.Sort(wrong)
				require.Equal(t, tt.wrong, wrong, "%v", f.problems)
				return
			}
			require.True(t, f.ok(), "%v", f.problems)
			want := current
			tt.want(&want)
			require.Equal(t, want, f.next)
		})
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	q := &monitor.Queue{
		Queue: keys.Queue{Name: "q"}, Counts: map[keys.State]int64{}, Rate: monitor.Rates{Known: true}, CeilingKnown: true, Ceiling: 13,
		Workers: 5, WorkersKnown: true, BullpenWorkers: 2, Announced: 4,
	}
	base := policy.Policy{Concurrency: 2, Attempts: 2, WorkerConcurrency: 3, Limiter: policy.Limiter{Max: 10, Duration: time.Second, Scope: "worker"}}.WithDefaults()
	load := monitor.Load{Arrival: 8, FailingShare: 0.5, Attempts: 2, MeanRun: time.Second, Ceiling: 13, Limit: 10, Backlog: 100}
	p := policyState{q: q, inForce: base, load: load, size: load.Size()}
	tests := map[string]struct {
		edit                   func(*policy.Policy)
		ceiling, most, backlog string
	}{
		"more at once":  {func(p *policy.Policy) { p.Concurrency = 5 }, "13 at once → 19 at once", "10.0/s, as before", "grows by 120/min, as before"},
		"fleet bound":   {func(p *policy.Policy) { p.GlobalConcurrency = 6 }, "13 at once → 6 at once", "10.0/s → 6.0/s", "grows by 120/min → grows by 360/min"},
		"wider limiter": {func(p *policy.Policy) { p.Limiter.Max = 100 }, "13 at once, as before", "10.0/s → 13.0/s", "grows by 120/min → drains in 1\u00a0min 40\u00a0s"},
		"no limiter":    {func(p *policy.Policy) { p.Limiter = policy.Limiter{} }, "13 at once, as before", "10.0/s → 13.0/s", "grows by 120/min → drains in 1\u00a0min 40\u00a0s"},
		"one attempt":   {func(p *policy.Policy) { p.Attempts = 1 }, "13 at once, as before", "10.0/s, as before", "grows by 120/min → drains in 50\u00a0s"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := base
			tt.edit(&after)
			got := effects(p, after, livepolicy.Differences(base, after))
			require.Equal(t, []string{tt.ceiling, tt.most, tt.backlog}, []string{got[1].Value, got[2].Value, got[3].Value})
			wanted := "12.0/s, as before"
			if after.Attempts == 1 {
				wanted = "12.0/s → 8.0/s"
			}
			require.Equal(t, wanted, got[4].Value)
		})
	}
	unknown := p
	unknown.load.Ceiling, unknown.load.Limit, unknown.load.MeanRun = -1, 0, 0
	q2 := *q
	q2.CeilingKnown = false
	unknown.q = &q2
	after := base
	after.Limiter = policy.Limiter{}
	got := effects(unknown, after, nil)
	require.Equal(t, "unknown, as before", got[1].Value)
	require.Equal(t, "no known bound, as before", got[2].Value)
	require.Equal(t, "3\u00a0workers of others: not touched", got[0].Small)
}

func TestFleetDrift(t *testing.T) {
	t.Parallel()
	q := &monitor.Queue{Queue: keys.Queue{Name: "q"}, Workers: 3}
	worker := func(name, hash string, revision int64) monitor.Worker {
		return monitor.Worker{Name: name, Bullpen: true, PolicyHash: hash, Revision: revision}
	}
	p := policyState{q: q, record: &livepolicy.Record{Revision: 2}, workers: []monitor.Worker{worker("a", "1f", 2), worker("b", "2f", 1)}}
	q.BullpenWorkers = 2
	f := policyFleet(p)
	require.Equal(t, "1\u00a0worker does not act by revision 2 yet: b. The workers were started with different files: 1f on a; 2f on b.", f.Drift)
	require.Equal(t, "1\u00a0more worker is not Bullpen's and obeys only the fleet's bound and a limiter for all clients.", f.Note)
	p.workers = p.workers[:1]
	require.Empty(t, policyFleet(p).Drift)
}

// TestLivePolicyIsPersonal: whoever proposed a change sees another button than whoever may approve it.
func TestLivePolicyIsPersonal(t *testing.T) {
	b := newBench(t, withPolicies(t, true))
	key := func(name, address string) string {
		topic, err := b.topicAt(address, Identity{Name: name, Role: Admin})
		require.NoError(t, err)
		return topic.key()
	}
	require.NotEqual(t, key("ada", "/queues/email/policy"), key("bob", "/queues/email/policy"))
	require.Equal(t, key("ada", "/queues/email"), key("bob", "/queues/email"), "other views are shared")
}

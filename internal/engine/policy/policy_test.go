package policy_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"bullpen/internal/engine/policy"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

// sound has nothing to complain about.
func sound() policy.Policy {
	keep := policy.Keep{Set: true, Count: 1000}
	return policy.Policy{
		Attempts: 5, Backoff: policy.Backoff{Type: policy.Exponential, Delay: 10 * time.Second, Max: time.Minute},
		Timeout: 10 * time.Second, KeepCompleted: keep, KeepFailed: keep,
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	const err, warning = "error", "warning"
	tests := []struct {
		name  string
		edit  func(*policy.Policy)
		field string
		kind  string
	}{
		{"attempts", func(p *policy.Policy) { p.Attempts = -1 }, "attempts", err},
		{"concurrency", func(p *policy.Policy) { p.Concurrency = -3 }, "concurrency", err},
		{"global concurrency", func(p *policy.Policy) { p.GlobalConcurrency = -3 }, "global_concurrency", err},
		{"max stalled", func(p *policy.Policy) { p.MaxStalled = ptr(-1) }, "max_stalled", err},
		{"timeout", func(p *policy.Policy) { p.Timeout = -time.Second }, "timeout", err},
		{"age", func(p *policy.Policy) { p.KeepFailed.Age = -time.Second }, "keep_failed.age", err},
		{"limit", func(p *policy.Policy) { p.KeepCompleted.Limit = -1 }, "keep_completed.limit", err},
		{"infinite share", func(p *policy.Policy) { p.AttemptFailure = math.Inf(1) }, "attempt_failure", err},
		{"share not a number", func(p *policy.Policy) { p.FailedBudget = math.NaN() }, "failed_budget", err},
		{"jitter above", func(p *policy.Policy) { p.Backoff.Jitter = 1.1 }, "backoff.jitter", err},
		{"jitter below", func(p *policy.Policy) { p.Backoff.Jitter = -0.1 }, "backoff.jitter", err},
		{"jitter not a number", func(p *policy.Policy) { p.Backoff.Jitter = math.NaN() }, "backoff.jitter", err},
		{"negative delay", func(p *policy.Policy) { p.Backoff.Delay = -1 }, "backoff.delay", err},
		{"cap below delay", func(p *policy.Policy) { p.Backoff.Max = time.Second }, "backoff.max", err},
		{"unknown type", func(p *policy.Policy) { p.Backoff.Type = "linear" }, "backoff.type", err},
		{"type without delay", func(p *policy.Policy) { p.Backoff.Delay = 0 }, "backoff.delay", err},
		{"delay without type", func(p *policy.Policy) { p.Backoff.Type = "" }, "backoff.type", err},
		{"max alone", func(p *policy.Policy) { p.Limiter.Max = 1 }, "limiter.duration", err},
		{"duration alone", func(p *policy.Policy) { p.Limiter.Duration = time.Second }, "limiter.max", err},
		{"scope alone", func(p *policy.Policy) { p.Limiter.Scope = "queue" }, "limiter", err},
		{"bad scope", func(p *policy.Policy) { p.Limiter = policy.Limiter{Max: 1, Duration: time.Second, Scope: "all"} }, "limiter.scope", err},
		{"tiny window", func(p *policy.Policy) { p.Limiter = policy.Limiter{Max: 1, Duration: 1} }, "limiter.duration", err},
		{"renewal too late", func(p *policy.Policy) { p.LockRenew = 30 * time.Second }, "lock_renew", err},
		{"short lock", func(p *policy.Policy) { p.LockDuration = 4 * time.Second }, "lock_duration", warning},
		{"short backoff", func(p *policy.Policy) { p.Backoff = policy.Backoff{Type: "fixed", Delay: time.Second} }, "backoff", warning},
		{"no backoff", func(p *policy.Policy) { p.Backoff = policy.Backoff{} }, "backoff", warning},
		{"no timeout", func(p *policy.Policy) { p.Timeout = 0 }, "timeout", warning},
		{"no retention", func(p *policy.Policy) { p.KeepCompleted = policy.Keep{} }, "keep_completed", warning},
		{"keep all", func(p *policy.Policy) { p.KeepFailed = policy.Keep{Set: true, Count: -1} }, "keep_failed", warning},
		{"idle slots", func(p *policy.Policy) { p.Concurrency, p.GlobalConcurrency = 9, 8 }, "concurrency", warning},
	}
	if got := sound().Validate(); len(got) != 0 {
		t.Fatalf("a sound policy has findings: %v", got)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := sound()
			tt.edit(&p)
			var got []string
			for _, f := range p.Validate() {
				kind := err
				if f.Warning {
					kind = warning
				}
				got = append(got, f.Field+" "+kind)
			}
			if diff := cmp.Diff([]string{tt.field + " " + tt.kind}, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateWith(t *testing.T) {
	t.Parallel()
	limited := sound()
	limited.DeadLetter = "dead"
	limited.Limiter = policy.Limiter{Max: 50, Duration: time.Second}
	tests := []struct {
		name  string
		facts policy.Facts
		want  []string
	}{
		{"nothing known", policy.Facts{}, nil},
		{"own dead letters", policy.Facts{Queue: "dead"}, []string{"dead_letter"}},
		{"no grace", policy.Facts{Worker: true}, []string{"shutdown_grace"}},
		{"short grace", policy.Facts{Worker: true, ShutdownGrace: 9 * time.Second}, []string{"timeout"}},
		{"long grace", policy.Facts{Worker: true, ShutdownGrace: 10 * time.Second}, nil},
		{"unreachable", policy.Facts{Ceiling: 4, RunTime: 100 * time.Millisecond}, []string{"limiter"}},
		{"reachable", policy.Facts{Ceiling: 5, RunTime: 100 * time.Millisecond}, nil},
		{"drowning", policy.Facts{Arrival: 51}, []string{"limiter"}},
		{"holding", policy.Facts{Arrival: 50}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range limited.ValidateWith(tt.facts) {
				got = append(got, f.Field)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorsComeFirst(t *testing.T) {
	t.Parallel()
	p := policy.Policy{LockDuration: time.Second, LockRenew: 2 * time.Second, Attempts: -1}
	warned := false
	for _, f := range p.Validate() {
		if warned && !f.Warning {
			t.Errorf("error %q comes after a warning", f)
		}
		warned = warned || f.Warning
	}
	if !warned {
		t.Error("no warning found")
	}
}

func TestRings(t *testing.T) {
	t.Parallel()
	got := policy.Rings(map[string]string{"a": "b", "b": "c", "c": "a", "d": "a", "e": "e", "f": "g"})
	want := map[string]string{
		"a": "dead letters go in a ring: a → b → c → a",
		"b": "dead letters go in a ring: b → c → a → b",
		"c": "dead letters go in a ring: c → a → b → c",
		"e": "dead letters go in a ring: e → e",
	}
	texts := map[string]string{}
	for q, p := range got {
		texts[q] = p.Text
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("rings (-want +got):\n%s", diff)
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	base := policy.Policy{
		Attempts: 3, Backoff: policy.Backoff{Type: "exponential", Delay: time.Second, Max: time.Minute, Jitter: 0.5},
		Limiter: policy.Limiter{Max: 5, Duration: time.Second}, GlobalConcurrency: 7, RetryAfter: ptr(false),
		KeepFailed: policy.Keep{Set: true, Count: 9, Age: time.Hour}, DeadLetter: "dead", Timeout: time.Minute,
	}
	tests := []struct {
		name string
		over policy.Policy
		edit func(*policy.Policy)
	}{
		{"nothing", policy.Policy{}, func(*policy.Policy) {}},
		{"attempts", policy.Policy{Attempts: 9}, func(p *policy.Policy) { p.Attempts = 9 }},
		{"part of a backoff", policy.Policy{Backoff: policy.Backoff{Max: time.Hour}}, func(p *policy.Policy) { p.Backoff.Max = time.Hour }},
		{
			"whole backoff",
			policy.Policy{Backoff: policy.Backoff{Type: "fixed", Delay: time.Hour}},
			func(p *policy.Policy) { p.Backoff = policy.Backoff{Type: "fixed", Delay: time.Hour} },
		},
		{"part of a limiter", policy.Policy{Limiter: policy.Limiter{Max: 9}}, func(p *policy.Policy) { p.Limiter.Max = 9 }},
		{
			"cleared bound",
			policy.Policy{ClearGlobal: true},
			func(p *policy.Policy) { p.GlobalConcurrency, p.ClearGlobal = 0, true },
		},
		{"other bound", policy.Policy{GlobalConcurrency: 1}, func(p *policy.Policy) { p.GlobalConcurrency = 1 }},
		{
			"retention",
			policy.Policy{KeepFailed: policy.Keep{Set: true}},
			func(p *policy.Policy) { p.KeepFailed = policy.Keep{Set: true} },
		},
		{"retry-after", policy.Policy{RetryAfter: ptr(true)}, func(p *policy.Policy) { p.RetryAfter = ptr(true) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := base
			tt.edit(&want)
			if diff := cmp.Diff(want, tt.over.Over(base)); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
		})
	}
	cleared := policy.Policy{ClearGlobal: true}
	if got := (policy.Policy{GlobalConcurrency: 4}).Over(cleared); got.ClearGlobal || got.GlobalConcurrency != 4 {
		t.Errorf("a named bound over a cleared one = %+v", got)
	}
}

func TestBackoffAfter(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := []struct {
		name    string
		backoff policy.Backoff
		n       int
		random  float64
		want    time.Duration
	}{
		{"none", policy.Backoff{}, 1, 0, 0},
		{"custom", policy.Backoff{Type: "mine", Delay: s}, 1, 0, 0},
		{"fixed", policy.Backoff{Type: "fixed", Delay: s}, 7, 0.9, s},
		{"exponential first", policy.Backoff{Type: "exponential", Delay: s}, 1, 0.9, s},
		{"exponential fourth", policy.Backoff{Type: "exponential", Delay: s}, 4, 0.9, 8 * s},
		{"exponential without delay", policy.Backoff{Type: "exponential"}, 4, 0.9, 0},
		{"exponential rounds", policy.Backoff{Type: "exponential", Delay: 1600 * time.Microsecond}, 1, 0, 2 * time.Millisecond},
		{"exponential overflow", policy.Backoff{Type: "exponential", Delay: s}, 5000, 0, 100 * 365 * 24 * time.Hour},
		{"cap", policy.Backoff{Type: "exponential", Delay: s, Max: 3 * s}, 5000, 0, 3 * s},
		{"jitter low", policy.Backoff{Type: "fixed", Delay: s, Jitter: 0.25}, 1, 0, 750 * time.Millisecond},
		{"jitter high", policy.Backoff{Type: "fixed", Delay: s, Jitter: 0.25}, 1, 0.9999, 999 * time.Millisecond},
		{"jitter full", policy.Backoff{Type: "exponential", Delay: s, Jitter: 1}, 2, 0.5, s},
		{"attempt zero", policy.Backoff{Type: "exponential", Delay: s}, 0, 0, s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.backoff.After(tt.n, tt.random); got != tt.want {
				t.Errorf("After(%d, %v) = %s, want %s", tt.n, tt.random, got, tt.want)
			}
		})
	}
}

func TestWithDefaults(t *testing.T) {
	t.Parallel()
	got := policy.Policy{Attempts: 3}.WithDefaults()
	want := policy.Policy{
		Attempts: 3, RetryAfter: ptr(true), Concurrency: 1, LockDuration: 30 * time.Second, StalledInterval: 30 * time.Second,
		MaxStalled: ptr(1), WaitTarget: 5 * time.Minute, AttemptFailure: 0.1, FailedBudget: math.Pow(0.1, 3), DeadLetterMax: 100,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if got := (policy.Policy{Attempts: 9}).WithDefaults().FailedBudget; got != 0.0001 {
		t.Errorf("budget of nine attempts = %v, want the floor 0.0001", got)
	}
}

func ExamplePolicy_Validate() {
	p := policy.Policy{
		Attempts: 3, Backoff: policy.Backoff{Type: "exponential", Delay: time.Second},
		Timeout: time.Minute, KeepCompleted: policy.Keep{Set: true, Count: 100}, KeepFailed: policy.Keep{Set: true, Age: 24 * time.Hour},
	}
	for _, problem := range p.Validate() {
		fmt.Println(problem)
	}
	// Output: backoff: all 3 attempts are used up within about 3s: an outage of a minute fails every job
}

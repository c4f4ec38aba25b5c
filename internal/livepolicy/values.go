package livepolicy

import (
	"fmt"
	"time"

	"bullpen/internal/engine/policy"
)

// Values are the settings of a policy that can be changed at run time. A nil field is not set: the file decides.
type Values struct {
	// Concurrency is how many jobs each Bullpen worker runs at once.
	Concurrency *int `json:"concurrency,omitempty"`
	// GlobalConcurrency is how many jobs the whole fleet runs at once; 0 = no bound.
	GlobalConcurrency *int     `json:"global_concurrency,omitempty"`
	Limiter           *Limiter `json:"limiter,omitempty"`
	// Attempts and Backoff are the defaults of jobs added through Bullpen. Backoff is also the strategy of jobs with a
	// custom type, and its Max caps the delays of every job a Bullpen worker runs.
	Attempts      *int     `json:"attempts,omitempty"`
	Backoff       *Backoff `json:"backoff,omitempty"`
	KeepCompleted *Keep    `json:"keep_completed,omitempty"`
	KeepFailed    *Keep    `json:"keep_failed,omitempty"`
}

// Limiter is policy.Limiter as it is stored; a Max of 0 is no limiter.
type Limiter struct {
	Max      int    `json:"max"`
	Duration Span   `json:"duration,omitzero"`
	Scope    string `json:"scope,omitempty"`
}

// Backoff is policy.Backoff as it is stored; no Type is no backoff.
type Backoff struct {
	Type   string  `json:"type"`
	Delay  Span    `json:"delay,omitzero"`
	Max    Span    `json:"max,omitzero"`
	Jitter float64 `json:"jitter,omitempty"`
}

// Keep is policy.Keep as it is stored.
type Keep struct {
	Count int64 `json:"count"` // jobs kept; negative = all, 0 = none
	Age   Span  `json:"age,omitzero"`
	Limit int64 `json:"limit,omitempty"`
}

// Span is a duration that is written as a person would: "1m30s".
type Span time.Duration

// MarshalText implements encoding.TextMarshaler.
func (s Span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = Span(d)
	return err
}

// Over lays the values over what the file says.
func (v Values) Over(file policy.Policy) policy.Policy {
	p := file
	set(&p.Concurrency, v.Concurrency)
	set(&p.Attempts, v.Attempts)
	if v.GlobalConcurrency != nil {
		p.GlobalConcurrency, p.ClearGlobal = *v.GlobalConcurrency, *v.GlobalConcurrency == 0
	}
	if l := v.Limiter; l != nil {
		p.Limiter = policy.Limiter{Max: l.Max, Duration: time.Duration(l.Duration), Scope: l.Scope}
	}
	if b := v.Backoff; b != nil {
		p.Backoff = policy.Backoff{Type: b.Type, Delay: time.Duration(b.Delay), Max: time.Duration(b.Max), Jitter: b.Jitter}
	}
	for _, k := range []struct {
		to   *policy.Keep
		from *Keep
	}{{&p.KeepCompleted, v.KeepCompleted}, {&p.KeepFailed, v.KeepFailed}} {
		if k.from != nil {
			*k.to = policy.Keep{Set: true, Count: k.from.Count, Age: time.Duration(k.from.Age), Limit: k.from.Limit}
		}
	}
	return p
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// With returns v with the fields that change sets.
func (v Values) With(change Values) Values {
	pick(&v.Concurrency, change.Concurrency)
	pick(&v.GlobalConcurrency, change.GlobalConcurrency)
	pick(&v.Limiter, change.Limiter)
	pick(&v.Attempts, change.Attempts)
	pick(&v.Backoff, change.Backoff)
	pick(&v.KeepCompleted, change.KeepCompleted)
	pick(&v.KeepFailed, change.KeepFailed)
	return v
}

func pick[T any](to **T, from *T) {
	if from != nil {
		*to = from
	}
}

// Empty reports whether no value is set.
func (v Values) Empty() bool { return v == Values{} }

// Has reports whether a setting, by its name in the file, is set.
func (v Values) Has(field string) bool {
	switch field {
	case "concurrency":
		return v.Concurrency != nil
	case "global_concurrency":
		return v.GlobalConcurrency != nil
	case "limiter":
		return v.Limiter != nil
	case "attempts":
		return v.Attempts != nil
	case "backoff":
		return v.Backoff != nil
	case "keep_completed":
		return v.KeepCompleted != nil
	case "keep_failed":
		return v.KeepFailed != nil
	}
	return false
}

// Between returns the values that lead from one policy to another.
func Between(before, after policy.Policy) Values {
	var v Values
	for _, d := range Differences(before, after) {
		v.take(d.Field, after)
	}
	return v
}

// take sets one field to what a policy says.
func (v *Values) take(field string, p policy.Policy) {
	keep := func(k policy.Keep) *Keep {
		if !k.Set {
			k.Count = -1
		}
		return &Keep{Count: k.Count, Age: Span(k.Age), Limit: k.Limit}
	}
	switch field {
	case "concurrency":
		v.Concurrency = &p.Concurrency
	case "global_concurrency":
		v.GlobalConcurrency = &p.GlobalConcurrency
	case "limiter":
		v.Limiter = &Limiter{Max: p.Limiter.Max, Duration: Span(p.Limiter.Duration), Scope: p.Limiter.Scope}
	case "attempts":
		v.Attempts = &p.Attempts
	case "backoff":
		b := p.Backoff
		v.Backoff = &Backoff{Type: b.Type, Delay: Span(b.Delay), Max: Span(b.Max), Jitter: b.Jitter}
	case "keep_completed":
		v.KeepCompleted = keep(p.KeepCompleted)
	case "keep_failed":
		v.KeepFailed = keep(p.KeepFailed)
	}
}

// Difference is one setting before and after a change, by its name in the file and in words.
type Difference struct {
	Field  string `json:"field"`
	Before string `json:"before"`
	After  string `json:"after"`
}

func (d Difference) String() string { return fmt.Sprintf("%s %s → %s", d.Field, d.Before, d.After) }

// Differences lists the settings that can be changed live and differ between two policies.
func Differences(before, after policy.Policy) []Difference {
	var out []Difference
	was := Settings(before)
	for i, s := range Settings(after) {
		if was[i].Value != s.Value {
			out = append(out, Difference{Field: s.Field, Before: was[i].Value, After: s.Value})
		}
	}
	return out
}

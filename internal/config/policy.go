package config

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"bullpen/internal/engine/policy"

	"go.yaml.in/yaml/v4"
)

// optional is a setting that also accepts the word none, which removes what the defaults say.
type optional[T any] struct {
	value T
	none  bool
}

func (o *optional[T]) decode(d *decoder, n *yaml.Node, path string, tag reflect.StructTag) {
	if n.Kind == yaml.ScalarNode {
		if text, err := expand(n.Value, d.env); err == nil && text == "none" {
			o.none = true
			return
		}
	}
	d.value(n, path, reflect.ValueOf(&o.value).Elem(), tag)
}

func (optional[T]) inner() reflect.Type { return elem(reflect.TypeFor[T]()) }

// into sets field, and clears the same field of the policy underneath when none was written.
func (o optional[T]) into(field, under *T) {
	*field = o.value
	if o.none {
		var unset T
		*under = unset
	}
}

// policyKeys is a policy as the file spells it.
type policyKeys struct {
	Attempts           int                     `key:"attempts"`
	Backoff            optional[backoffKeys]   `key:"backoff"`
	RetryAfter         *bool                   `key:"retry_after"`
	Concurrency        int                     `key:"concurrency"`
	GlobalConcurrency  optional[int]           `key:"global_concurrency"`
	Limiter            optional[limiterKeys]   `key:"limiter"`
	LockDuration       time.Duration           `key:"lock_duration"`
	StalledInterval    time.Duration           `key:"stalled_interval"`
	MaxStalled         *int                    `key:"max_stalled" min:"0"`
	KeepCompleted      keepKeys                `key:"keep_completed"`
	KeepFailed         keepKeys                `key:"keep_failed"`
	DeadLetter         optional[string]        `key:"dead_letter"`
	MaxStartedAttempts optional[int]           `key:"max_started_attempts"`
	Timeout            optional[time.Duration] `key:"timeout"`
	Targets            targetKeys              `key:"targets"`
	AttemptFailure     float64                 `key:"attempt_failure" max:"1"`
	FailedBudget       float64                 `key:"failed_budget" max:"1"`
	DeadLetterMax      int                     `key:"dead_letter_max"`
	WorkersExpected    optional[int]           `key:"workers_expected"`
	WorkerConcurrency  optional[int]           `key:"worker_concurrency"`
}

type backoffKeys struct {
	Type   string        `key:"type" oneof:"fixed exponential"`
	Delay  time.Duration `key:"delay"`
	Max    time.Duration `key:"max"`
	Jitter float64       `key:"jitter" min:"0" max:"1"`
}

type limiterKeys struct {
	Max      int           `key:"max"`
	Duration time.Duration `key:"duration"`
	Scope    string        `key:"scope" oneof:"worker queue"`
}

type targetKeys struct {
	Wait       time.Duration           `key:"wait"`
	Processing optional[time.Duration] `key:"processing"`
}

// over returns the policy these keys describe, laid over base.
func (k policyKeys) over(base policy.Policy) policy.Policy {
	p := policy.Policy{
		Attempts:        k.Attempts,
		RetryAfter:      k.RetryAfter,
		Concurrency:     k.Concurrency,
		LockDuration:    k.LockDuration,
		StalledInterval: k.StalledInterval,
		MaxStalled:      k.MaxStalled,
		KeepCompleted:   policy.Keep(k.KeepCompleted),
		KeepFailed:      policy.Keep(k.KeepFailed),
		WaitTarget:      k.Targets.Wait,
		AttemptFailure:  k.AttemptFailure,
		FailedBudget:    k.FailedBudget,
		DeadLetterMax:   k.DeadLetterMax,
		ClearGlobal:     k.GlobalConcurrency.none,
	}
	optional[policy.Backoff]{policy.Backoff(k.Backoff.value), k.Backoff.none}.into(&p.Backoff, &base.Backoff)
	optional[policy.Limiter]{policy.Limiter(k.Limiter.value), k.Limiter.none}.into(&p.Limiter, &base.Limiter)
	k.GlobalConcurrency.into(&p.GlobalConcurrency, &base.GlobalConcurrency)
	k.DeadLetter.into(&p.DeadLetter, &base.DeadLetter)
	k.MaxStartedAttempts.into(&p.MaxStartedAttempts, &base.MaxStartedAttempts)
	k.Timeout.into(&p.Timeout, &base.Timeout)
	k.Targets.Processing.into(&p.ProcessingTarget, &base.ProcessingTarget)
	k.WorkersExpected.into(&p.WorkersExpected, &base.WorkersExpected)
	k.WorkerConcurrency.into(&p.WorkerConcurrency, &base.WorkerConcurrency)
	return p.Over(base)
}

// keepKeys is a retention rule: a number, a duration, all, none, or {count, age, limit}.
type keepKeys policy.Keep

type keepMapping struct {
	Count *int64        `key:"count" min:"0" max:"9007199254740991"`
	Age   time.Duration `key:"age"`
	Limit int64         `key:"limit"`
}

func (k *keepKeys) decode(d *decoder, n *yaml.Node, path string, tag reflect.StructTag) {
	if n.Kind == yaml.MappingNode {
		k.mapping(d, n, path)
		return
	}
	text, ok := d.text(n, path)
	if !ok {
		return
	}
	keep, err := ParseKeep(text)
	if err != nil {
		d.fail(n, path, "%v", err)
		return
	}
	*k = keepKeys(keep)
}

// ParseKeep reads a retention rule in its short forms: a number of jobs, a duration, all or none.
func ParseKeep(text string) (policy.Keep, error) {
	keep := policy.Keep{Set: true, Count: -1}
	switch text {
	case "all":
		return keep, nil
	case "none":
		keep.Count = 0
		return keep, nil
	}
	if count, err := strconv.ParseInt(text, 10, 64); err == nil && count >= 0 {
		keep.Count = count
		return keep, nil
	}
	var err error
	if keep.Age, err = parseDuration(text); err != nil || keep.Age <= 0 {
		return keep, fmt.Errorf("%q is not a retention: a number of jobs, a duration, all, none or {count, age, limit}", text)
	}
	return keep, nil
}

func (k *keepKeys) mapping(d *decoder, n *yaml.Node, path string) {
	before := len(d.problems)
	var m keepMapping
	d.mapping(n, path, reflect.ValueOf(&m).Elem())
	if len(d.problems) > before {
		return
	}
	if m.Count == nil && m.Age == 0 {
		d.fail(n, path, "needs a count, an age or both")
		return
	}
	*k = keepKeys{Set: true, Count: -1, Age: m.Age, Limit: m.Limit}
	if m.Count != nil {
		k.Count = *m.Count
	}
}

func (keepKeys) inner() reflect.Type { return reflect.TypeFor[keepMapping]() }

package scripts

import (
	"strconv"
	"time"
)

// arguments collects what a script reads one after the other.
type arguments struct{ list []any }

func args(values ...any) *arguments { return (&arguments{}).add(values...) }

// add appends texts, numbers, flags (as 1 or 0), times and durations (in milliseconds).
func (a *arguments) add(values ...any) *arguments {
	for _, v := range values {
		switch v := v.(type) {
		case bool:
			a.list = append(a.list, bit(v))
		case time.Time:
			a.list = append(a.list, v.UnixMilli())
		case time.Duration:
			a.list = append(a.list, v.Milliseconds())
		case *int64:
			a.list = append(a.list, optional(v))
		default:
			a.list = append(a.list, v)
		}
	}
	return a
}

// texts appends a list with its length before it.
func (a *arguments) texts(list []string) *arguments {
	a.list = append(a.list, len(list))
	for _, s := range list {
		a.list = append(a.list, s)
	}
	return a
}

// taker appends who takes next jobs; nil is nobody.
func (a *arguments) taker(o *FetchOptions) *arguments {
	if o == nil || o.Count < 1 {
		return a.add(0)
	}
	a.add(o.Count, o.Token, o.LockDuration, o.Worker)
	if o.Limiter == nil {
		return a.add("", "")
	}
	return a.add(o.Limiter.Max, o.Limiter.Duration)
}

// keep appends a retention rule.
func (a *arguments) keep(k Keep) *arguments {
	limit := int64(defaultEvictions)
	if k.Limit != nil {
		limit = *k.Limit
	}
	age := ""
	if k.Age != nil {
		age = strconv.FormatInt(k.Age.Milliseconds(), 10)
	}
	return a.add(k.Count, age, limit)
}

// defaultEvictions is how many jobs are evicted by age per finished job when the rule does not say.
const defaultEvictions = 1000

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func optional(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

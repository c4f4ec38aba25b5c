package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bullpen/internal/engine/cron"
)

// Repeat says when a scheduler fires (features 1): in intervals, if Every is set, or by a cron pattern. Times and
// durations are stored in whole milliseconds.
type Repeat struct {
	// Every is the time between two firings, at least a millisecond. The first one is at once, unless Offset or
	// StartDate says otherwise; firings that were missed are not made up for.
	Every time.Duration
	// Pattern is a cron pattern of up to six fields, seconds first (features 1.7).
	Pattern string
	// TZ is the time zone of Pattern, an IANA name; default "UTC". It is always stored with a pattern, so that every
	// worker reads it on the same clock.
	TZ string
	// Offset moves an interval's firings from the multiples of Every since the epoch.
	Offset time.Duration
	// Immediately makes the first firing of a pattern now; not together with StartDate. Intervals begin at once anyway.
	Immediately bool
	// StartDate and EndDate bound the firings, both included; zero = no bound.
	StartDate, EndDate time.Time
	// Limit is how many firings there are at most; nil = no limit, 0 = none at all.
	Limit *int64
	// HashSeed decides what each H in Pattern stands for; default is the name of the queue and the scheduler's id.
	HashSeed string
	// Extra holds members this engine does not know; they travel with every job.
	Extra map[string]json.RawMessage
}

// defaultZone is the zone of patterns that come without one.
const defaultZone = "UTC"

// withDefaults gives a pattern what must not depend on the process that reads it.
func (r Repeat) withDefaults(queue, id string) Repeat {
	if r.Pattern == "" {
		return r
	}
	if r.TZ == "" {
		r.TZ = defaultZone
	}
	if r.HashSeed == "" && strings.ContainsRune(r.Pattern, 'H') {
		r.HashSeed = queue + ":" + id
	}
	return r
}

// validate refuses what no scheduler can be made of, at the time now (features 1.2).
func (r Repeat) validate(now time.Time) error {
	switch {
	case r.Pattern != "" && r.Every != 0:
		return invalid("repeat", "Both .pattern and .every options are defined for this repeatable job")
	case r.Pattern == "" && r.Every == 0:
		return invalid("repeat", "Either .pattern or .every options must be defined for this repeatable job")
	case r.Immediately && !r.StartDate.IsZero():
		return invalid("immediately", "Both .immediately and .startDate options are defined for this repeatable job")
	case r.Pattern == "" && (r.Every < time.Millisecond || r.Every%time.Millisecond != 0):
		return invalid("every", "%s is not a positive number of milliseconds", r.Every)
	case r.Offset < 0:
		return invalid("offset", "%s is negative", r.Offset)
	case !r.EndDate.IsZero() && r.EndDate.Before(now):
		return invalid("endDate", "End date must be greater than current timestamp")
	}
	for name, value := range r.Extra {
		if !isNull(value) && !json.Valid(value) {
			return invalid(name, "the value is not JSON")
		}
	}
	return nil
}

// next is when a pattern fires after t, and false when it never does again. The error says what is wrong with pattern
// or zone (features 1.6).
func (r Repeat) next(t time.Time) (time.Time, bool, error) {
	schedule, err := cron.Parse(r.Pattern, r.HashSeed)
	if err != nil {
		return time.Time{}, false, invalid("pattern", "%v", err)
	}
	zone, err := cron.Zone(r.TZ)
	if err != nil {
		return time.Time{}, false, invalid("tz", "%v", err)
	}
	if r.StartDate.After(t) {
		t = r.StartDate
	}
	at, ok := schedule.Next(t, zone, cron.Bounds{Start: r.StartDate, End: r.EndDate})
	return at, ok, nil
}

// after is the slot of an interval that follows another, at the time now. Missed slots are passed over (features 1.4).
func (r Repeat) after(slot, now time.Time) time.Time {
	next := slot.Add(r.Every)
	if !next.Before(now) {
		return next
	}
	every := r.Every.Milliseconds()
	aligned := time.UnixMilli(now.UnixMilli() / every * every).Add(r.Offset)
	if !aligned.After(now) {
		aligned = aligned.Add(r.Every)
	}
	return aligned
}

// allows reports whether the count-th firing, counted from 1, is within the limit.
func (r Repeat) allows(count int64) bool { return r.Limit == nil || count <= *r.Limit }

// InWords describes the rhythm: "every weekday at 09:30", "every 5 minutes", or the pattern itself where words would be
// longer than it.
func (r Repeat) InWords() string {
	if r.Pattern != "" {
		return cron.PatternInWords(r.Pattern)
	}
	return cron.EveryInWords(r.Every)
}

// encode gives the option repeat of the job of the count-th firing.
func (r Repeat) encode(count int64) json.RawMessage {
	var j object
	if r.Every != 0 {
		j.put("every", inMillis(r.Every))
	}
	for _, t := range []struct{ name, value string }{{"pattern", r.Pattern}, {"tz", r.TZ}, {"hashSeed", r.HashSeed}} {
		if t.value != "" {
			j.text(t.name, t.value)
		}
	}
	if r.Limit != nil {
		j.number("limit", *r.Limit)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		if !j.seen[name] && !isNull(r.Extra[name]) && !r.decides(name) {
			j.put(name, r.Extra[name])
		}
	}
	r.encodeIteration(&j, count)
	return j.json()
}

// decides reports whether a member of the option repeat follows from the firing.
func (Repeat) decides(name string) bool {
	return slices.Contains([]string{"immediately", "offset", "count", "startDate", "endDate"}, name)
}

// encodeIteration adds the members that decides names.
func (r Repeat) encodeIteration(j *object, count int64) {
	if r.Every != 0 && r.Offset != 0 {
		j.put("offset", inMillis(r.Offset))
	}
	j.number("count", count)
	if !r.StartDate.IsZero() {
		j.number("startDate", r.StartDate.UnixMilli())
	}
	if !r.EndDate.IsZero() {
		j.number("endDate", r.EndDate.UnixMilli())
	}
}

// decodeRepeat reads the option repeat of a scheduler's job and how many firings it counts. Values that make no sense
// count as not given.
func decodeRepeat(text json.RawMessage) (r Repeat, count int64, err error) {
	members, err := objectMembers(text)
	if err != nil {
		return r, 0, fmt.Errorf("repeat is not a JSON object: %w", err)
	}
	for _, m := range members {
		if n, ok := jsonNumber(m.value); ok && m.name == "count" {
			count = clamp(n)
			continue
		}
		if !r.setTime(m.name, m.value) && !r.setText(m.name, m.value) && m.name != "immediately" {
			if r.Extra == nil {
				r.Extra = map[string]json.RawMessage{}
			}
			r.Extra[m.name] = m.value
		}
	}
	return r, count, nil
}

func (r *Repeat) setText(name string, value json.RawMessage) bool {
	fields := map[string]*string{"pattern": &r.Pattern, "tz": &r.TZ, "hashSeed": &r.HashSeed}
	field, ok := fields[name]
	return ok && setText(field, value)
}

// setTime is for members that are numbers.
func (r *Repeat) setTime(name string, value json.RawMessage) bool {
	n, ok := jsonNumber(value)
	switch name {
	case "every":
		r.Every = millis(n)
	case "offset":
		r.Offset = millis(n)
	case "limit":
		if ok {
			limit := clamp(n)
			r.Limit = &limit
		}
	case "startDate":
		r.StartDate = jsonDate(n, value)
	case "endDate":
		r.EndDate = jsonDate(n, value)
	default:
		return false
	}
	return true
}

// jsonDate reads a time in milliseconds, or one that older clients wrote as a text.
func jsonDate(ms float64, value json.RawMessage) time.Time {
	if text, ok := jsonText(value); ok && ms == 0 {
		t, _ := time.Parse(time.RFC3339Nano, text)
		return t
	}
	return instant(ms)
}

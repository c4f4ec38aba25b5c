package search

import (
	"strings"
	"time"

	"bullpen/internal/engine/keys"
)

// times is a stretch of time, both ends inclusive, the zero time open.
type times struct{ from, to time.Time }

// and is the part two stretches have in common.
func (a times) and(b times) times {
	if a.from.Before(b.from) {
		a.from = b.from
	}
	if a.to.IsZero() || !b.to.IsZero() && b.to.Before(a.to) {
		a.to = b.to
	}
	return a
}

func (a times) hold(t time.Time) bool {
	return !t.IsZero() && !t.Before(a.from) && (a.to.IsZero() || !t.After(a.to))
}

// endOf is when a job ended, the zero time when it has not.
func endOf(j *Job) time.Time {
	if j.State == keys.Completed || j.State == keys.Failed {
		return j.FinishedOn
	}
	return time.Time{}
}

// onAge compares the time since a job ended or, when it has not, since it was added. Clean uses the same age.
func onAge(o Options, t token, _ []step) (test, string) {
	const help = "age needs a comparison and a span, such as age:>1h, age:<2d or age:10min..1h"
	in, ok := parseInterval(t.value)
	least, leastOK := parseSpan(in.lo)
	most, mostOK := parseSpan(in.hi)
	if !ok || in.single || in.lo != "" && !leastOK || in.hi != "" && !mostOK {
		return test{}, help
	}
	var born times
	if in.hi != "" {
		born.from = o.Now.Add(-most)
		if in.hiOpen {
			born.from = born.from.Add(time.Millisecond)
		}
	}
	if in.lo != "" {
		born.to = o.Now.Add(-least)
		if in.loOpen {
			born.to = born.to.Add(-time.Millisecond)
		}
	}
	return test{ended: born, row: func(j *Job) bool {
		at := j.Timestamp
		if j.State == keys.Completed || j.State == keys.Failed {
			at = j.FinishedOn
		}
		return born.hold(at)
	}}, ""
}

func onFinished(o Options, t token, _ []step) (test, string) {
	const help = "finished needs a time or a range, such as finished:14:00..14:10, finished:>2026-03-12T09:00 or finished:2026-03-12"
	in, ok := parseInterval(t.value)
	if !ok {
		return test{}, help
	}
	var between times
	var end moment
	if in.hi != "" {
		if end, ok = parseMoment(in.hi, o.Now, o.Zone); !ok {
			return test{}, help
		}
		switch {
		case in.single:
			between.to = end.next().Add(-time.Millisecond)
		case in.hiOpen:
			between.to = end.at.Add(-time.Millisecond)
		default:
			between.to = end.last()
		}
	}
	if in.lo != "" {
		start, ok := parseMoment(in.lo, o.Now, o.Zone)
		if !ok {
			return test{}, help
		}
		if in.hi != "" && start.daily && end.daily && start.at.After(end.at) {
			start.at = start.at.AddDate(0, 0, -1) // the range goes over midnight
		}
		between.from = start.at
		if in.loOpen {
			between.from = start.last().Add(time.Millisecond)
		}
	}
	if !between.to.IsZero() && between.from.After(between.to) {
		return test{}, "finished: the range ends before it begins"
	}
	return test{ended: between, onlyEnded: true, row: func(j *Job) bool { return between.hold(endOf(j)) }}, ""
}

// moment is a point in time as typed. unit is how long it lasts: a minute for 14:00, a day for a date.
type moment struct {
	at   time.Time
	unit time.Duration
	// daily says that only a time of day was given.
	daily bool
}

const day = 24 * time.Hour

// next is when the moment is over; days differ in length where clocks are changed.
func (m moment) next() time.Time {
	if m.unit == day {
		return m.at.AddDate(0, 0, 1)
	}
	return m.at.Add(m.unit)
}

// last is the end of a range that ends with the moment: all of a day, or the time itself.
func (m moment) last() time.Time {
	if m.unit == day {
		return m.next().Add(-time.Millisecond)
	}
	return m.at
}

// layouts are the ways to write a moment. Those with a zone of their own come first.
var layouts = [...]struct {
	layout string
	unit   time.Duration
}{
	{time.RFC3339Nano, time.Millisecond},
	{"2006-01-02T15:04Z07:00", time.Minute},
	{"2006-01-02T15:04:05", time.Second},
	{"2006-01-02T15:04", time.Minute},
	{"2006-01-02", day},
	{"15:04:05", time.Second},
	{"15:04", time.Minute},
}

// parseMoment reads a moment; a time of day is the last one that was not later than now.
func parseMoment(text string, now time.Time, zone *time.Location) (moment, bool) {
	text = strings.Replace(text, " ", "T", 1)
	for _, l := range layouts {
		t, err := time.ParseInLocation(l.layout, text, zone)
		if err != nil {
			continue
		}
		m := moment{at: t, unit: l.unit}
		if !strings.Contains(l.layout, "2006") {
			today := now.In(zone)
			m.daily = true
			m.at = time.Date(today.Year(), today.Month(), today.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone)
			if m.at.After(now) {
				m.at = time.Date(today.Year(), today.Month(), today.Day()-1, t.Hour(), t.Minute(), t.Second(), 0, zone)
			}
		}
		return m, true
	}
	return moment{}, false
}

// spanUnits are the units of spans; longer names first, so that "min" is not read as metres.
var spanUnits = []struct {
	name string
	unit time.Duration
}{
	{"weeks", 7 * day},
	{"week", 7 * day},
	{"hours", time.Hour},
	{"hour", time.Hour},
	{"days", day},
	{"day", day},
	{"mins", time.Minute},
	{"min", time.Minute},
	{"ms", time.Millisecond},
	{"w", 7 * day},
	{"d", day},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
}

// maxSpan bounds a span, so that sums stay within range.
const maxSpan = 100 * 365 * day

// parseSpan reads a span of one or more numbers with units: 90s, 1h30m, 2 days.
func parseSpan(text string) (time.Duration, bool) {
	text = strings.ToLower(strings.ReplaceAll(text, " ", ""))
	total := time.Duration(0)
	for text != "" {
		n, digits := int64(0), 0
		for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' && digits < 12 {
			n = n*10 + int64(text[digits]-'0')
			digits++
		}
		text = text[digits:]
		unit, name := time.Duration(0), ""
		for _, u := range spanUnits {
			if strings.HasPrefix(text, u.name) {
				unit, name = u.unit, u.name
				break
			}
		}
		if digits == 0 || unit == 0 || n > int64(maxSpan/unit) {
			return 0, false
		}
		text = text[len(name):]
		if total += time.Duration(n) * unit; total > maxSpan {
			return 0, false
		}
	}
	return total, total > 0
}

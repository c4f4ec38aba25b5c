package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Zone resolves the time zone of a scheduler: an IANA name, UTC in any case, a fixed offset such as UTC+2, or "" for
// the zone of this process.
func Zone(name string) (*time.Location, error) {
	upper := strings.ToUpper(name)
	switch {
	case name == "":
		return time.Local, nil
	case upper == "UTC" || upper == "GMT":
		return time.UTC, nil
	case strings.HasPrefix(upper, "UTC+") || strings.HasPrefix(upper, "UTC-"):
		return fixedOffset(name)
	case upper == "LOCAL" || strings.Contains(name, ".."):
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	return loc, nil
}

func fixedOffset(name string) (*time.Location, error) {
	hours, minutes, _ := strings.Cut(name[4:], ":")
	h, errH := strconv.Atoi(hours)
	m := 0
	var errM error
	if minutes != "" {
		m, errM = strconv.Atoi(minutes)
	}
	if errH != nil || errM != nil || h < 0 || h > 14 || m < 0 || m > 59 {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	seconds := h*3600 + m*60
	if name[3] == '-' {
		seconds = -seconds
	}
	return time.FixedZone(name, seconds), nil
}

// onClock returns the instant at which the clock of near's zone shows the given time. A time that occurs twice is the
// one with near's offset where that exists; a time that is skipped is moved on by the length of the gap.
func onClock(year int, month time.Month, day, hour, minute, second int, near time.Time) time.Time {
	wall := time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	instant := func(offset int) time.Time { return wall.Add(-time.Duration(offset) * time.Second).In(near.Location()) }
	_, offset := near.Zone()
	guess := instant(offset)
	_, seen := guess.Zone()
	if seen == offset {
		return guess
	}
	guess = instant(seen)
	_, again := guess.Zone()
	if again == seen {
		return guess
	}
	return instant(min(seen, again))
}

func at(t time.Time, hour, minute, second int) time.Time {
	return onClock(t.Year(), t.Month(), t.Day(), hour, minute, second, t)
}

// nextHour returns the start of the hour after t's. Where the clock goes back by less than an hour that start may lie
// before t; the one after it is taken then, so that a search always moves on.
func nextHour(t time.Time) time.Time {
	later := t.Add(time.Hour)
	next := at(later, later.Hour(), 0, 0)
	if !next.After(t) {
		next = next.Add(time.Hour)
	}
	return next
}

// startOfDay keeps the clock while it changes the date, then goes to the day's first instant.
func startOfDay(year int, month time.Month, day int, near time.Time) time.Time {
	d := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	same := onClock(d.Year(), d.Month(), d.Day(), near.Hour(), near.Minute(), near.Second(), near)
	return onClock(d.Year(), d.Month(), d.Day(), 0, 0, 0, same)
}

// clockChanges reports whether the offset at the start of t's day differs from the one at its end.
func clockChanges(t time.Time) bool {
	_, start := at(t, 0, 0, 0).Zone()
	_, end := at(t, 23, 59, 59).Zone()
	return start != end
}

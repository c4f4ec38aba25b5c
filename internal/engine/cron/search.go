package cron

import "time"

// maxSteps bounds a search; a pattern that needs more has no next run.
const maxSteps = 10000

// Bounds limit a search; a zero time is no bound. Both ends are included.
type Bounds struct{ Start, End time.Time }

// Next returns the first run strictly after t, on the clock of loc. ok is false when there is none within the bounds.
func (s *Schedule) Next(t time.Time, loc *time.Location, b Bounds) (next time.Time, ok bool) {
	start := t.In(loc)
	w := walker{t: start.Truncate(time.Second), schedule: s}
	if !w.t.Equal(start) {
		w.t = w.t.Add(time.Second)
	}
	for range maxSteps {
		if !b.End.IsZero() && w.t.After(b.End) || !b.Start.IsZero() && w.t.Before(b.Start) {
			return time.Time{}, false
		}
		switch {
		case w.advance():
		case w.t.Equal(start):
			w.step(w.t.Add(time.Second))
		default:
			return w.t, true
		}
	}
	return time.Time{}, false
}

// walker is the state of one search. Clock changes it steps over are remembered, because they decide whether an hour
// that was skipped runs late and whether an hour that repeats runs twice.
type walker struct {
	t        time.Time
	schedule *Schedule
	// gap is a run of hours that the clock skipped; landing is the hour it showed next.
	gap      bool
	skipped  int
	landing  int
	repeated int // hour that just began for the second time
	repeats  bool
}

// advance moves towards the next match and reports whether it had to.
func (w *walker) advance() bool {
	s := w.schedule
	switch {
	case !s.month.has(int(w.t.Month())):
		w.t = startOfDay(w.t.Year(), w.t.Month()+1, 1, w.t)
	case !s.matchesDay(w.t):
		w.t = startOfDay(w.t.Year(), w.t.Month(), w.t.Day()+1, w.t)
	case w.advanceHour():
	case !s.minute.has(w.t.Minute()):
		w.advanceMinute()
	case !s.second.has(w.t.Second()):
		w.advanceSecond()
	default:
		return false
	}
	return true
}

func (w *walker) advanceHour() bool {
	s, hour := w.schedule, w.t.Hour()
	switch {
	case w.gap && hour == w.landing && s.anySkipped(w.skipped, w.landing):
		return false
	case w.repeats && hour == w.repeated:
		w.repeats = false
		w.step(nextHour(w.t))
		return true
	case s.hour.has(hour):
		return false
	}
	w.gap = false
	want, ok := s.hour.next(hour)
	if !ok {
		w.t = startOfDay(w.t.Year(), w.t.Month(), w.t.Day()+1, w.t)
		return true
	}
	minute, second := s.minute.first(), s.second.first()
	if !clockChanges(w.t) {
		w.step(at(w.t, want, minute, second))
		return true
	}
	day := w.t.Day()
	for w.t.Day() == day && w.t.Hour() < want {
		w.step(nextHour(w.t))
	}
	w.t = at(w.t, w.t.Hour(), minute, second)
	return true
}

func (w *walker) advanceMinute() {
	s := w.schedule
	if minute, ok := s.minute.next(w.t.Minute()); ok {
		w.step(at(w.t, w.t.Hour(), minute, s.second.first()))
		return
	}
	w.step(nextHour(w.t))
	w.t = at(w.t, w.t.Hour(), s.minute.first(), s.second.first())
}

func (w *walker) advanceSecond() {
	s := w.schedule
	if second, ok := s.second.next(w.t.Second()); ok {
		w.step(at(w.t, w.t.Hour(), w.t.Minute(), second))
		return
	}
	w.step(w.t.Add(time.Duration(60-w.t.Second()) * time.Second))
	w.t = at(w.t, w.t.Hour(), w.t.Minute(), s.second.first())
}

// step goes to t and notes a clock change on the way, unless every hour is allowed anyway.
func (w *walker) step(t time.Time) {
	before := w.t
	w.t = t
	if w.schedule.hour == 1<<24-1 {
		return
	}
	_, from := before.Zone()
	_, to := t.Zone()
	moved := (t.Hour() - before.Hour() + 24) % 24
	switch {
	case to > from && moved >= 2:
		w.gap, w.skipped, w.landing = true, (before.Hour()+1)%24, t.Hour()
	case moved == 0 && t.Minute() == 0 && t.Second() == 0:
		w.repeats, w.repeated = true, t.Hour()
	}
}

// anySkipped reports whether an hour from first up to but not including landing is allowed.
func (s *Schedule) anySkipped(first, landing int) bool {
	for h := first; h != landing; h = (h + 1) % 24 {
		if s.hour.has(h) {
			return true
		}
	}
	return false
}

// matchesDay applies the rule of the two day fields: both restricted means either.
func (s *Schedule) matchesDay(t time.Time) bool {
	switch {
	case s.anyDay && s.anyWeekday:
		return true
	case s.anyDay:
		return s.matchesWeekday(t)
	case s.anyWeekday:
		return s.matchesMonthDay(t)
	}
	return s.matchesMonthDay(t) || s.matchesWeekday(t)
}

func (s *Schedule) matchesMonthDay(t time.Time) bool {
	return s.day.has(t.Day()) || s.lastDay && t.Day() == daysIn(t.Year(), t.Month())
}

func (s *Schedule) matchesWeekday(t time.Time) bool {
	day := int(t.Weekday())
	if s.lastWeekdays.has(day) && t.Day()+7 > daysIn(t.Year(), t.Month()) {
		return true
	}
	return s.weekday.has(day) && (s.nth == 0 || (t.Day()-1)/7+1 == s.nth)
}

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

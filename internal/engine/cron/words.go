package cron

import (
	"fmt"
	"strings"
	"time"
)

// PatternInWords says when a pattern fires, as in "every weekday at 09:30" or "on the 1st of every month at 00:00". A
// pattern that would take more than a short sentence is returned as it is, and so is one that is not valid.
func PatternInWords(pattern string) string {
	s, err := Parse(pattern, pattern)
	if err != nil || isHashed(pattern) {
		return pattern
	}
	days, ok := s.daysInWords()
	if !ok {
		return pattern
	}
	if times := s.timesInWords(); times != "" {
		return days.at + " at " + times
	}
	rhythm := s.rhythmInWords()
	switch {
	case rhythm == "":
		return pattern
	case days.on == "":
		return rhythm
	}
	return rhythm + " " + days.on
}

// isHashed reports whether a pattern has values that its text does not tell.
func isHashed(pattern string) bool {
	for _, text := range strings.FieldsFunc(pattern, func(r rune) bool { return isSpace(r) || r == ',' }) {
		if strings.HasPrefix(text, "H") {
			return true
		}
	}
	return false
}

// EveryInWords says how often something happens that happens every d: "every 5 minutes", "every 36 hours".
func EveryInWords(d time.Duration) string {
	units := []struct {
		length time.Duration
		name   string
	}{
		{7 * 24 * time.Hour, "week"},
		{24 * time.Hour, "day"},
		{time.Hour, "hour"},
		{time.Minute, "minute"},
		{time.Second, "second"},
		{time.Millisecond, "millisecond"},
	}
	for _, u := range units {
		if d >= u.length && d%u.length == 0 {
			return every(int(d/u.length), u.name)
		}
	}
	return "every " + d.String()
}

func every(n int, unit string) string {
	if n == 1 {
		return "every " + unit
	}
	return fmt.Sprintf("every %d %ss", n, unit)
}

// longestList is how many times, days or months a sentence names one by one.
const longestList = 4

// timesInWords lists the times of the day if they are few: "09:30 and 17:30".
func (s *Schedule) timesInWords() string {
	second, oneSecond := s.second.only()
	minute, oneMinute := s.minute.only()
	hours := s.hour.values()
	if !oneSecond || !oneMinute || len(hours) > longestList {
		return ""
	}
	list := make([]string, len(hours))
	for i, hour := range hours {
		list[i] = fmt.Sprintf("%02d:%02d", hour, minute)
		if second != 0 {
			list[i] += fmt.Sprintf(":%02d", second)
		}
	}
	return enumerate(list)
}

// rhythmInWords describes what recurs within the day: "every 5 minutes from 09:00 to 17:59", "every 2 hours".
func (s *Schedule) rhythmInWords() string {
	second, oneSecond := s.second.only()
	minute, oneMinute := s.minute.only()
	switch {
	case oneSecond && second == 0 && oneMinute:
		return s.hoursInWords(minute)
	case oneSecond && second == 0:
		return s.withinHours(s.minute.steps(60, "minute"))
	case s.minute == 1<<60-1:
		return s.withinHours(s.second.steps(60, "second"))
	}
	return ""
}

// hoursInWords describes firings at one minute of many hours.
func (s *Schedule) hoursInWords(minute int) string {
	if words := s.hour.steps(24, "hour"); words != "" && minute == 0 {
		return words
	} else if words != "" {
		return fmt.Sprintf("%s at minute %d", words, minute)
	}
	if first, last, ok := s.hour.span(); ok {
		return fmt.Sprintf("every hour from %02d:%02d to %02d:%02d", first, minute, last, minute)
	}
	return ""
}

// withinHours puts the hours in which something recurs behind it.
func (s *Schedule) withinHours(words string) string {
	first, last, ok := s.hour.span()
	switch {
	case words == "" || !ok:
		return ""
	case first == 0 && last == 23:
		return words
	}
	return fmt.Sprintf("%s from %02d:00 to %02d:59", words, first, last)
}

// days says on which days a schedule fires: before a time of the day, and behind a rhythm.
type days struct{ at, on string }

// daysInWords is false for days that take too long to tell.
func (s *Schedule) daysInWords() (days, bool) {
	months, ok := s.monthsInWords()
	switch {
	case !ok, !s.anyDay && !s.anyWeekday:
		return days{}, false
	case !s.anyDay:
		return s.monthDaysInWords(months)
	case !s.anyWeekday:
		return s.weekdaysInWords(months)
	case months == "":
		return days{at: "every day"}, true
	}
	return days{at: "every day in " + months, on: "in " + months}, true
}

// monthsInWords names the months, "" for all.
func (s *Schedule) monthsInWords() (string, bool) {
	months := s.month.values()
	if len(months) == 12 {
		return "", true
	}
	list := make([]string, len(months))
	for i, m := range months {
		list[i] = time.Month(m).String()
	}
	return enumerate(list), len(months) <= longestList
}

// monthDaysInWords: "on the 1st and 15th of every month", "every year on 1 January".
func (s *Schedule) monthDaysInWords(months string) (days, bool) {
	numbers := s.day.values()
	list := make([]string, 0, len(numbers)+1)
	for _, n := range numbers {
		list = append(list, ordinal(n))
	}
	if s.lastDay {
		list = append(list, "last day")
	}
	if _, oneMonth := s.month.only(); oneMonth && len(list) == 1 && !s.lastDay {
		date := fmt.Sprintf("on %d %s", numbers[0], months)
		return days{at: "every year " + date, on: date}, true
	}
	if months == "" {
		months = "every month"
	}
	on := "on the " + enumerate(list) + " of " + months
	return days{at: on, on: on}, len(list) <= longestList
}

const (
	workdays = set(1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5)
	weekend  = set(1<<0 | 1<<6)
)

// weekdaysInWords: "every weekday", "on Mondays", "on the last Friday of every month".
func (s *Schedule) weekdaysInWords(months string) (days, bool) {
	within := ""
	if months != "" {
		within = " in " + months
	}
	switch {
	case s.nth > 0 || s.lastWeekdays != 0:
		return s.nthWeekdayInWords(months)
	case s.weekday == workdays:
		return days{at: "every weekday" + within, on: "on weekdays" + within}, true
	case s.weekday == weekend:
		return days{at: "every Saturday and Sunday" + within, on: "at weekends" + within}, true
	}
	var one, many []string
	for d := time.Monday; d <= time.Monday+6; d++ { // the week begins with Monday, the set with Sunday
		if s.weekday.has(int(d % 7)) {
			one, many = append(one, (d%7).String()), append(many, (d%7).String()+"s")
		}
	}
	return days{at: "every " + enumerate(one) + within, on: "on " + enumerate(many) + within}, len(one) <= longestList
}

// nthWeekdayInWords: "on the third Friday of every month".
func (s *Schedule) nthWeekdayInWords(months string) (days, bool) {
	day, ok := s.weekday.only()
	place := ""
	if s.nth > 0 {
		place = [...]string{"first", "second", "third", "fourth", "fifth"}[s.nth-1]
	} else if last, one := s.lastWeekdays.only(); one && s.weekday == 0 {
		day, ok, place = last, true, "last"
	} else {
		return days{}, false
	}
	if months == "" {
		months = "every month"
	}
	on := fmt.Sprintf("on the %s %s of %s", place, time.Weekday(day), months)
	return days{at: on, on: on}, ok
}

// values lists the members in order.
func (s set) values() []int {
	var list []int
	for v, ok := s.next(-1); ok; v, ok = s.next(v) {
		list = append(list, v)
	}
	return list
}

// only returns the member of a set that has one.
func (s set) only() (int, bool) {
	list := s.values()
	if len(list) != 1 {
		return 0, false
	}
	return list[0], true
}

// span returns the first and the last member of a set without gaps.
func (s set) span() (first, last int, ok bool) {
	list := s.values()
	if len(list) == 0 {
		return 0, 0, false
	}
	first, last = list[0], list[len(list)-1]
	return first, last, last-first == len(list)-1
}

// steps says "every 5 minutes" of a set that has every 5th member from 0 to size, if they are spread evenly.
func (s set) steps(size int, unit string) string {
	list := s.values()
	if len(list) < 2 || list[0] != 0 || size%len(list) != 0 {
		return ""
	}
	step := size / len(list)
	for i, v := range list {
		if v != i*step {
			return ""
		}
	}
	return every(step, unit)
}

// ordinal: 1st, 2nd, 3rd, 11th.
func ordinal(n int) string {
	suffix := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// enumerate joins a list with commas and "and".
func enumerate(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

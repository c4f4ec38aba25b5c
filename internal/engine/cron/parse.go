package cron

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ErrPattern is matched by every error about the text of a pattern.
var ErrPattern = errors.New("invalid cron pattern")

// maxLength is the longest pattern accepted, in bytes.
const maxLength = 1024

// Schedule is a parsed pattern. It is immutable.
type Schedule struct {
	second, minute, hour, day, month, weekday set
	// lastDay is set by L among the days of the month.
	lastDay bool
	// lastWeekdays are the weekdays of which only the last one of a month counts (5L).
	lastWeekdays set
	// nth is the k of weekday#k, 0 when absent.
	nth int
	// anyDay and anyWeekday say that the field is exactly "*" or "?".
	anyDay, anyWeekday bool
}

// set holds the allowed values of a field as bits.
type set uint64

func (s set) has(v int) bool { return s>>uint(v)&1 == 1 }

// next returns the smallest allowed value above v.
func (s set) next(v int) (int, bool) {
	for n := v + 1; n < 64; n++ {
		if s.has(n) {
			return n, true
		}
	}
	return 0, false
}

func (s set) first() int {
	v, _ := s.next(-1)
	return v
}

type field struct {
	name     string
	min, max int
	fallback string
}

// fields in the order of the text; a pattern with fewer takes the fallbacks from the left.
var fields = [6]field{
	{"second", 0, 59, "0"},
	{"minute", 0, 59, "*"},
	{"hour", 0, 23, "*"},
	{"day of month", 1, 31, "*"},
	{"month", 1, 12, "*"},
	{"day of week", 0, 7, "*"},
}

// order is the one in which fields draw their hashed value and are read: the month before the days it has.
var order = [6]int{0, 1, 2, 4, 3, 5}

func alias(text string) string {
	switch text {
	case "@yearly", "@annually":
		return "0 0 0 1 1 *"
	case "@monthly":
		return "0 0 0 1 * *"
	case "@weekly":
		return "0 0 0 * * 0"
	case "@daily":
		return "0 0 0 * * *"
	case "@hourly":
		return "0 0 * * * *"
	case "@minutely":
		return "0 * * * * *"
	case "@secondly":
		return "* * * * * *"
	case "@weekdays":
		return "0 0 0 * * 1-5"
	case "@weekends":
		return "0 0 0 * * 0,6"
	}
	return text
}

// Parse reads a pattern of up to six fields, seconds first. hashSeed makes H values stable; without one they are drawn
// anew by every call, as BullMQ does.
func Parse(pattern, hashSeed string) (*Schedule, error) {
	if len(pattern) > maxLength {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrPattern, maxLength)
	}
	texts, err := split(alias(pattern))
	if err != nil {
		return nil, err
	}
	draw := rand.Float64
	if hashSeed != "" {
		draw = mulberry32(fnv1a(hashSeed))
	}
	var draws [6]float64
	for _, i := range order {
		draws[i] = draw()
	}

	s := &Schedule{anyDay: isAny(texts[3]), anyWeekday: isAny(texts[5])}
	targets := [6]*set{&s.second, &s.minute, &s.hour, &s.day, &s.month, &s.weekday}
	for _, i := range order {
		f := fields[i]
		p := fieldParser{field: f, schedule: s, index: i, draw: draws[i]}
		if *targets[i], err = p.parse(texts[i]); err != nil {
			return nil, fmt.Errorf("%w: %s %q: %w", ErrPattern, f.name, texts[i], err)
		}
	}
	return s, s.possible()
}

func split(text string) ([6]string, error) {
	var out [6]string
	if strings.HasPrefix(text, "@") {
		return out, fmt.Errorf("%w: %q is not a known alias", ErrPattern, text)
	}
	parts := strings.FieldsFunc(text, isSpace)
	if text != "" && len(parts) == 0 || len(parts) > len(fields) {
		return out, fmt.Errorf("%w: %q has %d fields, at most 6 are possible", ErrPattern, text, len(parts))
	}
	missing := len(fields) - len(parts)
	for i := range out {
		if i < missing {
			out[i] = fields[i].fallback
		} else {
			out[i] = parts[i-missing]
		}
	}
	return out, nil
}

func isSpace(r rune) bool { return unicode.IsSpace(r) || r == 0xfeff }

func isAny(text string) bool { return text == "*" || text == "?" }

// longestMonth is how many days the only month of the schedule can have, 31 when there are several months.
func (s *Schedule) longestMonth() int {
	month := s.month.first()
	if _, more := s.month.next(month); more {
		return 31
	}
	return daysIn(2024, time.Month(month))
}

// possible refuses a single month that never has the wanted days while the weekday does not matter.
func (s *Schedule) possible() error {
	if day := s.day.first(); s.anyWeekday && !s.lastDay && day > s.longestMonth() {
		return fmt.Errorf("%w: month %d never has a day %d", ErrPattern, s.month.first(), day)
	}
	return nil
}

// fieldParser reads the text of one field.
type fieldParser struct {
	field
	schedule *Schedule
	index    int
	draw     float64
	seen     []int
}

const (
	dayField     = 3
	weekdayField = 5
)

func (p *fieldParser) parse(text string) (set, error) {
	text = p.resolveNames(text)
	if p.index == weekdayField {
		var err error
		if text, err = p.cutNth(text); err != nil {
			return 0, err
		}
	}
	text = strings.ReplaceAll(text, "?", "*")
	text, err := p.resolveHashed(text)
	if err != nil {
		return 0, err
	}
	var values set
	for _, item := range strings.Split(text, ",") {
		if item == "" {
			return 0, errors.New("an item of the list is empty")
		}
		got, err := p.item(item)
		if err != nil {
			return 0, err
		}
		for _, v := range got {
			if slices.Contains(p.seen, v) && !p.impossible(v) {
				return 0, fmt.Errorf("%d is given twice", v)
			}
			p.seen = append(p.seen, v)
			values |= 1 << uint(v)
		}
	}
	return values, nil
}

// impossible reports a day that the only month never has; such days are dropped before duplicates count.
func (p *fieldParser) impossible(v int) bool {
	return p.index == dayField && v > p.schedule.longestMonth()
}

// names of months and weekdays form one table that holds in both fields.
var names = map[string]int{
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
	"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6,
}

// resolveNames replaces each run of exactly three letters that is a name by its number.
func (p *fieldParser) resolveNames(text string) string {
	if p.index < 4 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if i+3 <= len(text) {
			if n, ok := names[strings.ToLower(text[i:i+3])]; ok {
				b.WriteString(strconv.Itoa(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// cutNth takes "#k" off a weekday.
func (p *fieldParser) cutNth(text string) (string, error) {
	day, nth, found := strings.Cut(text, "#")
	if !found {
		return text, nil
	}
	k, err := strconv.Atoi(nth)
	if err != nil || k < 1 || k > 5 {
		return "", errors.New("# takes a number from 1 to 5")
	}
	if strings.ContainsAny(day, ",-/") {
		return "", errors.New("# cannot be combined with a list, range or step")
	}
	p.schedule.nth = k
	return day, nil
}

// resolveHashed replaces H forms by what they draw.
func (p *fieldParser) resolveHashed(text string) (string, error) {
	items := strings.Split(text, ",")
	for i, item := range items {
		if !strings.HasPrefix(item, "H") {
			continue
		}
		got, err := p.hashed(item[1:])
		if err != nil {
			return "", err
		}
		items[i] = got
	}
	return strings.Join(items, ","), nil
}

// hashed resolves what follows an H: nothing, "(a-b)", "/n" or both.
func (p *fieldParser) hashed(rest string) (string, error) {
	lo, hi := p.min, p.max
	if strings.HasPrefix(rest, "(") {
		inner, after, ok := strings.Cut(rest[1:], ")")
		a, b, isRange := strings.Cut(inner, "-")
		from, errA := strconv.Atoi(a)
		to, errB := strconv.Atoi(b)
		if !ok || !isRange || errA != nil || errB != nil || from > to {
			return "", errors.New("H takes a range as in H(0-29)")
		}
		lo, hi, rest = max(lo, from), min(hi, to), after
		if lo > hi {
			return "", fmt.Errorf("the range of H lies outside %d-%d", p.min, p.max)
		}
	}
	if rest == "" {
		return strconv.Itoa(int(math.Floor(p.draw*float64(hi-lo+1))) + lo), nil
	}
	step, err := strconv.Atoi(strings.TrimPrefix(rest, "/"))
	if err != nil || !strings.HasPrefix(rest, "/") || step < 1 {
		return "", errors.New("H takes a step as in H/15")
	}
	step = min(step, math.MaxInt32)
	var values []string
	for v := lo/step*step + int(math.Floor(p.draw*float64(step))); v <= hi; v += step {
		if v >= lo {
			values = append(values, strconv.Itoa(v))
		}
	}
	if len(values) == 0 {
		return strconv.Itoa(int(math.Floor(p.draw*float64(hi-lo+1))) + lo), nil
	}
	return strings.Join(values, ","), nil
}

// item reads one part of a list: *, a, a-b, each with an optional step, L, or nL.
func (p *fieldParser) item(text string) ([]int, error) {
	if p.index == dayField && text == "L" {
		if p.schedule.lastDay {
			return nil, errors.New("L is given twice")
		}
		p.schedule.lastDay = true
		return nil, nil
	}
	if n, ok := strings.CutSuffix(text, "L"); ok && p.index == weekdayField && digits(n) && len(n) == 1 {
		day := int(n[0]-'0') % 7
		if p.schedule.lastWeekdays.has(day) {
			return nil, fmt.Errorf("%dL is given twice", day)
		}
		p.schedule.lastWeekdays |= 1 << uint(day)
		return nil, nil
	}
	return p.stepped(text)
}

func (p *fieldParser) stepped(text string) ([]int, error) {
	if strings.Trim(text, "0123456789*-/") != "" {
		return nil, fmt.Errorf("%q has characters that do not belong here", text)
	}
	body, stepText, hasStep := strings.Cut(text, "/")
	step := 1
	if hasStep {
		var ok bool
		if step, ok = leadingInt(stepText); !ok || step < 1 || strings.Contains(stepText, "/") {
			return nil, errors.New("a step is a number above 0")
		}
		step = min(step, p.max+1)
	}
	lo, hi, err := p.bounds(body, hasStep)
	if err != nil {
		return nil, err
	}
	var values []int
	for v := lo; v <= hi; v += step {
		day := v
		if p.index == weekdayField {
			day = v % 7
		}
		// A range that reaches Sunday from both ends names it once.
		if !slices.Contains(values, day) {
			values = append(values, day)
		}
	}
	return values, nil
}

func (p *fieldParser) bounds(body string, hasStep bool) (lo, hi int, err error) {
	if body == "*" {
		return p.min, p.max, nil
	}
	a, b, isRange := strings.Cut(body, "-")
	if !digits(a) || isRange && !digits(b) {
		return 0, 0, fmt.Errorf("%q is neither a number nor a range", body)
	}
	if lo, err = p.value(a); err != nil {
		return 0, 0, err
	}
	switch {
	case isRange:
		if hi, err = p.value(b); err != nil {
			return 0, 0, err
		}
		if lo > hi {
			return 0, 0, fmt.Errorf("range %d-%d runs backwards", lo, hi)
		}
	case hasStep:
		hi = p.max
	default:
		hi = lo
	}
	return lo, hi, nil
}

func (p *fieldParser) value(text string) (int, error) {
	v, err := strconv.Atoi(text)
	if err != nil || v < p.min || v > p.max {
		return 0, fmt.Errorf("%s is outside %d-%d", text, p.min, p.max)
	}
	return v, nil
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// leadingInt reads the digits at the start of s and ignores what follows.
func leadingInt(s string) (int, bool) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	v, err := strconv.Atoi(s[:end])
	return v, err == nil
}

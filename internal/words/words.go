// Package words writes numbers the way every page, message and log line of Bullpen does: "22 min 41 s", "264/min",
// "2.1 KB", "3,204". A no-break space (U+00A0) stands between a number and its unit. It imports the standard library
// only.
package words

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// nbsp is the no-break space between a number and its unit.
const nbsp = "\u00a0"

// Unknown stands where a figure is not known; it is never written as 0.
const Unknown = "–"

// Count groups the digits of n by thousands: "3,204".
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// Plural joins a count and its noun: "1 job", "1,420 jobs".
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1" + nbsp + one
	}
	return Count(n) + nbsp + many
}

// Percent writes a share (0..1) as a percentage, with one decimal below ten: "38 %", "4.1 %", "0 %".
func Percent(share float64) string {
	if bad(share) {
		return Unknown
	}
	p := share * 100
	if a := math.Abs(p); a >= 9.95 || a < 0.05 {
		return decimals(p, 0) + nbsp + "%"
	}
	return decimals(p, 1) + nbsp + "%"
}

// Number writes a figure with as many decimals as help: "54.4", "0.35", "4,180".
func Number(f float64) string {
	switch a := math.Abs(f); {
	case bad(f):
		return Unknown
	case a == 0 || a >= 99.95:
		return decimals(f, 0)
	case a >= 0.995:
		return decimals(f, 1)
	default:
		return decimals(f, 2)
	}
}

// Tick writes a figure beside an axis, whose neighbours are as even: "50", "0.5".
func Tick(f float64) string {
	if f == math.Trunc(f) {
		return decimals(f, 0)
	}
	return Number(f)
}

// PerSecond writes a rate per second: "54.4/s".
func PerSecond(rate float64) string { return Number(rate) + "/s" }

// PerMinute writes a rate given per second as a rate per minute, whole from ten on: "264/min", "4.4/min".
func PerMinute(rate float64) string {
	m := rate * 60
	if a := math.Abs(m); a >= 9.95 {
		return decimals(m, 0) + "/min"
	}
	return Number(m) + "/min"
}

// Rate writes a rate given per second in the unit that reads best: per second from 200 a second on, else per minute.
func Rate(rate float64) string {
	if math.Abs(rate) >= 200 {
		return PerSecond(rate)
	}
	return PerMinute(rate)
}

// Bytes writes a size in decimal units: "960 B", "2.1 KB", "30 MB".
func Bytes(n int64) string {
	return size(float64(n), 1000, []string{"B", "KB", "MB", "GB", "TB", "PB"})
}

// Memory writes a size in binary units, as Redis counts its memory: "6.1 GiB".
func Memory(n int64) string {
	return size(float64(n), 1024, []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"})
}

func size(f, base float64, units []string) string {
	u := 0
	for math.Abs(f) >= base && u < len(units)-1 {
		f, u = f/base, u+1
	}
	// 999.7 KB would round to 1,000 KB; the next unit reads better.
	if u > 0 && u < len(units)-1 && math.Round(math.Abs(f)) >= base {
		f, u = f/base, u+1
	}
	if u == 0 || math.Abs(f) >= 9.95 {
		return decimals(f, 0) + nbsp + units[u]
	}
	return decimals(f, 1) + nbsp + units[u]
}

// Duration writes an age or a span with its two leading units: "38 s", "22 min 41 s", "2 h 05 min", "3 d 04 h". Less
// than a second is "< 1 s", nothing is "0 s".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-d)
	case d == 0:
		return "0" + nbsp + "s"
	case d < time.Second:
		return "<" + nbsp + "1" + nbsp + "s"
	case d < time.Minute:
		return unit(d, time.Second, "s")
	case d < time.Hour:
		return pair(d, time.Minute, "min", time.Second, "s")
	case d < 24*time.Hour:
		return pair(d, time.Hour, "h", time.Minute, "min")
	default:
		return pair(d, 24*time.Hour, "d", time.Hour, "h")
	}
}

// Roughly writes a span as one says it in a sentence: "38 s", "22 min", "2 h 05 min", "3 days".
func Roughly(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Roughly(-d)
	case d < time.Minute:
		return Duration(d)
	case d < time.Hour:
		return unit(d, time.Minute, "min")
	case d < 48*time.Hour:
		return pair(d, time.Hour, "h", time.Minute, "min")
	default:
		return Count(int64(d/(24*time.Hour))) + nbsp + "days"
	}
}

// Exact writes a run or round-trip time with three significant digits below a minute: "0.21 ms", "318 ms", "9.8 s",
// "12 s", and as Duration above.
func Exact(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Exact(-d)
	case d == 0:
		return "0" + nbsp + "s"
	case d < 10*time.Millisecond && d%time.Millisecond != 0:
		return decimals(float64(d)/float64(time.Millisecond), 2) + nbsp + "ms"
	case d < 999500*time.Microsecond:
		return decimals(float64(d)/float64(time.Millisecond), 0) + nbsp + "ms"
	case d < 9950*time.Millisecond && d%time.Second != 0:
		return decimals(d.Seconds(), 1) + nbsp + "s"
	default:
		return Duration(d)
	}
}

func unit(d, u time.Duration, name string) string { return Count(int64(d/u)) + nbsp + name }

// pair writes d in two units, the smaller one with two digits and left out when it is zero.
func pair(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	s := unit(d, big, bigName)
	rest := int64(d % big / small)
	if rest == 0 {
		return s
	}
	return s + " " + pad(rest) + nbsp + smallName
}

func pad(n int64) string {
	if n < 10 {
		return "0" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

// decimals writes f with n decimals and grouped thousands; minus zero becomes zero.
func decimals(f float64, n int) string {
	if bad(f) {
		return Unknown
	}
	s := strconv.FormatFloat(math.Abs(f), 'f', n, 64)
	whole, frac, _ := strings.Cut(s, ".")
	// Beyond int64 grouping is pointless.
	if i, err := strconv.ParseInt(whole, 10, 64); err == nil {
		whole = Count(i)
	}
	if frac != "" {
		whole += "." + frac
	}
	if f < 0 && strings.Trim(s, "0.") != "" {
		return "-" + whole
	}
	return whole
}

func bad(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) }

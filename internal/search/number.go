package search

import (
	"cmp"
	"strconv"
	"strings"
)

// decimal is a number as it is written, 0.digits × 10^exp, compared without rounding.
type decimal struct {
	negative bool
	digits   string // without zeros at either end; "" is zero
	exp      int64
}

// maxExponent is the longest exponent that is looked at, in digits; no number in use comes near.
const maxExponent = 15

// parseDecimal reads a number as JSON writes it; a plus sign and zeros in front are taken too.
func parseDecimal(s string) (d decimal, ok bool) {
	if s == "" {
		return d, false
	}
	switch s[0] {
	case '-', '+':
		d.negative, s = s[0] == '-', s[1:]
	}
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	if hasExponent {
		e, err := strconv.ParseInt(strings.TrimPrefix(exponent, "+"), 10, 64)
		if err != nil || len(exponent) > maxExponent || strings.HasPrefix(exponent, "+-") {
			return d, false
		}
		d.exp = e
	}
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	if !isDigits(whole) || hasPoint && !isDigits(fraction) {
		return d, false
	}
	digits := whole + fraction
	d.exp += int64(len(whole))
	d.digits = strings.TrimLeft(digits, "0")
	d.exp -= int64(len(digits) - len(d.digits))
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

func wholeDecimal(n int64) decimal {
	d, _ := parseDecimal(strconv.FormatInt(n, 10))
	return d
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// compare is -1, 0 or 1 as d is less than, equal to or greater than o.
func (d decimal) compare(o decimal) int {
	if s := cmp.Compare(d.sign(), o.sign()); s != 0 {
		return s
	}
	size := cmp.Or(cmp.Compare(d.exp, o.exp), strings.Compare(d.digits, o.digits))
	if d.negative {
		return -size
	}
	return size
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// interval is a comparison as typed: >3, >=3, <3, 1..3, 1.. or one value, which is both ends.
type interval struct {
	lo, hi string // "" is no bound
	// loOpen and hiOpen leave the bound itself out; single says that one value was given.
	loOpen, hiOpen, single bool
}

func parseInterval(value string) (in interval, ok bool) {
	if lo, hi, found := strings.Cut(value, ".."); found {
		return interval{lo: lo, hi: hi}, lo != "" || hi != ""
	}
	for _, op := range []string{">=", "<=", ">", "<", "="} {
		operand, found := strings.CutPrefix(value, op)
		if !found {
			continue
		}
		operand = strings.TrimSpace(operand)
		switch op[0] {
		case '>':
			return interval{lo: operand, loOpen: op == ">"}, operand != ""
		case '<':
			return interval{hi: operand, hiOpen: op == "<"}, operand != ""
		}
		value = operand
	}
	return interval{lo: value, hi: value, single: true}, value != ""
}

// holds reports whether d lies within the interval, whose ends are lo and hi.
func (in interval) holds(lo, hi, d decimal) bool {
	if c := d.compare(lo); in.lo != "" && (c < 0 || c == 0 && in.loOpen) {
		return false
	}
	c := d.compare(hi)
	return in.hi == "" || c < 0 || c == 0 && !in.hiOpen
}

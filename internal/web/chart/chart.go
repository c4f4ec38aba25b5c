// Package chart turns figures into SVG path data and axis positions. Plots use a viewBox one unit wide per slot and
// 100 units high, drawn with preserveAspectRatio="none".
package chart

import (
	"math"
	"strconv"
	"strings"
)

// Height of a plot's viewBox.
const Height = 100

// Tick is a line of an axis.
type Tick struct {
	Value float64
	// Percent is the distance from the top, 0..100.
	Percent float64
}

// Scale maps values to distances from the top of a plot.
type Scale struct {
	min, max float64
	log      bool
	Ticks    []Tick
}

// Linear returns a scale from 0 to at least top, with at most five lines on round values.
func Linear(top float64) Scale {
	step := niceStep(top / 4)
	s := Scale{max: math.Max(step*math.Ceil(top/step), step)}
	for v := 0.0; v <= s.max+step/2; v += step {
		s.Ticks = append(s.Ticks, Tick{v, s.Y(v)})
	}
	return s
}

// Log returns a logarithmic scale over whole decades that hold lo and hi, both above 0.
func Log(lo, hi float64) Scale {
	from, to := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	if to <= from {
		to = from + 1
	}
	s := Scale{min: math.Pow(10, from), max: math.Pow(10, to), log: true}
	every := math.Ceil((to - from) / 4)
	for e := from; e <= to; e += every {
		v := math.Pow(10, e)
		s.Ticks = append(s.Ticks, Tick{v, s.Y(v)})
	}
	return s
}

// Y is v's distance from the top, 0..Height; values beyond the scale stay on its edge.
func (s Scale) Y(v float64) float64 {
	var share float64
	if s.log {
		share = (math.Log10(math.Max(v, s.min)) - math.Log10(s.min)) / (math.Log10(s.max) - math.Log10(s.min))
	} else {
		share = v / s.max
	}
	return Height * (1 - math.Min(math.Max(share, 0), 1))
}

// niceStep rounds up to 1, 2 or 5 times a power of ten; steps under 1 become 1, since counts are whole.
func niceStep(raw float64) float64 {
	if !(raw > 1) {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*base >= raw {
			return m * base
		}
	}
	return 10 * base
}

// Bars returns one path per series of bars stacked in the order given, the first at the bottom.
func (s Scale) Bars(series ...[]float64) []string {
	const left, width = 0.11, 0.78
	paths := make([]string, len(series))
	for k := range series {
		var b strings.Builder
		for i, v := range series[k] {
			if !(v > 0) {
				continue
			}
			below := 0.0
			for _, lower := range series[:k] {
				below += lower[i]
			}
			bottom, top := s.Y(below), s.Y(below+v)
			b.WriteString("M" + num(float64(i)+left) + " " + num(bottom) + "v" + num(top-bottom) +
				"h" + num(width) + "v" + num(bottom-top) + "z")
		}
		paths[k] = b.String()
	}
	return paths
}

// Line returns a path through the values; a value that is 0 or not a number leaves a gap.
func (s Scale) Line(values []float64) string {
	var b strings.Builder
	pen := false
	for i, v := range values {
		if !(v > 0) {
			pen = false
			continue
		}
		if pen {
			b.WriteByte(' ')
		} else {
			b.WriteByte('M')
		}
		pen = true
		b.WriteString(num(float64(i)) + " " + num(s.Y(v)))
	}
	return b.String()
}

// Band returns the area between two lines wherever both have values.
func (s Scale) Band(lower, upper []float64) string {
	var b strings.Builder
	for i := 0; i < len(upper); {
		start := i
		for i < len(upper) && upper[i] > 0 && lower[i] > 0 {
			i++
		}
		if i == start {
			i++
			continue
		}
		for j := start; j < i; j++ {
			b.WriteString(pick(j == start, "M", " ") + num(float64(j)) + " " + num(s.Y(upper[j])))
		}
		for j := i - 1; j >= start; j-- {
			b.WriteString(pick(j == i-1, "L", " ") + num(float64(j)) + " " + num(s.Y(lower[j])))
		}
		b.WriteByte('z')
	}
	return b.String()
}

// Spark returns the paths of a sparkline for a viewBox of 4 units per bar and 22 high: good below-the-line neutral
// bars and, stacked under them, the failing part. The tallest bar takes 20 units; any value above 0 is at least 1 high.
func Spark(good, bad []int64) (goodPath, badPath string) {
	top := int64(0)
	for i := range good {
		top = max(top, good[i]+bad[i])
	}
	if top == 0 {
		return "", ""
	}
	height := func(v int64) int {
		if v <= 0 {
			return 0
		}
		return max(1, int(math.Round(20*float64(v)/float64(top))))
	}
	var g, b strings.Builder
	for i := range good {
		bh, gh := height(bad[i]), height(good[i])
		gh = min(gh, 21-bh)
		sparkBar(&b, i, 21, bh)
		sparkBar(&g, i, 21-bh, gh)
	}
	return g.String(), b.String()
}

func sparkBar(b *strings.Builder, i, bottom, height int) {
	if height <= 0 {
		return
	}
	h := strconv.Itoa(height)
	b.WriteString("M" + strconv.Itoa(4*i) + " " + strconv.Itoa(bottom) + "v-" + h + "h3v" + h + "z")
}

// Area returns the line of values and the area under it in a viewBox of the given size, scaled to the largest value;
// used where only the shape matters. Fewer than two values have no shape.
func Area(values []float64, width, height float64) (line, area string) {
	if len(values) < 2 {
		return "", ""
	}
	top := 0.0
	for _, v := range values {
		top = math.Max(top, v)
	}
	if top == 0 {
		top = 1
	}
	var b strings.Builder
	for i, v := range values {
		x := width * float64(i) / float64(len(values)-1)
		y := height - (height-2)*math.Max(v, 0)/top
		b.WriteString(pick(i == 0, "M", " ") + num(x) + " " + num(y))
	}
	line = b.String()
	return line, line + "L" + num(width) + " " + num(height) + " 0 " + num(height) + "z"
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

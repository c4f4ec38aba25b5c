package monitor

import (
	"math"
	"time"

	"bullpen/internal/words"
)

// A forecast needs this much of the last hour, and this good a fit, to say anything.
const (
	forecastSpan    = time.Hour
	forecastMinimum = 10 * time.Minute
	forecastFit     = 0.5
)

// Forecast is the straight line through the memory used over the last hour.
type Forecast struct {
	// Known says that the memory rises steadily enough to say when it is full.
	Known bool
	// Full is how long until then, PerMinute the growth in bytes a minute.
	Full      time.Duration
	PerMinute float64
	// Fit is r² of the line, 0..1.
	Fit float64
	// Limit is what the memory is measured against; System says it is the machine's memory, because maxmemory is 0.
	Limit  int64
	System bool
	// Text says all this in words: "full in about 3 h 20 min at +12 MB/min", or "no trend".
	Text string
}

// forecast fits the points of the last hour before now, the latest of which must be the present value.
func forecast(points []MemoryPoint, limit, system int64, now time.Time) Forecast {
	f := Forecast{Limit: limit, Text: "no trend"}
	if limit <= 0 {
		f.Limit, f.System = system, true
	}
	var recent []MemoryPoint
	for _, p := range points {
		if now.Sub(p.At) <= forecastSpan {
			recent = append(recent, p)
		}
	}
	if f.Limit <= 0 || len(recent) < 3 || now.Sub(recent[0].At) < forecastMinimum {
		return f
	}
	f.PerMinute, f.Fit = fitLine(recent)
	if f.PerMinute <= 0 || f.Fit < forecastFit {
		return f
	}
	left := float64(f.Limit - recent[len(recent)-1].Used)
	minutes := max(left, 0) / f.PerMinute
	// A century away is no trend anybody acts on, and more would overflow a duration.
	if minutes > (100 * 365 * 24 * time.Hour).Minutes() {
		return f
	}
	f.Known, f.Full = true, time.Duration(minutes*float64(time.Minute))
	f.Text = "full in about " + words.Roughly(f.Full.Round(time.Minute)) + " at +" + words.Bytes(int64(math.Round(f.PerMinute))) + "/min"
	switch {
	case left <= 0:
		f.Text = "full now"
	case f.Full < time.Minute:
		f.Text = "full within a minute"
	}
	if f.System {
		f.Text += ", against the machine's " + words.Memory(f.Limit) + " because maxmemory is not set"
	}
	return f
}

// fitLine returns the least-squares slope in bytes a minute and r².
func fitLine(points []MemoryPoint) (slope, r2 float64) {
	n := float64(len(points))
	var meanX, meanY float64
	x := func(p MemoryPoint) float64 { return p.At.Sub(points[0].At).Minutes() }
	for _, p := range points {
		meanX += x(p) / n
		meanY += float64(p.Used) / n
	}
	var sxx, sxy, syy float64
	for _, p := range points {
		dx, dy := x(p)-meanX, float64(p.Used)-meanY
		sxx, sxy, syy = sxx+dx*dx, sxy+dx*dy, syy+dy*dy
	}
	if sxx == 0 || syy == 0 {
		return 0, 0
	}
	return sxy / sxx, math.Min(sxy*sxy/(sxx*syy), 1)
}

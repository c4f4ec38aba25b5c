package alerting

import (
	"math"
	"time"

	"bullpen/alerts"
)

// overTime applies the function of r to the samples of its window; ok is false if there are too few. end is the end of
// the window, now when the rule is evaluated; they differ by the offset.
func overTime(r alerts.Range, points []point, end, now int64) (v float64, ok bool) {
	if len(points) == 0 {
		return 0, false
	}
	switch r.Fn {
	case "last_over_time":
		return points[len(points)-1].v, true
	case "count_over_time":
		return float64(len(points)), true
	case "min_over_time", "max_over_time", "avg_over_time":
		return statistic(r.Fn, points), true
	}
	if len(points) < 2 {
		return 0, false
	}
	switch r.Fn {
	case "rate":
		return grown(points, end, r.Window) / r.Window.Seconds(), true
	case "increase":
		return grown(points, end, r.Window), true
	case "deriv":
		slope, _ := line(points, points[0].at)
		return slope, true
	case "predict_linear":
		slope, value := line(points, now)
		return value + slope*r.Ahead.Seconds(), true
	}
	panic("alerting: no function " + r.Fn) // the table of package alerts has no other
}

func statistic(fn string, points []point) float64 {
	least, most, sum := math.Inf(1), math.Inf(-1), 0.0
	for _, p := range points {
		least, most = min(least, p.v), max(most, p.v)
		sum += p.v
	}
	switch fn {
	case "min_over_time":
		return least
	case "max_over_time":
		return most
	default:
		return sum / float64(len(points))
	}
}

// grown is how much a counter grew in a window, its resets taken out. It goes on at the same pace to the window's ends, if
// the samples reach nearly that far, and never below 0.
func grown(points []point, end int64, window time.Duration) float64 {
	first, last := points[0], points[len(points)-1]
	growth := last.v - first.v
	for i := 1; i < len(points); i++ {
		if points[i].v < points[i-1].v {
			growth += points[i-1].v
		}
	}
	start := end - window.Milliseconds()
	covered := seconds(last.at - first.at)
	between := covered / float64(len(points)-1)
	before, after := seconds(first.at-start), seconds(end-last.at)
	if growth > 0 && first.v >= 0 {
		before = min(before, covered*first.v/growth) // the counter began at 0
	}
	reach := covered
	for _, gap := range []float64{before, after} {
		if gap < 1.1*between {
			reach += gap
		} else {
			reach += between / 2
		}
	}
	return growth * reach / covered
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }

// line fits a straight line: its slope in units a second, and its value at a time.
func line(points []point, at int64) (slope, value float64) {
	var sumX, sumY, sumXX, sumXY float64
	for _, p := range points {
		x := seconds(p.at - at)
		sumX += x
		sumY += p.v
		sumXX += x * x
		sumXY += x * p.v
	}
	n := float64(len(points))
	slope = (sumXY - sumX*sumY/n) / (sumXX - sumX*sumX/n)
	return slope, sumY/n - slope*sumX/n
}

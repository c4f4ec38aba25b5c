package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/monitor"
	"bullpen/internal/web/chart"
	"bullpen/internal/words"
	"bullpen/templates"
)

// hour is the last 60 closed minutes; a minute nobody watched is zero.
func hour(q *monitor.Queue, now time.Time) (minutes [60]monitor.Minute, seen int) {
	for _, m := range q.History {
		if i := minuteSlot(m, now); i >= 0 {
			minutes[i] = m
			seen++
		}
	}
	return minutes, seen
}

func (s *Server) queuePlots(q *monitor.Queue, now time.Time) []templates.Plot {
	minutes, seen := hour(q, now)
	return []templates.Plot{s.throughputPlot(q, minutes, seen, now), s.timesPlot(minutes, now)}
}

func (s *Server) throughputPlot(q *monitor.Queue, minutes [60]monitor.Minute, seen int, now time.Time) templates.Plot {
	good, bad := make([]float64, 60), make([]float64, 60)
	top := 0.0
	for i, m := range minutes {
		good[i], bad[i] = float64(m.Completed), float64(m.Failed+m.Retried)
		top = math.Max(top, good[i]+bad[i])
	}
	last := minutes[59]
	p := templates.Plot{
		Title: "Attempts finished per minute", ViewBox: "0 0 60 100", X: s.hourTicks(now),
		Legend: []templates.LegendItem{
			{Class: "s-completed", Kind: "bar", Label: "completed", Value: words.Count(last.Completed)},
			{Class: "s-failed", Kind: "bar", Label: "failed", Value: words.Count(last.Failed + last.Retried)},
		},
		Story: fmt.Sprintf("Attempts finished per minute in the last hour: %s completed and %s failed in the last minute, at most %s in one.",
			words.Count(last.Completed), words.Count(last.Failed+last.Retried), words.Number(top)),
	}
	if seen == 0 || top == 0 {
		p.Note = "No attempt has finished in the last hour."
		if seen == 0 {
			p.Note = "The first minute is being watched."
		}
		return p
	}
	limit := 0.0
	if l := q.Limiter; l.Max > 0 && l.Duration > 0 {
		limit = float64(l.Max) * float64(time.Minute) / float64(l.Duration)
	}
	showLimit := limit > 0 && limit <= 4*top
	if showLimit {
		top = math.Max(top, limit)
	}
	scale := chart.Linear(top)
	paths := scale.Bars(bad, good)
	p.Paths = []templates.PlotPath{{Class: "fill s-failed", D: paths[0]}, {Class: "fill s-completed", D: paths[1]}}
	for _, t := range scale.Ticks {
		p.Y = append(p.Y, templates.PlotTick{At: percent(t.Percent), Label: words.Tick(t.Value)})
	}
	if showLimit {
		p.Marks = []templates.PlotMark{{Class: "s-delayed", At: percent(scale.Y(limit)), Label: "limiter, " + words.Count(q.Limiter.Max) + " per " + words.Exact(q.Limiter.Duration)}}
	}
	return p
}

func (s *Server) timesPlot(minutes [60]monitor.Minute, now time.Time) templates.Plot {
	series := map[string][]float64{}
	lo, hi := math.Inf(1), 0.0
	add := func(name string, v float64) {
		series[name] = append(series[name], v)
		if v > 0 {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	var last monitor.Minute
	for _, m := range minutes {
		add("wait50", m.WaitP50)
		add("wait95", m.WaitP95)
		add("run50", m.RunP50)
		add("run95", m.RunP95)
		if m.Seen > 0 {
			last = m
		}
	}
	p := templates.Plot{
		Title: "Wait and run time", ViewBox: "0 0 59 100", X: s.hourTicks(now),
		Legend: []templates.LegendItem{
			{Class: "s-waiting", Kind: "line", Label: "wait p50", Value: millis(last.WaitP50)},
			{Class: "s-waiting", Kind: "dash", Label: "p95", Value: millis(last.WaitP95)},
			{Class: "s-active", Kind: "line", Label: "run p50", Value: millis(last.RunP50)},
			{Class: "s-active", Kind: "dash", Label: "p95", Value: millis(last.RunP95)},
		},
		Story: fmt.Sprintf("Wait and run time, logarithmic. Last seen: jobs waited %s and ran %s at the median, %s and %s at the 95th percentile, from %s.",
			millis(last.WaitP50), millis(last.RunP50), millis(last.WaitP95), millis(last.RunP95), words.Plural(last.Seen, "attempt", "attempts")),
	}
	if hi == 0 {
		p.Note = "Wait and run times appear when attempts finish while Bullpen watches."
		return p
	}
	scale := chart.Log(lo, hi)
	for _, t := range scale.Ticks {
		p.Y = append(p.Y, templates.PlotTick{At: percent(t.Percent), Label: decade(t.Value)})
	}
	for _, c := range []struct{ class, name string }{{"s-active", "run"}, {"s-waiting", "wait"}} {
		lower, upper := series[c.name+"50"], series[c.name+"95"]
		p.Paths = append(p.Paths,
			templates.PlotPath{Class: "soft " + c.class, D: scale.Band(lower, upper)},
			templates.PlotPath{Class: "line " + c.class, D: scale.Line(lower)},
			templates.PlotPath{Class: "line dash " + c.class, D: scale.Line(upper)})
	}
	return p
}

// hourTicks label the last hour every quarter.
func (s *Server) hourTicks(now time.Time) []templates.PlotTick {
	end := now.In(s.o.Zone).Truncate(time.Minute)
	out := make([]templates.PlotTick, 0, 5)
	for i, anchor := range []string{"", "mid", "mid", "mid", "e"} {
		at := end.Add(time.Duration(i-4) * 15 * time.Minute)
		out = append(out, templates.PlotTick{At: percent(float64(i) * 25), Label: at.Format("15:04"), Anchor: anchor})
	}
	return out
}

func percent(p float64) string {
	text := fmt.Sprintf("%.1f", p)
	return strings.TrimSuffix(text, ".0") + "%"
}

func millis(ms float64) string {
	if ms <= 0 {
		return words.Unknown
	}
	return words.Exact(time.Duration(ms * float64(time.Millisecond)))
}

// decade labels a line of a logarithmic axis in milliseconds: "100 ms", "10 s".
func decade(ms float64) string {
	if ms >= 1000 {
		return words.Count(int64(math.Round(ms/1000))) + "\u00a0s"
	}
	return strconv.FormatFloat(ms, 'g', 3, 64) + "\u00a0ms"
}

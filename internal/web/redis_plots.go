package web

import (
	"math"
	"time"

	"bullpen/internal/monitor"
	"bullpen/internal/web/chart"
	"bullpen/internal/words"
	"bullpen/templates"
)

// memoryPlot draws the last hour, and the next one as far as the trend says.
func (s *Server) memoryPlot(d monitor.Redis, now time.Time) templates.Plot {
	p := templates.Plot{
		Title: "Memory used", ViewBox: "0 0 59 100", X: s.hourTicks(now),
		Legend: []templates.LegendItem{{Class: "s-active", Kind: "line", Label: "used", Value: words.Memory(d.UsedMemory)}},
		Story:  "Memory used in the last hour, " + words.Memory(d.UsedMemory) + " now; forecast: " + d.Forecast.Text + ".",
	}
	if len(d.MemoryHistory) == 0 {
		p.Note = "The first minute is being watched."
		return p
	}
	unit := memoryUnit(max(d.UsedMemory, d.PeakMemory))
	used := make([]float64, 60)
	top := 0.0
	for _, m := range d.MemoryHistory {
		if i := hourSlot(m.At, now); i >= 0 {
			used[i] = float64(m.Used) / unit
			top = math.Max(top, used[i])
		}
	}
	used[59] = float64(d.UsedMemory) / unit
	top = math.Max(top, used[59])
	limit := float64(d.MaxMemory) / unit
	showLimit := limit > 0 && limit <= 4*top
	if showLimit {
		top = math.Max(top, limit)
	}
	var next []float64
	if d.Forecast.Known {
		next = make([]float64, 120)
		for i := range 61 {
			next[59+i] = math.Min((float64(d.UsedMemory)+float64(i)*d.Forecast.PerMinute)/unit, math.Max(top, 1))
		}
		p.ViewBox = "0 0 119 100"
		p.X = s.twoHourTicks(now)
		p.Legend = append(p.Legend, templates.LegendItem{Class: "s-active", Kind: "dash", Label: "at this pace", Value: words.Bytes(int64(d.Forecast.PerMinute)) + "/min"})
	}
	scale := chart.Linear(top)
	p.Paths = []templates.PlotPath{{Class: "line s-active", D: scale.Line(used)}}
	if next != nil {
		p.Paths = append(p.Paths, templates.PlotPath{Class: "line dash s-active", D: scale.Line(next)})
	}
	for _, t := range scale.Ticks {
		p.Y = append(p.Y, templates.PlotTick{At: percent(t.Percent), Label: words.Memory(int64(t.Value * unit))})
	}
	if showLimit {
		p.Marks = []templates.PlotMark{{Class: "s-failed", At: percent(scale.Y(limit)), Label: "maxmemory"}}
	}
	return p
}

// memoryUnit is the unit in which an axis for n bytes has whole lines.
func memoryUnit(n int64) float64 {
	switch {
	case n >= 4<<30:
		return 1 << 30
	case n >= 4<<20:
		return 1 << 20
	}
	return 1 << 10
}

// hourSlot is the place of a minute among the last 60, the present one last; -1 when it is older.
func hourSlot(at, now time.Time) int {
	i := 59 - int(now.Sub(at)/time.Minute)
	if i < 0 || i > 59 {
		return -1
	}
	return i
}

// twoHourTicks label the last hour and the next.
func (s *Server) twoHourTicks(now time.Time) []templates.PlotTick {
	end := now.In(s.o.Zone).Truncate(time.Minute)
	return []templates.PlotTick{
		{At: "0%", Label: end.Add(-time.Hour).Format("15:04")},
		{At: "50%", Label: "now", Anchor: "mid"},
		{At: "100%", Label: end.Add(time.Hour).Format("15:04"), Anchor: "e"},
	}
}

// latencyPlot draws the round trip of the last hour.
func (s *Server) latencyPlot(d monitor.Redis, now time.Time) templates.Plot {
	p := templates.Plot{Title: "Round trip", ViewBox: "0 0 59 100", X: s.hourTicks(now)}
	p50, p99 := make([]float64, 60), make([]float64, 60)
	lo, hi := math.Inf(1), 0.0
	for _, l := range d.LatencyHistory {
		i := hourSlot(l.At, now)
		if i < 0 || l.P50 <= 0 {
			continue
		}
		p50[i], p99[i] = l.P50.Seconds()*1000, l.P99.Seconds()*1000
		lo, hi = math.Min(lo, p50[i]), math.Max(hi, p99[i])
	}
	if hi == 0 {
		p.Story, p.Note = "Round trip, not known yet.", "The first minute is being watched."
		return p
	}
	last := d.LatencyHistory[len(d.LatencyHistory)-1]
	p.Legend = []templates.LegendItem{
		{Class: "s-active", Kind: "line", Label: "p50", Value: words.Exact(last.P50)},
		{Class: "s-active", Kind: "dash", Label: "p99", Value: words.Exact(last.P99)},
	}
	p.Story = "Round trip to Redis in the last hour, logarithmic: p50 " + words.Exact(last.P50) + " and p99 " + words.Exact(last.P99) + " in the last minute."
	scale := chart.Log(lo, hi)
	for _, t := range scale.Ticks {
		p.Y = append(p.Y, templates.PlotTick{At: percent(t.Percent), Label: decade(t.Value)})
	}
	p.Paths = []templates.PlotPath{
		{Class: "soft s-active", D: scale.Band(p50, p99)},
		{Class: "line s-active", D: scale.Line(p50)},
		{Class: "line dash s-active", D: scale.Line(p99)},
	}
	return p
}

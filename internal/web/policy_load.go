package web

import (
	"math"
	"strconv"
	"time"

	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor"
	"bullpen/internal/web/chart"
	"bullpen/internal/words"
	"bullpen/templates"
)

// policyRates compares what arrives, what starts and what the limiter and the workers allow.
func policyRates(p policyState) templates.Rates {
	if p.q.Counts == nil || !p.q.Rate.Known {
		return templates.Rates{Note: "Rates are known once the queue has been watched for 15 s."}
	}
	l, z := p.load, p.size
	top := max(l.Arrival, z.Wanted, l.Limit, z.Capacity, p.q.Rate.Completed)
	if top == 0 {
		return templates.Rates{Note: "Nothing arrives and nothing runs."}
	}
	at := func(v float64) string { return share(v / top / 1.05) }
	bar := func(class string, from, to float64) templates.RateBar {
		return templates.RateBar{Class: class, X: at(from), Width: at(max(to-from, 0))}
	}
	within := min(z.Wanted, z.Starts)
	out := templates.Rates{Rows: []templates.RateRow{
		{Label: "New jobs", Value: words.Number(l.Arrival), From: "measured, last minute", Bars: []templates.RateBar{bar("s-waiting", 0, l.Arrival)}},
		{
			Label: "Retries", Value: words.Number(z.Wanted - l.Arrival), From: retryNote(p),
			Bars: []templates.RateBar{{Class: "s-failed", X: at(l.Arrival), Width: at(z.Wanted - l.Arrival), Open: true}},
		},
		{
			Label: "Starts wanted", Value: words.Number(z.Wanted), From: "new jobs and retries",
			Bars: []templates.RateBar{bar("s-waiting", 0, within), bar("s-failed", within, z.Wanted)},
		},
	}}
	if l.Limit > 0 {
		out.Axis, out.Mark = "the dashed line is the limiter, "+words.Number(l.Limit), at(l.Limit)
		out.Rows = append(out.Rows, templates.RateRow{
			Label: "Limiter lets through", Value: words.Number(l.Limit), From: words.Count(p.q.Limiter.Max) + " per " + windowText(p.q.Limiter.Duration) + " over the whole fleet",
			Bars: []templates.RateBar{bar("s-delayed", 0, l.Limit)},
		})
	}
	if z.LeftOver > 0.005 {
		out.Rows = append(out.Rows, templates.RateRow{
			Label: "Left over", Value: words.Number(z.LeftOver), From: "waiting grows by " + words.Number(z.LeftOver*60) + " a minute",
			Bars: []templates.RateBar{bar("s-failed", z.Starts, z.Wanted)},
		})
	}
	if z.Capacity > 0 {
		out.Rows = append(out.Rows, templates.RateRow{
			Label: "Workers could run", Value: words.Number(z.Capacity), From: "ceiling " + words.Count(l.Ceiling) + ", mean run " + words.Exact(l.MeanRun),
			Bars: []templates.RateBar{bar("s-active", 0, z.Capacity)},
		})
	}
	completed := templates.RateRow{Label: "Completed", Value: words.Number(p.q.Rate.Completed), From: "measured, last minute", Bars: []templates.RateBar{bar("s-completed", 0, p.q.Rate.Completed)}}
	if started := p.q.Rate.Started; started > 0 {
		completed.From = words.Percent(min(p.q.Rate.Completed/started, 1)) + " of " + words.Number(started) + " starts"
	}
	out.Rows = append(out.Rows, completed)
	return out
}

func retryNote(p policyState) string {
	more := words.Number(p.size.AttemptsPerJob-1) + " more attempts for each new job"
	if r := p.q.Rate; r.Started > 0 && r.Retried > 0 {
		more += "; " + words.Percent(min(r.Retried/r.Started, 1)) + " of the starts really are retries"
	}
	return more
}

// share is a part of the whole as SVG writes it, never beyond it.
func share(f float64) string {
	if math.IsNaN(f) || f < 0 {
		f = 0
	}
	return strconv.FormatFloat(min(f, 1)*100, 'f', 2, 64) + "%"
}

// scenario is a change to the load.
type scenario struct {
	change, sub string
	load        monitor.Load
}

// scenarios are the changes worth comparing for a load.
func scenarios(p policyState) []scenario {
	l := p.load
	out := []scenario{{"As it is", words.Percent(l.FailingShare) + " failing", l}}
	add := func(change, sub string, edit func(*monitor.Load)) {
		next := l
		edit(&next)
		out = append(out, scenario{change, sub, next})
	}
	const usual = 0.02
	if l.FailingShare > 2*usual {
		add("Downstream recovers", words.Percent(usual)+" failing", func(l *monitor.Load) { l.FailingShare = usual })
	}
	if p.size.LimiterUse > 0.5 {
		wider := math.Ceil(float64(p.q.Limiter.Max) * 1.2)
		sub := "as much more as the service must bear"
		if p.size.Capacity > 0 && wider/p.q.Limiter.Duration.Seconds() > p.size.Capacity {
			sub = "workers then cap at " + words.PerSecond(p.size.Capacity)
		}
		add("Limiter at "+words.Count(int64(wider))+" per "+windowText(p.q.Limiter.Duration), sub, func(l *monitor.Load) { l.Limit = wider / p.q.Limiter.Duration.Seconds() })
	}
	if l.Attempts > 2 && l.FailingShare > 0 {
		fewer := max(2, l.Attempts-2)
		add(words.Plural(int64(fewer), "attempt", "attempts")+" instead of "+words.Count(int64(l.Attempts)), "fewer retries, more used up", func(l *monitor.Load) { l.Attempts = fewer })
	}
	if l.Ceiling >= 0 {
		more := int64(max(p.inForce.Concurrency, 1))
		sub := "brings the ceiling to " + words.Count(l.Ceiling+more)
		switch {
		case p.inForce.GlobalConcurrency > 0 && l.Ceiling >= int64(p.inForce.GlobalConcurrency):
			more, sub = 0, "the fleet's bound decides, not the workers"
		case p.size.Bound == "limiter":
			sub = "the limiter decides, not the ceiling"
		}
		add("One more worker", sub, func(l *monitor.Load) { l.Ceiling += more })
	}
	return out
}

// policyHelps compares what would be if something changed.
func policyHelps(p policyState) templates.Helps {
	if p.q.Counts == nil || !p.q.Rate.Known || p.load.Arrival == 0 && p.load.Backlog == 0 {
		return templates.Helps{}
	}
	all := scenarios(p)
	top := 0.0
	for _, s := range all {
		top = max(top, s.load.Size().InFlight, float64(s.load.Ceiling))
	}
	out := templates.Helps{Backlog: "Backlog of " + words.Count(p.load.Backlog), Note: "In flight needed is starts per second × mean run time (Little's law)"}
	if p.load.MeanRun > 0 {
		out.Note += ", here " + words.Number(p.size.Wanted) + " × " + words.Exact(p.load.MeanRun)
	}
	out.Note += ". Used up: jobs that fail all their attempts, if failures are independent."
	for _, s := range all {
		z := s.load.Size()
		row := templates.Help{
			Class: "h-ok", Change: s.change, Sub: s.sub, Starts: words.PerSecond(z.Wanted), InFlight: words.Unknown, UsedUp: words.Percent(z.UsedUp),
			Outcome: outlook(s.load, z),
		}
		if z.LeftOver > 0.005 {
			row.Class = "h-crit"
		}
		if s.load.MeanRun > 0 {
			row.InFlight, row.Bar = words.Number(z.InFlight), share(z.InFlight/top)
		}
		if s.load.Ceiling >= 0 {
			row.Ceiling, row.Mark = " / "+words.Count(s.load.Ceiling), share(float64(s.load.Ceiling)/top)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// outlook says what becomes of the backlog.
func outlook(l monitor.Load, z monitor.Sizing) string {
	switch {
	case z.LeftOver > 0.005:
		return "grows by " + words.PerMinute(z.LeftOver)
	case l.Backlog == 0:
		return "none"
	case z.Drains:
		return "drains in " + words.Duration(z.Drain)
	}
	return "stays"
}

// policyBudget says what an outage does, and what the retries really cost.
func policyBudget(p policyState) templates.Budget {
	in := p.inForce
	survives := monitor.Survives(in)
	b := templates.Budget{Strong: "An outage of more than " + words.Exact(survives) + " uses up every attempt.", Windows: attemptWindows(in)}
	switch {
	case in.Attempts == 1:
		b.Strong, b.Text = "A job has one attempt.", "Whatever fails once has failed for good; attempts above 1 would retry it."
	case survives == 0:
		b.Strong = "Any outage uses up every attempt at once."
		b.Text = "Without a backoff the retries follow each other at once."
	default:
		b.Text = "That is the wait between its " + words.Count(int64(in.Attempts)) + " attempts; time spent waiting for a free slot stretches it."
	}
	if !p.q.Rate.Known {
		return b
	}
	expected := monitor.Load{FailingShare: in.AttemptFailure, Attempts: in.Attempts, Arrival: 1}.Size().AttemptsPerJob
	class := ""
	if p.load.FailingShare > in.AttemptFailure {
		class = "s-failed"
	}
	finished, failed := finishedInHour(p.q)
	b.Facts = []templates.Fact{
		{Class: class, Label: "Attempts per job", Value: decimals(p.size.AttemptsPerJob), Small: "at " + words.Percent(in.AttemptFailure) + " failing " + decimals(expected)},
		{Label: "Extra load", Value: "+ " + words.Percent(p.size.AttemptsPerJob-1)},
		{Label: "Used up, predicted", Value: rarely(p.size.UsedUp), Small: "tolerated " + rarely(in.FailedBudget)},
	}
	if finished > 0 {
		real := templates.Fact{Label: "Failed for good, last hour", Value: words.Percent(float64(failed) / float64(finished)), Small: words.Count(failed) + " of " + words.Count(finished)}
		if float64(failed)/float64(finished) > in.FailedBudget {
			real.Class = "s-failed"
		}
		b.Facts = append(b.Facts, real)
	}
	return b
}

// rarely writes a share that may be far below a percent.
func rarely(f float64) string {
	if f > 0 && f < 0.0005 {
		return strconv.FormatFloat(f*100, 'g', 1, 64) + "\u00a0%"
	}
	return words.Percent(f)
}

func decimals(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

// finishedInHour counts the jobs that finished in the last hour, and those of them that failed for good.
func finishedInHour(q *monitor.Queue) (all, failed int64) {
	for _, m := range q.History {
		all += m.Completed + m.Failed
		failed += m.Failed
	}
	return all, failed
}

// maxWindows bounds the attempts that are drawn.
const maxWindows = 10

// attemptWindows shows when each attempt starts, runs not counted; nil with one attempt or without a backoff.
func attemptWindows(p policy.Policy) *templates.Windows {
	n := min(p.Attempts, maxWindows)
	if n < 2 || p.Backoff.Type == "" {
		return nil
	}
	earliest, latest := make([]time.Duration, n), make([]time.Duration, n)
	for i := 1; i < n; i++ {
		earliest[i] = earliest[i-1] + p.Backoff.After(i, 0)
		latest[i] = latest[i-1] + p.Backoff.After(i, math.Nextafter(1, 0))
	}
	end := latest[n-1]
	if end <= 0 {
		return nil
	}
	at := func(d time.Duration) float64 { return float64(d) / float64(end) * 0.974 }
	w := &templates.Windows{Title: "When attempts 1 to " + words.Count(int64(n)) + " start, counted from the first", Story: "Attempts after the first start:"}
	last := -1.0
	for i := range n {
		from, to := at(earliest[i]), at(latest[i])
		b := templates.WindowBar{X: share(from), Width: share(max(to-from, 0.004)), LabelX: share((from + to) / 2), Anchor: "mid"}
		if i == 0 {
			b.LabelX, b.Anchor = "0%", ""
		}
		if middle := (from + to) / 2; middle-last > 0.035 { // labels that would overlap are left out
			b.Label, last = words.Count(int64(i+1)), middle
		}
		if i > 0 {
			w.Story += " " + words.Count(int64(i+1)) + " after " + words.Exact(earliest[i]) + " to " + words.Exact(latest[i]) + ","
		}
		w.Bars = append(w.Bars, b)
	}
	w.Story = w.Story[:len(w.Story)-1]
	if p.Backoff.Jitter > 0 {
		w.Title += ", with jitter"
	}
	for i, anchor := range []string{"", "mid", "mid", "e"} {
		d := end * time.Duration(i) / 3
		w.Ticks = append(w.Ticks, templates.PlotTick{At: share(at(d)), Label: words.Exact(d.Round(time.Millisecond)), Anchor: anchor})
	}
	return w
}

// limiterPlot is the share of reads that found the limiter closed; nil without a limiter.
func (s *Server) limiterPlot(p policyState, r viewRequest) *templates.Plot {
	if p.q.Limiter.Max == 0 && !p.q.Limiter.Closed {
		return nil
	}
	minutes, seen := hour(p.q, r.now)
	values := make([]float64, len(minutes))
	for i, m := range minutes {
		values[i] = m.Limited * 100
	}
	full := monitor.LimiterFull(p.q.History)
	now := "open"
	if p.q.Limiter.Closed {
		now = "full"
	}
	plot := &templates.Plot{
		Title: "Limiter closed", ViewBox: "0 0 60 100", X: s.hourTicks(r.now),
		Legend: []templates.LegendItem{{Class: "s-delayed", Kind: "bar", Label: "now", Value: now}, {Class: "s-delayed", Kind: "bar", Label: "full for", Value: words.Count(int64(full)) + " of 60\u00a0min"}},
		Story:  "Share of each minute in which the limiter let nothing start; it was closed most of the time in " + words.Plural(int64(full), "minute", "minutes") + " of the last 60.",
	}
	if seen == 0 {
		plot.Note = "The first minute is being watched."
		return plot
	}
	scale := chart.Linear(100)
	plot.Paths = []templates.PlotPath{{Class: "fill s-delayed", D: scale.Bars(values)[0]}}
	for _, t := range []float64{0, 50, 100} {
		plot.Y = append(plot.Y, templates.PlotTick{At: percent(scale.Y(t)), Label: words.Count(int64(t)) + "\u00a0%"})
	}
	return plot
}

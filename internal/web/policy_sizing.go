package web

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/monitor"
	"bullpen/internal/words"
	"bullpen/templates"
)

// policySizing is the calculator: what was asked in the address, else what was measured.
func (s *Server) policySizing(r viewRequest, p policyState) templates.Sizing {
	need, inputs, ok := readNeed(r.query, measuredNeed(p))
	out := templates.Sizing{URL: s.o.BasePath + r.path + "#sz", Inputs: inputs}
	if !ok {
		return out
	}
	a := need.Advise()
	if a.Max == 0 {
		out.Note = "Fill in how many requests a second the service bears, how long one takes and how many replicas there are. What was measured is filled in already."
		return out
	}
	window := windowText(a.Window)
	out.Results = []templates.Detail{
		{Label: "Limiter", Value: words.Count(int64(a.Max)) + " per " + window},
		{Label: "In flight", Value: words.Number(a.InFlight), Small: aboutPerReplica(a, need)},
		{Label: "Concurrency", Value: words.Count(int64(a.Concurrency)), Small: "of each replica's worker"},
	}
	out.Why = sizingReasons(need, a)
	if s.mayChange(r, p.q) && p.record.Open == nil {
		values := url.Values{
			"concurrency": {strconv.Itoa(a.Concurrency)}, "limiter_max": {strconv.Itoa(a.Max)}, "limiter_duration": {a.Window.String()},
			"back": {r.self()},
		}
		out.Propose = &templates.Act{Label: "Propose these values", Icon: "i-edit", URL: withQuery(s.links.queue(p.q.Queue, "policy", "propose"), values)}
	}
	return out
}

func aboutPerReplica(a monitor.Advice, n monitor.Need) string {
	if n.Replicas == 1 {
		return "on one replica"
	}
	per := a.PerReplica
	if whole := int64(per + 0.999999); per >= 1 {
		return "about " + words.Count(whole) + " per replica"
	}
	return words.Number(per) + " per replica"
}

// sizingReasons say why the advice is what it is.
func sizingReasons(n monitor.Need, a monitor.Advice) []string {
	out := []string{
		"The limiter counts starts over all replicas, retries included, so the service gets at most " + words.PerSecond(float64(a.Max)/a.Window.Seconds()) + " whatever the concurrency is.",
		words.PerSecond(n.Rate) + " × " + words.Exact(n.Run) + " are " + words.Number(a.InFlight) + " requests in flight (Little's law), " + words.Number(a.PerReplica) +
			" on each of " + words.Plural(int64(n.Replicas), "replica", "replicas") + ".",
	}
	concurrency := "A worker that is busy 80 % of the time needs " + words.Number(a.PerReplica) + " ÷ 0.8, rounded up: " + words.Count(int64(a.Concurrency)) + ". The rest is room for runs that take longer."
	switch {
	case a.ReplicasNeeded > 0:
		concurrency = "The pool of " + words.Count(int64(n.Pool)) + " on each replica allows " + words.PerSecond(a.Reachable) + " at most. For " + words.PerSecond(n.Rate) + " it takes " +
			words.Plural(int64(a.ReplicasNeeded), "replica", "replicas") + ", or a larger pool."
	case n.Pool > 0 && a.Concurrency == n.Pool:
		concurrency = "The concurrency is cut to the pool of " + words.Count(int64(n.Pool)) + "; more jobs at once would wait for a connection."
	case n.Pool > 0:
		concurrency += " It fits into the pool of " + words.Count(int64(n.Pool)) + "."
	}
	return append(out, concurrency)
}

// measuredNeed is the need as the last minutes show it.
func measuredNeed(p policyState) monitor.Need {
	n := monitor.Need{Rate: p.load.Limit, Run: p.load.MeanRun.Round(time.Millisecond), Replicas: len(replicasOf(p.bullpen()))}
	if n.Rate == 0 && p.q.Rate.Known {
		n.Rate = roundUp(p.size.Wanted)
	}
	return n
}

// readNeed reads the calculator's fields out of an address; what is not in it is as measured.
func readNeed(query url.Values, measured monitor.Need) (n monitor.Need, inputs []templates.Input, ok bool) {
	n, ok = measured, true
	field := func(name, label, help, value string, read func(string) bool) {
		in := templates.Input{Kind: "text", Name: name, Label: label, Help: help, Value: value}
		if query.Has(name) {
			in.Value = strings.TrimSpace(query.Get(name))
		}
		if in.Value != "" && !read(in.Value) {
			in.Problem, ok = "Not understood. "+help, false
		}
		inputs = append(inputs, in)
	}
	number := func(to *int) func(string) bool {
		return func(text string) bool {
			v, err := strconv.Atoi(text)
			*to = v
			return err == nil && v > 0 && v <= 1_000_000
		}
	}
	show := func(f float64) string {
		if f == 0 {
			return ""
		}
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	field("rate", "Requests per second", "What the service bears, retries included.", show(n.Rate), func(text string) bool {
		v, err := strconv.ParseFloat(text, 64)
		n.Rate = v
		return err == nil && v > 0 && v <= 1e9
	})
	run := ""
	if n.Run > 0 {
		run = n.Run.String()
	}
	field("run", "Time of one", "Such as 200ms or 1.5s.", run, func(text string) bool {
		d, err := parseSpan(text)
		n.Run = d
		return err == nil && d > 0
	})
	replicas := ""
	if n.Replicas > 0 {
		replicas = strconv.Itoa(n.Replicas)
	}
	field("replicas", "Replicas", "Processes that run a worker.", replicas, number(&n.Replicas))
	field("pool", "Pool of each", "Connections a replica has to the service; empty for no bound.", "", number(&n.Pool))
	return n, inputs, ok
}

// roundUp keeps two significant digits of a measured rate and is never below it.
func roundUp(f float64) float64 {
	if !(f > 0) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(f))-1)
	up := math.Ceil(f/unit-1e-9) * unit
	v, err := strconv.ParseFloat(strconv.FormatFloat(up, 'g', 2, 64), 64)
	if err != nil || v < f {
		return up
	}
	return v
}

// windowText is the window of a limiter: "1 s", "500 ms".
func windowText(d time.Duration) string {
	if d%time.Second == 0 {
		return words.Duration(d)
	}
	return words.Exact(d)
}

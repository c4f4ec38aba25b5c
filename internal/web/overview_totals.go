package web

import (
	"strings"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/chart"
	"bullpen/internal/words"
	"bullpen/templates"
)

// overviewFinding is the headline: how many queues need attention, and the rest counted.
func overviewFinding(all []*monitor.Queue) (title, say string) {
	n := map[monitor.Health]int64{}
	for _, q := range all {
		n[q.Health]++
	}
	total := int64(len(all))
	var rest []string
	add := func(k int64, what string) {
		if k > 0 {
			rest = append(rest, words.Count(k)+" "+what)
		}
	}
	switch {
	case total == 0:
		return "No queues", ""
	case n[monitor.NeedsAttention] > 0:
		title = words.Count(n[monitor.NeedsAttention]) + " of " + words.Plural(total, "queue needs", "queues need") + " attention"
		add(n[monitor.Watch], "more to watch")
	case n[monitor.Watch] > 0:
		title = words.Count(n[monitor.Watch]) + " of " + words.Plural(total, "queue", "queues") + " to watch"
	case n[monitor.Healthy] > 0:
		title = words.Plural(n[monitor.Healthy], "queue keeps", "queues keep") + " up"
	default:
		title = "Nothing is running"
	}
	if n[monitor.NeedsAttention]+n[monitor.Watch] > 0 {
		add(n[monitor.Healthy], "healthy")
	}
	add(n[monitor.PausedHealth]+n[monitor.Quiet], "paused or quiet")
	add(n[monitor.UnknownHealth], "unknown")
	if len(rest) > 0 {
		say = strings.Join(rest, ", ") + "."
	}
	return title, say
}

// worstNotice is about the first queue that needs attention: what is wrong, what it leads to, what to do.
func (s *Server) worstNotice(all []*monitor.Queue) *templates.Notice {
	var worst *monitor.Queue
	for _, q := range all {
		if q.Health == monitor.NeedsAttention && (worst == nil || worstFirst(q, worst) < 0) {
			worst = q
		}
	}
	if worst == nil {
		return nil
	}
	return &templates.Notice{
		Class: "s-failed", Icon: "h-crit", Strong: visibleText(worst.Name) + ": " + worst.Reason + ".", Text: consequence(worst),
		Links: []templates.Link{{Label: "Open queue", URL: s.links.queue(worst.Queue)}},
	}
}

// consequence says what the finding leads to and what would help.
func consequence(q *monitor.Queue) string {
	var parts []string
	if b := q.Backlog(); b > 0 {
		line := words.Plural(b, "job waits", "jobs wait")
		if q.OldestWait > 0 {
			line += ", the oldest for " + words.Duration(q.OldestWait)
		}
		if q.Rate.Known && q.Rate.Growth > 0.01 {
			line += ", and the backlog grows by " + words.PerMinute(q.Rate.Growth)
		}
		parts = append(parts, line+".")
	}
	switch noWorker := q.WorkersKnown && q.Workers == 0; {
	case noWorker:
		parts = append(parts, "Start a worker, or pause the queue to hold its jobs on purpose.")
	case q.Field == "failing":
		parts = append(parts, "Look at what fails; pause the queue if retries make it worse.")
	case q.Field == "oldest" || q.Field == "waiting":
		parts = append(parts, "More workers, more concurrency or a higher limit would let it catch up.")
	case q.Field == "active":
		parts = append(parts, "Its workers hold slots and start nothing: look at what runs.")
	}
	return strings.Join(parts, " ")
}

// totals are the figures over all queues.
func (s *Server) totals(r viewRequest, all []*monitor.Queue) []templates.Total {
	t := sum(all)
	unknown := len(all) > 0 && t.counted == 0
	state := func(st keys.State, label string, n int64, notes ...string) templates.Total {
		out := templates.Total{State: templates.StateOf(string(st)), Label: label, Figure: figure(words.Count(n)), Notes: compact(notes)}
		if unknown {
			out.Figure = figure(words.Unknown)
		}
		return out
	}
	waiting := state(keys.Waiting, "Waiting", t.counts[keys.Waiting], prioritizedNote(t)+growthNote(t))
	waiting.Line, waiting.Area = mini(t.minutes(r.now, func(m monitor.Minute) int64 { return m.BacklogMax }))
	active := state(keys.Active, "Active", t.counts[keys.Active], startsNote(t))
	if t.ceilingKnown && t.ceiling > 0 {
		active.Figure = append(active.Figure, templates.Part{Text: " of " + words.Count(t.ceiling), Small: true})
	}
	failed := state(keys.Failed, "Failed", t.counts[keys.Failed], failedNote(t))
	failed.Line, failed.Area = mini(t.minutes(r.now, func(m monitor.Minute) int64 { return m.Failed }))
	finished := templates.Total{Label: "Finished", Figure: figure(words.Unknown)}
	if t.rated > 0 {
		finished.Figure = figure(words.PerMinute(t.finished))
		finished.Notes = compact([]string{failingNote(t)})
	}
	finished.Line, finished.Area = mini(t.minutes(r.now, func(m monitor.Minute) int64 { return m.Completed + m.Failed + m.Retried }))
	return []templates.Total{waiting, active, state(keys.Delayed, "Delayed", t.counts[keys.Delayed], delayedNote(t, r.now)), failed, oldestTotal(t), finished}
}

// sums are figures over many queues.
type sums struct {
	queues               []*monitor.Queue
	counts               map[keys.State]int64
	counted, rated       int
	ceiling, overdue     int64
	ceilingKnown         bool
	growth, started      float64
	startedKnown         bool
	finished, failedRate float64
	failing, attempts    float64
	nextDue              time.Time
	oldest               *monitor.Queue
}

func sum(all []*monitor.Queue) sums {
	t := sums{queues: all, counts: map[keys.State]int64{}, ceilingKnown: true}
	for _, q := range all {
		for st, n := range q.Counts {
			t.counts[st] += n
		}
		if q.Counts != nil {
			t.counted++
		}
		t.overdue += q.Overdue
		t.ceiling += q.Ceiling
		if !q.CeilingKnown && q.Counts[keys.Active] > 0 {
			t.ceilingKnown = false
		}
		if q.Rate.Known {
			t.rated++
			t.growth += q.Rate.Growth
			t.finished += finishedRate(q)
			t.failedRate += q.Rate.Failed
			t.failing += q.Rate.FailingShare * float64(q.Rate.Attempts)
			t.attempts += float64(q.Rate.Attempts)
			if q.TotalsKnown {
				t.startedKnown = true
				t.started += q.Rate.Started
			}
		}
		if !q.NextDue.IsZero() && (t.nextDue.IsZero() || q.NextDue.Before(t.nextDue)) {
			t.nextDue = q.NextDue
		}
		// What waits on purpose does not wait for anybody.
		if q.OldestWait > 0 && !q.Paused && !q.DeadLetter && (t.oldest == nil || q.OldestWait > t.oldest.OldestWait) {
			t.oldest = q
		}
	}
	return t
}

// minutes adds up one figure over all queues for each of the last 60 minutes; nil when nothing is known.
func (t sums) minutes(now time.Time, figure func(monitor.Minute) int64) []float64 {
	out := make([]float64, 60)
	seen := false
	for _, q := range t.queues {
		for _, m := range q.History {
			if i := minuteSlot(m, now); i >= 0 {
				out[i] += float64(figure(m))
				seen = true
			}
		}
	}
	if !seen {
		return nil
	}
	return out
}

func mini(values []float64) (line, area string) {
	if values == nil {
		return "", ""
	}
	return chart.Area(values, 80, 20)
}

func prioritizedNote(t sums) string {
	if p := t.counts[keys.Prioritized]; p > 0 {
		return "+ " + words.Count(p) + " prioritized, "
	}
	return ""
}

func growthNote(t sums) string {
	switch {
	case t.rated == 0:
		return ""
	case t.growth > 0.05:
		return "growing " + words.Rate(t.growth)
	case t.growth < -0.05:
		return "shrinking " + words.Rate(-t.growth)
	}
	return "steady"
}

func startsNote(t sums) string {
	if !t.startedKnown {
		return ""
	}
	return words.Number(t.started) + " starts a second"
}

func delayedNote(t sums, now time.Time) string {
	if t.counts[keys.Delayed] == 0 {
		return ""
	}
	note := "none overdue"
	if t.overdue > 0 {
		note = words.Count(t.overdue) + " overdue"
	}
	if d := t.nextDue.Sub(now); !t.nextDue.IsZero() && d > 0 {
		note = "next due in " + words.Roughly(d) + ", " + note
	}
	return note
}

func failedNote(t sums) string {
	if t.rated == 0 {
		return ""
	}
	return "+ " + words.PerMinute(t.failedRate)
}

func failingNote(t sums) string {
	if t.attempts == 0 {
		return ""
	}
	return words.Percent(t.failing/t.attempts) + " of attempts failing"
}

func oldestTotal(t sums) templates.Total {
	if t.oldest == nil {
		return templates.Total{Label: "Oldest wait", Figure: figure(words.Unknown), Notes: []string{"nothing waits"}}
	}
	note := t.oldest.Name
	if t.oldest.Rate.Known && t.oldest.Rate.Growth > 0.01 {
		note += ", growing"
	}
	if t.oldest.OldestWaitAtLeast {
		note += ", at least"
	}
	return templates.Total{Label: "Oldest wait", Figure: figure(words.Duration(t.oldest.OldestWait)), Notes: []string{note}}
}

// figure splits a figure into numbers and their small units: "22 min 41 s", "264/min".
func figure(text string) []templates.Part {
	var out []templates.Part
	for _, token := range strings.FieldsFunc(strings.ReplaceAll(text, "/", " /"), func(r rune) bool { return r == ' ' || r == '\u00a0' }) {
		number := token[0] >= '0' && token[0] <= '9' || token[0] == '-' || token[0] == '<' || token == words.Unknown
		switch {
		case number && len(out) > 0:
			token = " " + token
		case !number && token[0] != '/':
			token = "\u00a0" + token
		}
		out = append(out, templates.Part{Text: token, Small: !number})
	}
	return out
}

// compact leaves out empty notes.
func compact(notes []string) []string {
	out := notes[:0]
	for _, n := range notes {
		if n = strings.TrimSuffix(n, ", "); n != "" {
			out = append(out, n)
		}
	}
	return out
}

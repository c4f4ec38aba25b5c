package web

import (
	"strings"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/chart"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// healthLook is how a verdict looks.
func healthLook(h monitor.Health) templates.Health {
	switch h {
	case monitor.NeedsAttention:
		return templates.Health{Label: "Needs attention", Class: "h-crit", Icon: "h-crit"}
	case monitor.Watch:
		return templates.Health{Label: "Watch", Class: "h-warn", Icon: "h-warn"}
	case monitor.Healthy:
		return templates.Health{Label: "Healthy", Class: "h-ok", Icon: "h-ok"}
	case monitor.PausedHealth:
		return templates.Health{Label: "Paused", Class: "s-paused", Icon: "s-paused"}
	case monitor.Quiet:
		return templates.Health{Label: "Quiet", Class: "h-idle", Icon: "h-idle"}
	}
	return templates.Health{Label: "Unknown", Class: "s-paused", Icon: "h-unknown"}
}

// queueBadges are the conditions beside a queue's state.
func (s *Server) queueBadges(q *monitor.Queue) []templates.BadgeView {
	var out []templates.BadgeView
	if q.Legacy {
		out = append(out, templates.BadgeView{Class: "s-paused", Icon: "h-unknown", Label: "Bull 3 or 4"})
	}
	if q.Paused {
		out = append(out, templates.BadgeView{Class: "s-paused", Icon: "s-paused", Label: "paused"})
	}
	if q.Limiter.Closed {
		out = append(out, templates.BadgeView{Class: "s-delayed", Icon: "i-limit", Label: "limited"})
	}
	return out
}

func (s *Server) queueRow(r viewRequest, q *monitor.Queue) templates.QueueRow {
	row := templates.QueueRow{
		Name: jsonview.Visible(q.Name), URL: s.links.queue(q.Queue), Health: healthLook(q.Health), Badges: s.queueBadges(q), Reason: q.Reason,
		Spark: sparkOf(q, r.now),
	}
	if q.Prefix != s.o.Prefix {
		row.Name = jsonview.Visible(q.Qualified())
	}
	if q.Counts == nil && row.Reason == "" {
		row.Reason = "Counts unknown: " + q.Unreadable
	}
	row.Cells = []templates.Cell{
		rateCell(q), failingCell(q), oldestCell(q),
		s.countCell(q, keys.Waiting, "waiting", ""), s.countCell(q, keys.Prioritized, "prioritized", "p2"),
		s.activeCell(q), s.countCell(q, keys.Delayed, "delayed", "p1"), s.countCell(q, keys.WaitingChildren, "children", "p2"),
		s.countCell(q, keys.Completed, "completed", "p3"), s.countCell(q, keys.Failed, "failed", ""), workersCell(q),
	}
	return row
}

// cell makes a cell; field is what monitor.Queue.Field calls it.
func cell(q *monitor.Queue, field, label, class, text string, zero bool) templates.Cell {
	return templates.Cell{Label: label, Class: class, Text: text, Zero: zero, Why: field != "" && q.Field == field}
}

func rateCell(q *monitor.Queue) templates.Cell {
	if !q.Rate.Known {
		return cell(q, "", "per minute", "", words.Unknown, true)
	}
	r := finishedRate(q)
	return cell(q, "finished", "per minute", "", strings.TrimSuffix(words.PerMinute(r), "/min"), r == 0)
}

func failingCell(q *monitor.Queue) templates.Cell {
	if q.Rate.Attempts == 0 {
		return cell(q, "failing", "failing", "", words.Unknown, true)
	}
	return cell(q, "failing", "failing", "", words.Percent(q.Rate.FailingShare), q.Rate.FailingShare == 0)
}

func oldestCell(q *monitor.Queue) templates.Cell {
	if q.OldestWait <= 0 {
		return cell(q, "oldest", "oldest", "", words.Unknown, true)
	}
	return cell(q, "oldest", "oldest", "", oldest(q), false)
}

// oldest is the age of the oldest ready job in words.
func oldest(q *monitor.Queue) string {
	text := words.Duration(q.OldestWait)
	if q.OldestWaitAtLeast {
		text = "at least " + text
	}
	return text
}

func (s *Server) countCell(q *monitor.Queue, st keys.State, label, class string) templates.Cell {
	if q.Counts == nil {
		return cell(q, string(st), label, class, words.Unknown, true)
	}
	n := q.Counts[st]
	c := cell(q, string(st), label, class, words.Count(n), n == 0)
	c.URL = s.links.queue(q.Queue) + "?state=" + string(st)
	return c
}

func (s *Server) activeCell(q *monitor.Queue) templates.Cell {
	c := s.countCell(q, keys.Active, "active", "act")
	if q.Counts == nil || !q.CeilingKnown {
		return c
	}
	n := q.Counts[keys.Active]
	if q.Ceiling > 0 {
		c.Of = " / " + words.Count(q.Ceiling)
	}
	c.Meter = &templates.Meter{Class: meterClass(n, q.Ceiling), Value: n, Max: q.Ceiling}
	return c
}

// meterClass is blue below the bound and amber at it.
func meterClass(n, bound int64) string {
	if bound > 0 && n >= bound {
		return "s-delayed"
	}
	return "s-active"
}

func workersCell(q *monitor.Queue) templates.Cell {
	if !q.WorkersKnown {
		return cell(q, "workers", "workers", "p2", words.Unknown, true)
	}
	return cell(q, "workers", "workers", "p2", words.Count(q.Workers), q.Workers == 0)
}

// sparkBars is how many bars an hour has.
const sparkBars = 30

// minuteSlot is the place of a closed minute in the last hour, 59 for the newest; -1 when it has none.
func minuteSlot(m monitor.Minute, now time.Time) int {
	i := 59 - int(now.Truncate(time.Minute).Add(-time.Minute).Sub(m.Start)/time.Minute)
	if i < 0 || i > 59 {
		return -1
	}
	return i
}

// sparkOf draws what finished in the last hour, two minutes a bar.
func sparkOf(q *monitor.Queue, now time.Time) templates.Spark {
	good, bad := make([]int64, sparkBars), make([]int64, sparkBars)
	var total, last int64
	for _, m := range q.History {
		i := minuteSlot(m, now) / 2
		if i < 0 {
			continue
		}
		good[i] += m.Completed
		bad[i] += m.Failed + m.Retried
		last = m.Completed + m.Failed + m.Retried
		total += last
	}
	s := templates.Spark{Says: "Nothing finished in the last hour"}
	if total > 0 {
		s.Says = "Finished per minute, last hour: " + words.Count(total) + " in all, " + words.Count(last) + " in the last minute"
	}
	s.Good, s.Bad = chart.Spark(good, bad)
	return s
}

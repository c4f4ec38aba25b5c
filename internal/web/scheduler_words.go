package web

import (
	"slices"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/cron"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

// overdueAfter is how late a firing may be before it counts as overdue.
const overdueAfter = 5 * time.Second

// clockLayout is a time as the list of firings writes it.
const clockLayout = "Mon 2 Jan 2006, 15:04:05"

// rhythm is a scheduler's rule in words, as far as it has one.
func rhythm(f scheduled) string {
	if f.Repeat.Pattern == "" && f.Repeat.Every <= 0 {
		return "no rule that can be read"
	}
	return jsonview.Visible(f.Repeat.InWords())
}

// zoneWords name the clock a pattern is read on; intervals have none.
func zoneWords(f scheduled) string {
	switch {
	case f.Repeat.Pattern == "":
		return ""
	case f.Repeat.TZ == "":
		return "no zone: each worker’s own"
	}
	return jsonview.Visible(f.Repeat.TZ)
}

// boundWords say from when to when it fires.
func (s *Server) boundWords(f scheduled) string {
	var parts []string
	if t := f.Repeat.StartDate; !t.IsZero() {
		parts = append(parts, "from "+s.exact(t))
	}
	if t := f.Repeat.EndDate; !t.IsZero() {
		parts = append(parts, "until "+s.exact(t))
	}
	return strings.Join(parts, ", ")
}

// firingCount is how many firings there were, and of how many where there is a limit.
func firingCount(f scheduled) string {
	if f.Origin != engine.OriginBullMQ {
		return words.Unknown
	}
	total, recent := f.fired()
	limit := f.Repeat.Limit
	switch {
	case limit == nil:
		return words.Count(total)
	case f.Pending:
		return words.Count(recent) + " of " + words.Count(*limit)
	}
	return words.Count(total) + ", limit " + words.Count(*limit)
}

// fired is how often it has fired: in all, and since it was last saved, which is what a limit counts. A firing that
// nobody has taken is yet to come.
func (f scheduled) fired() (total, recent int64) {
	if f.Pending && f.waits() {
		return max(f.Iterations-1, 0), max(f.Count-1, 0)
	}
	return f.Iterations, f.Count
}

// waits reports whether the job of the current firing has not been taken.
func (f scheduled) waits() bool {
	return slices.Contains([]keys.State{keys.Delayed, keys.Waiting, keys.Prioritized}, f.current)
}

func (f scheduled) overdue(now time.Time) bool {
	return f.Pending && f.waits() && now.Sub(f.Next) > overdueAfter
}

// over says why nothing follows, "" if something does. broken is true when nobody meant it.
func (f scheduled) over(now time.Time) (why string, broken bool) {
	switch end := f.Repeat.EndDate; {
	case f.Pending:
		return "", false
	case f.Origin != engine.OriginBullMQ:
		return "No worker of BullMQ 6 or Bullpen goes on with it.", false
	case !end.IsZero() && (!end.After(now) || !f.Next.Add(f.Repeat.Every).Before(end)):
		return "Its end date has passed.", false
	case f.Repeat.Limit != nil:
		return "All its firings are done.", false
	}
	return "The job of its firing ended or was removed and none followed. Saving it again starts it anew.", true
}

func schedulerBadges(f scheduled, now time.Time) []templates.BadgeView {
	badge := func(class, icon, label string) []templates.BadgeView {
		return []templates.BadgeView{{Class: class, Icon: icon, Label: label}}
	}
	switch f.Origin {
	case engine.OriginLegacy:
		return badge("s-paused", "h-unknown", "repeatable job of an old version")
	case engine.OriginRepeatable:
		return badge("s-paused", "h-unknown", "repeatable job of BullMQ 5")
	case engine.OriginUnknown:
		return badge("s-paused", "h-unknown", "record missing")
	}
	if !f.Pending {
		if _, broken := f.over(now); broken {
			return badge("h-warn", "h-warn", "stopped")
		}
		return badge("s-paused", "h-idle", "ended")
	}
	return nil
}

// originWords say what a scheduler of another version means; "" for the usual ones.
func originWords(o engine.Origin) string {
	switch o {
	case engine.OriginLegacy:
		return "It was made by Bull or by an early BullMQ. No worker of BullMQ 6 or Bullpen goes on with it; it is shown and left alone."
	case engine.OriginRepeatable:
		return "It was made by BullMQ 5 as a repeatable job. Workers go on with it as if it were a scheduler; it is shown and left alone."
	case engine.OriginUnknown:
		return "Its record is gone from Redis, only its key is still listed. It is left alone."
	}
	return ""
}

// lastRun is the firing before the current one.
func (s *Server) lastRun(r viewRequest, q keys.Queue, f scheduled) templates.SchedulerRun {
	at, id := f.LastRun()
	if at.IsZero() || at.After(r.now) || f.Origin == engine.OriginLegacy || f.Origin == engine.OriginUnknown {
		return templates.SchedulerRun{}
	}
	run := templates.SchedulerRun{When: s.when(at, r.now)}
	if f.last == keys.Unknown {
		run.Note = "its job is no longer kept"
		return run
	}
	look := templates.StateOf(string(f.last))
	run.State, run.URL = &look, s.links.job(q, id)
	run.Note = strings.ToLower(look.Label)
	return run
}

// nextRun is the current firing: still to come, overdue, or the last there will be.
func (s *Server) nextRun(r viewRequest, q *monitor.Queue, f scheduled) templates.SchedulerRun {
	if why, broken := f.over(r.now); why != "" {
		note := "none"
		if f.Origin == engine.OriginLegacy {
			return templates.SchedulerRun{When: s.when(f.Next, r.now), Note: "as stored"}
		}
		return templates.SchedulerRun{Note: note, Why: broken}
	}
	run := templates.SchedulerRun{When: s.when(f.Next, r.now)}
	switch {
	case f.overdue(r.now):
		run.Why, run.Note = true, "overdue, "+whyLate(q, f)
	case f.current != keys.Unknown:
		look := templates.StateOf(string(f.current))
		if f.current != keys.Delayed {
			run.State, run.Note = &look, strings.ToLower(look.Label)
		}
	}
	run.URL = s.links.job(q.Queue, f.JobID)
	return run
}

// whyLate is what keeps a firing from being taken.
func whyLate(q *monitor.Queue, f scheduled) string {
	switch {
	case q.Paused:
		return "the queue is paused"
	case q.WorkersKnown && q.Workers == 0:
		return "no worker"
	case f.current == keys.Delayed:
		return "no worker looked"
	}
	return "waits for a free slot"
}

// schedulerZone is the clock of a scheduler's firings: the reader's where it has none.
func (s *Server) schedulerZone(r engine.Repeat) *time.Location {
	if r.Pattern == "" {
		return s.o.Zone
	}
	if zone, err := cron.Zone(r.TZ); err == nil {
		return zone
	}
	return time.UTC
}

// firings are the next times of a scheduler.
func (s *Server) firings(r viewRequest, f scheduled) templates.Firings {
	runs, err := f.NextRuns(r.now, firingsShown)
	out := s.firingList(f.Repeat, runs, r.now)
	switch why, _ := f.over(r.now); {
	case err != nil:
		out.None = "They cannot be computed: " + jsonview.Visible(oneLine(err)) + "."
	case why != "":
		out.None = "None. " + why
	default:
		out.None = "None."
	}
	return out
}

// firingList puts times on both clocks.
func (s *Server) firingList(rule engine.Repeat, runs []time.Time, now time.Time) templates.Firings {
	zone := s.schedulerZone(rule)
	out := templates.Firings{Zone: zone.String()}
	if own := s.o.Zone.String(); own != out.Zone {
		out.Own = own
	}
	for _, t := range runs {
		own := templates.When{ISO: t.UTC().Format(time.RFC3339Nano), Text: t.In(s.o.Zone).Format(clockLayout), Exact: s.exact(t)}
		out.Rows = append(out.Rows, templates.Firing{Clock: t.In(zone).Format(clockLayout), Own: own, At: s.when(t, now)})
	}
	return out
}

// schedulersSay tells when the next of some schedulers fires, and which need a look.
func (s *Server) schedulersSay(all []scheduled, r viewRequest) string {
	var next time.Time
	var late, stopped int64
	for _, f := range all {
		if _, broken := f.over(r.now); broken {
			stopped++
		}
		switch {
		case f.overdue(r.now):
			late++
		case f.Pending && f.Origin == engine.OriginBullMQ && f.Next.After(r.now) && (next.IsZero() || f.Next.Before(next)):
			next = f.Next
		}
	}
	var parts []string
	if late > 0 {
		parts = append(parts, words.Plural(late, "is", "are")+" overdue.")
	}
	if stopped > 0 {
		parts = append(parts, words.Count(stopped)+" stopped although nobody ended it.")
	}
	if !next.IsZero() {
		parts = append(parts, "The next fires "+s.when(next, r.now).Text+".")
	}
	return strings.Join(parts, " ")
}

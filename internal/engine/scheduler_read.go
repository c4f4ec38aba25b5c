package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"bullpen/internal/engine/scripts"
)

// Origin tells which version made a scheduler (features 1.10).
type Origin int

// The origins. Only schedulers of OriginBullMQ can be changed without doubt; legacy ones are shown and left alone.
const (
	// OriginBullMQ is a job scheduler of BullMQ 5 or 6, or of this engine.
	OriginBullMQ Origin = iota
	// OriginRepeatable is a repeatable job of BullMQ 5 with a record of its own. BullMQ 6, and this engine, go on with it
	// as if it were a scheduler; this engine keeps the data of its jobs.
	OriginRepeatable
	// OriginLegacy is a repeatable job of Bull or of an older BullMQ: its id says it all. No worker of BullMQ 6 goes on
	// with it.
	OriginLegacy
	// OriginUnknown has neither a record nor an id that says anything.
	OriginUnknown
)

// originOf tells who made a scheduler.
func originOf(id string, record map[string]string) Origin {
	_, counted := record["ic"]
	switch {
	case counted:
		return OriginBullMQ
	case legacyShape(id), len(record) == 0 && bullShape(id):
		return OriginLegacy
	case len(record) > 0:
		return OriginRepeatable
	}
	return OriginUnknown
}

// Scheduler is a job scheduler as it is stored (features 1.1).
type Scheduler struct {
	ID     string
	Origin Origin
	// Name, Data (nil = none) and Options are the template of its jobs. RawOptions are the options as stored, short names.
	Name       string
	Data       json.RawMessage
	Options    JobOptions
	RawOptions json.RawMessage
	// Repeat is the rule. What the record does not hold, HashSeed and members that no engine knows, comes from the pending
	// job.
	Repeat Repeat
	// Next is when the current firing is or was due, and JobID its job. Pending says that this job has not ended; without
	// it nothing follows, because a limit or end date was reached or the chain broke.
	Next    time.Time
	JobID   string
	Pending bool
	// Made is when that job was added, which is when the one before it was taken; the zero time unless Pending.
	Made time.Time
	// Iterations is how many firings there have been, the current one included, over all upserts. Count is the same since
	// the last upsert, which is what a limit is compared with; 0 unless Pending.
	Iterations, Count int64
	// Fields is the record as Redis holds it.
	Fields map[string]string
}

// Schedulers lists schedulers start..end (inclusive, 0-based, -1 = last) by the time of their current firing, and counts
// all. It changes nothing: entries of older versions are listed as such, by their Origin (features 1.9).
func (q *Queue) Schedulers(ctx context.Context, start, end int64, asc bool) (all []Scheduler, total int64, err error) {
	found, total, err := q.runner.Schedulers(ctx, q.target, start, end, asc)
	if err != nil {
		return nil, 0, fmt.Errorf("list schedulers of %s: %w", q.Name, err)
	}
	all = make([]Scheduler, len(found))
	for i, s := range found {
		all[i] = decodeScheduler(s)
	}
	return all, total, nil
}

// Scheduler reads one scheduler, nil if there is none.
func (q *Queue) Scheduler(ctx context.Context, id string) (*Scheduler, error) {
	found, err := q.runner.Scheduler(ctx, q.target, id)
	if err != nil {
		return nil, fmt.Errorf("read scheduler %s of %s: %w", id, q.Name, err)
	}
	if found == nil {
		return nil, nil
	}
	s := decodeScheduler(*found)
	return &s, nil
}

// CountSchedulers returns how many schedulers the queue has, entries of older versions included.
func (q *Queue) CountSchedulers(ctx context.Context) (int64, error) {
	n, err := q.client.ZCard(ctx, q.Repeat()).Result()
	if err != nil {
		return 0, fmt.Errorf("count schedulers of %s: %w", q.Name, err)
	}
	return n, nil
}

func decodeScheduler(found scripts.Scheduler) Scheduler {
	f := found.Record
	s := Scheduler{
		ID: found.ID, Origin: originOf(found.ID, f), Fields: f,
		Name: f["name"], Data: optional(f, "data"), RawOptions: optional(f, "opts"),
		Next: found.Next, JobID: iterationID(found.ID, found.Next),
		Pending: found.JobOpts != "", Iterations: fieldInt(f["ic"]), Made: madeAt(found.JobOpts),
	}
	s.Options, _ = decodeOptions(s.RawOptions) // what cannot be read is no option
	var options struct{ Repeat json.RawMessage }
	if json.Unmarshal([]byte(found.JobOpts), &options) == nil {
		s.Repeat, s.Count, _ = decodeRepeat(options.Repeat)
	}
	s.Repeat.overrule(f)
	if s.Origin == OriginLegacy {
		s.Name, s.Repeat = decodeLegacy(found.ID)
	}
	return s
}

// decodeLegacy reads name:id:endDate:tz:pattern, and Bull's name:id:endDate:milliseconds.
func decodeLegacy(id string) (name string, r Repeat) {
	parts := strings.SplitN(id, ":", 5)
	rule := parts[len(parts)-1]
	r.EndDate = fieldTime(parts[2])
	if digits(rule) {
		r.Every = millis(field(rule))
	} else {
		r.Pattern = rule
	}
	if len(parts) == 5 {
		r.TZ = parts[3]
	}
	return parts[0], r
}

// overrule takes what a scheduler's record says.
func (r *Repeat) overrule(record map[string]string) {
	*r = Repeat{HashSeed: r.HashSeed, Extra: r.Extra, Pattern: record["pattern"], TZ: record["tz"]}
	r.Every = millis(field(record["every"]))
	if r.Every != 0 {
		r.Offset = millis(field(record["offset"]))
	}
	r.StartDate, r.EndDate = fieldTime(record["startDate"]), fieldTime(record["endDate"])
	if text, ok := record["limit"]; ok {
		limit := fieldInt(text)
		r.Limit = &limit
	}
}

// PublicOptions returns the template's options as a JSON object with BullMQ's public names; {} if it has none.
func (s Scheduler) PublicOptions() json.RawMessage {
	public, err := publicOptions(s.RawOptions)
	if err != nil {
		return json.RawMessage("{}")
	}
	return public
}

// NextRuns lists the next n firings as seen from now, the pending one first, even if it is overdue. It is empty when
// nothing will fire. The error says what is wrong with pattern or zone.
func (s Scheduler) NextRuns(now time.Time, n int) ([]time.Time, error) {
	if !s.Pending || n < 1 {
		return nil, nil
	}
	runs := []time.Time{s.Next}
	return s.Repeat.follow(runs, s.Count, now, n)
}

// PreviewScheduler lists the first n firings that UpsertScheduler would lead to now, for an id that is new. It is empty
// when nothing would fire; the errors are those of UpsertScheduler.
func (q *Queue) PreviewScheduler(id string, r Repeat, n int) ([]time.Time, error) {
	now := q.clock()
	r = r.withDefaults(q.Name, id)
	if err := r.validate(now); err != nil {
		return nil, err
	}
	first, ok, err := r.first(now)
	if err != nil || !ok || n < 1 || !r.allows(1) || !r.EndDate.IsZero() && first.After(r.EndDate) {
		return nil, err
	}
	return r.follow([]time.Time{first}, 1, now, n)
}

// first is the first firing from now on, as upsertScheduler.lua and UpsertScheduler find it.
func (r Repeat) first(now time.Time) (time.Time, bool, error) {
	now = now.Truncate(time.Millisecond)
	switch {
	case r.Pattern != "" && !r.Immediately:
		return r.next(now)
	case r.Every == 0 || r.StartDate.IsZero() && r.Offset == 0:
		return now, true, nil
	case r.StartDate.After(now):
		return r.StartDate, true, nil
	case !r.StartDate.IsZero():
		return now, true, nil
	}
	return r.after(time.Time{}, now), true, nil
}

// follow appends firings until there are n or no more.
func (r Repeat) follow(runs []time.Time, count int64, now time.Time, n int) ([]time.Time, error) {
	if r.Every != 0 && r.Offset == 0 {
		r.Offset = time.Duration(runs[0].UnixMilli()%r.Every.Milliseconds()) * time.Millisecond
	}
	for len(runs) < n {
		count++
		last := runs[len(runs)-1]
		var next time.Time
		ok := true
		var err error
		if r.Every != 0 {
			next = r.after(last, now)
		} else if next, ok, err = r.next(last); err == nil && ok && next.Before(now) {
			next, ok, err = r.next(now)
		}
		if err != nil {
			return nil, err
		}
		if !ok || !r.allows(count) || !r.EndDate.IsZero() && next.After(r.EndDate) {
			break
		}
		runs = append(runs, next)
	}
	return runs, nil
}

// FireScheduler adds one job of a scheduler's template now. It is an ordinary job: the schedule stays as it is. The
// result is nil if there is no such scheduler; ErrLegacyScheduler if it has no template.
func (q *Queue) FireScheduler(ctx context.Context, id string) (*Job, error) {
	s, err := q.Scheduler(ctx, id)
	if err != nil || s == nil {
		return nil, err
	}
	if s.Origin != OriginBullMQ {
		return nil, fmt.Errorf("fire scheduler %s of %s: %w", id, q.Name, ErrLegacyScheduler)
	}
	o := s.Options
	o.Deduplication = nil // schedulers do not claim it either
	return q.Add(ctx, s.Name, s.Data, o)
}

package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

const (
	// Kept is about how many entries the log holds; older ones go.
	Kept = 10_000
	// recordLimit bounds how long an act waits until it is recorded.
	recordLimit = 2 * time.Second
	// batch is how many entries one command reads, mostRead how many one question may look at.
	batch    = 250
	mostRead = 2000
	field    = "entry"
)

// ErrCursor means that a place in the log does not read like one.
var ErrCursor = errors.New("not a place in the activity log")

// Options configure New.
type Options struct {
	// Client talks to the Redis that holds the queues. Required; it stays the caller's to close.
	Client redis.UniversalClient
	// ReadOnly keeps nothing; what others kept can still be read.
	ReadOnly bool
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// Log is the stream. It is safe for concurrent use, also by several processes.
type Log struct {
	client   redis.UniversalClient
	readOnly bool
	log      *slog.Logger
}

// New returns the log. It does not touch Redis.
func New(o Options) (*Log, error) {
	if o.Client == nil {
		return nil, errors.New("audit: Client is required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Log{client: o.Client, readOnly: o.ReadOnly, log: o.Logger.With("component", "audit")}, nil
}

// Record keeps an entry. It waits at most 2 s, also when ctx ends before: an act that was done must be found. A failure
// is logged. What was only asked is not kept.
func (l *Log) Record(ctx context.Context, e Entry) {
	if l.readOnly || e.Outcome == Asked {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordLimit)
	defer cancel()
	text, err := json.Marshal(e.bounded())
	if err == nil {
		err = l.client.XAdd(ctx, &redis.XAddArgs{
			Stream: keys.Audit, MaxLen: Kept, Approx: true, Values: []any{field, string(text)},
		}).Err()
	}
	if err != nil {
		l.log.ErrorContext(ctx, "cannot keep what was done", "who", e.Who, "action", e.Action, "queue", e.Queue, "err", err)
	}
}

// Query chooses entries.
type Query struct {
	// Before is the ID of an entry; the answer begins with the next older one. Empty begins with the newest.
	Before string
	// After is the ID of an entry; the answer ends with the next newer one. Where there are fewer than Limit newer ones
	// the answer is the newest. Before must then be empty.
	After string
	// Limit is how many entries are wanted, 1..250.
	Limit int
	// Match chooses entries; nil takes all.
	Match func(Entry) bool
}

// Page is an answer, newest entry first.
type Page struct {
	Entries []Entry
	// Next is what Before must be to go on; empty at the end of the log.
	Next string
	// Read is how many entries were looked at, at most 2,000.
	Read int
}

// place is an entry ID of a stream.
var place = regexp.MustCompile(`^[0-9]{1,20}-[0-9]{1,20}$`)

// Read answers a query. It looks at no more than 2,000 entries; Next then leads on although fewer than Limit were found.
func (l *Log) Read(ctx context.Context, q Query) (Page, error) {
	for _, id := range []string{q.Before, q.After} {
		if id != "" && !place.MatchString(id) {
			return Page{}, ErrCursor
		}
	}
	if q.After != "" {
		return l.readNewer(ctx, q)
	}
	var p Page
	end := "+"
	for p.Next = q.Before; p.Read < mostRead; {
		if p.Next != "" {
			end = "(" + p.Next
		}
		found, err := l.client.XRevRangeN(ctx, keys.Audit, end, "-", batch).Result()
		if err != nil {
			return Page{}, fmt.Errorf("read activity: %w", err)
		}
		for _, m := range found {
			p.Read++
			p.Next = m.ID
			if e := parse(m); q.Match == nil || q.Match(e) {
				p.Entries = append(p.Entries, e)
				if len(p.Entries) == q.Limit {
					return p, nil
				}
			}
		}
		if len(found) < batch {
			p.Next = ""
			return p, nil
		}
	}
	return p, nil
}

// readNewer goes from an entry towards the newest.
func (l *Log) readNewer(ctx context.Context, q Query) (Page, error) {
	var p Page
	for from := q.After; p.Read < mostRead; {
		found, err := l.client.XRangeN(ctx, keys.Audit, "("+from, "+", batch).Result()
		if err != nil {
			return Page{}, fmt.Errorf("read activity: %w", err)
		}
		for _, m := range found {
			p.Read++
			from = m.ID
			e := parse(m)
			if q.Match != nil && !q.Match(e) {
				continue
			}
			p.Entries = append(p.Entries, e)
			if len(p.Entries) == q.Limit {
				slices.Reverse(p.Entries)
				p.Next = p.Entries[q.Limit-1].ID
				return p, nil
			}
		}
		if len(found) < batch {
			break
		}
	}
	q.After = ""
	return l.Read(ctx, q)
}

// parse reads an entry; one that somebody else wrote shows what can be known of it.
func parse(m redis.XMessage) Entry {
	text, _ := m.Values[field].(string)
	var e Entry
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		e = Entry{Message: "This entry cannot be read.", Outcome: Failed}
	}
	if e.At.IsZero() {
		ms, _, _ := strings.Cut(m.ID, "-")
		if n, err := strconv.ParseInt(ms, 10, 64); err == nil {
			e.At = time.UnixMilli(n)
		}
	}
	e.ID = m.ID
	return e
}

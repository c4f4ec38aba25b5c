package monitor

import (
	"context"
	"errors"
	"fmt"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// probe is what Redis says about a queue at one moment: the counters that need no stream, then the stream itself. The
// order matters: what the counters include and the stream reader has not seen is at most the unread entries.
type probe struct {
	completed, failed, added int64
	// exists says the stream is there; the rest is about it.
	exists  bool
	length  int64
	entries int64 // entries-added, 0 where the server does not tell (before Redis 7)
	first   string
	last    string
}

// probeCmds are the commands of a probe in a pipeline.
type probeCmds struct {
	completed, failed, added *redis.StringCmd
	stream                   *redis.XInfoStreamCmd
}

func queueProbe(ctx context.Context, pipe redis.Pipeliner, q keys.Queue) probeCmds {
	return probeCmds{
		completed: pipe.HGet(ctx, q.MetricsCompleted(), "count"),
		failed:    pipe.HGet(ctx, q.MetricsFailed(), "count"),
		added:     pipe.Get(ctx, q.ID()),
		stream:    pipe.XInfoStream(ctx, q.Events()),
	}
}

func (c probeCmds) result() (p probe, err error) {
	for _, n := range []struct {
		cmd *redis.StringCmd
		at  *int64
	}{{c.completed, &p.completed}, {c.failed, &p.failed}, {c.added, &p.added}} {
		if *n.at, err = n.cmd.Int64(); err != nil && !errors.Is(err, redis.Nil) {
			return p, fmt.Errorf("reading counters: %w", err)
		}
	}
	info, err := c.stream.Result()
	if err != nil {
		if noSuchKey(err) {
			return p, nil
		}
		return p, fmt.Errorf("reading stream information: %w", err)
	}
	p.exists, p.length, p.entries = true, info.Length, info.EntriesAdded
	p.first, p.last = info.FirstEntry.ID, info.LastGeneratedID
	return p, nil
}

func noSuchKey(err error) bool { return redis.HasErrorPrefix(err, "no such key") }

// begin is the state of a reader that starts at the end of the stream: what happened before is not counted.
func begin(p probe) readerState {
	s := readerState{
		id: "0-0", added: p.added,
		completed: finished{base: p.completed},
		failed:    finished{base: p.failed},
	}
	if p.exists {
		s.id, s.entries = p.last, knownEntries(p)
	}
	return s
}

func knownEntries(p probe) int64 {
	if p.entries == 0 && p.length > 0 {
		return -1
	}
	return p.entries
}

// settled is what a probe adds to what was counted.
type settled struct {
	// extra is what the events alone do not show: adds, and finished jobs whose events were lost.
	extra EventTotals
	// lost is how many entries were trimmed before they were read.
	lost int64
}

// settle compares the state with a probe taken after reading up to s.id. fresh was counted since the last call.
//
// Where the server numbers entries, the loss is exact once the reader is at the end of the stream and never too high
// before; elsewhere a first entry newer than the last one read counts as one lost.
func (s *readerState) settle(p probe, fresh EventTotals) settled {
	var out settled
	unread := int64(-1) // unknown
	switch {
	case !p.exists:
		s.entries, unread = 0, 0
	case p.last == s.id:
		if e := knownEntries(p); e >= 0 && s.entries >= 0 && e >= s.entries {
			out.lost = e - s.entries
		}
		s.entries, unread = knownEntries(p), 0
	case p.entries == 0:
		if p.first != "" && laterID(p.first, s.id) {
			out.lost = 1
		}
	case s.entries >= 0 && p.entries >= s.entries:
		if gone := p.entries - p.length; gone > s.entries {
			out.lost, s.entries = gone-s.entries, gone
		}
		unread = p.entries - s.entries
	default:
		s.entries = -1 // the stream was deleted and begun anew: numbered again once read to its end
	}
	out.extra.Completed = s.completed.settle(p.completed, fresh.Completed, unread)
	out.extra.FailedExhausted = s.failed.settle(p.failed, fresh.Failed(), unread)
	out.extra.Added = uint64(growth(s.added, p.added))
	s.added = p.added
	return out
}

// settle returns how many more jobs finished than were counted. counted events arrived since the last call; at most
// unread entries were not seen yet (-1 = unknown).
func (f *finished) settle(count int64, counted uint64, unread int64) (missed uint64) {
	f.since += int64(counted)
	if unread < 0 {
		return 0
	}
	if surplus := growth(f.base, count) - f.since - unread; surplus > 0 {
		f.since += surplus
		missed = uint64(surplus)
	}
	if unread == 0 {
		f.base, f.since = count, 0
	}
	return missed
}

// growth is how much a counter grew; one that fell was reset and grew by what it shows.
func growth(from, to int64) int64 {
	if to < from {
		return to
	}
	return to - from
}

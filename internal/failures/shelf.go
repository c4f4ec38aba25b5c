package failures

import (
	"context"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/fold"
)

// rowsAtOnce is how many rows one read takes: a few milliseconds of Redis's time.
const rowsAtOnce = 250

// shelf holds the newest failed jobs, or dead letters, of one queue.
type shelf struct {
	queue keys.Queue
	list  Lister
	depth int // how many jobs it may hold
	total int64
	jobs  map[string]job // by id
	// kinds are those of the jobs, each once.
	kinds map[kind]*known
	// newest and total are those of the last time; while they are the same, nothing has changed.
	newest engine.Ended
	// behind says that the last pass ended before all jobs within depth were read.
	behind bool
	err    error
}

// job is one failed job. There can be many, so it holds little.
type job struct {
	at    int64 // when it failed, ms
	of    *known
	final bool
}

// known is a kind with its name and one of its jobs.
type known struct {
	kind
	id     string
	sample Sample
}

// sync reads what changed since the last time.
func (s *shelf) sync(ctx context.Context, open func(keys.Queue) (*engine.Queue, error), b *budget) error {
	q, err := open(s.queue)
	if err != nil {
		return err
	}
	head, total, err := s.list(ctx, q, 1)
	if err != nil {
		return err
	}
	var newest engine.Ended
	if len(head) > 0 {
		newest = head[0]
	}
	within := min(int64(s.depth), total)
	if s.jobs != nil && total == s.total && newest == s.newest && !s.behind && int64(len(s.jobs)) >= within {
		return nil
	}
	listed, total, err := s.list(ctx, q, int64(s.depth))
	if err != nil {
		return err
	}
	s.total = total
	s.keep(listed)
	s.newest = newest
	return s.read(ctx, q, listed, b)
}

// keep drops the jobs that are no longer listed as they were, and kinds that have no job any more.
func (s *shelf) keep(listed []engine.Ended) {
	jobs, kinds := make(map[string]job, len(listed)), map[kind]*known{}
	for _, e := range listed {
		if j, ok := s.jobs[e.ID]; ok && j.at == e.At {
			jobs[e.ID] = j
			kinds[j.of.kind] = j.of
		}
	}
	s.jobs, s.kinds = jobs, kinds
}

// read reads the listed jobs that are not known yet, the newest first.
func (s *shelf) read(ctx context.Context, q *engine.Queue, listed []engine.Ended, b *budget) error {
	s.behind = true
	var fresh []engine.Ended
	for _, e := range listed {
		if _, ok := s.jobs[e.ID]; !ok {
			fresh = append(fresh, e)
		}
	}
	for len(fresh) > 0 {
		if b.spent() {
			return nil
		}
		some := fresh[:min(len(fresh), rowsAtOnce, b.jobs)]
		fresh = fresh[len(some):]
		ids := make([]string, len(some))
		for i, e := range some {
			ids[i] = e.ID
		}
		rows, err := q.RowsByID(ctx, ids)
		if err != nil {
			return err
		}
		b.jobs -= len(rows)
		for i, r := range rows {
			s.jobs[r.ID] = s.job(r, some[i].At)
		}
	}
	s.behind = false
	return nil
}

func (s *shelf) job(r engine.Row, at int64) job {
	k := kind{name: r.Name, text: fold.Error(r.FailedReason)}
	of := s.kinds[k]
	if of == nil {
		of = &known{kind: k, id: fold.ID(k.name, k.text)}
		s.kinds[k] = of
	}
	if when := time.UnixMilli(at); when.After(of.sample.At) {
		of.sample = Sample{Queue: s.queue, ID: r.ID, Error: r.FailedReason, At: when}
	}
	return job{at: at, of: of, final: !r.Missing && r.AttemptsMade < r.Attempts}
}

// report sums the shelf up.
func (s *shelf) report(now time.Time) QueueReport {
	r := QueueReport{Queue: s.queue, Total: s.total, Seen: int64(len(s.jobs)), Err: s.err}
	parts := map[*known]*part{}
	for _, j := range s.jobs {
		p := parts[j.of]
		if p == nil {
			p = &part{kind: j.of.kind, id: j.of.id, sample: j.of.sample}
			parts[j.of] = p
		}
		p.count(j, now)
		if at := time.UnixMilli(j.at); r.Since.IsZero() || at.Before(r.Since) {
			r.Since = at
		}
	}
	for _, p := range parts {
		r.parts = append(r.parts, *p)
	}
	return r
}

// count adds a job.
func (p *part) count(j job, now time.Time) {
	at := time.UnixMilli(j.at)
	p.jobs++
	if j.final {
		p.final++
	}
	if ago := now.Sub(at); ago >= 0 && ago < Hours*time.Hour {
		p.hours[Hours-1-int(ago/time.Hour)]++
	}
	if p.first.IsZero() || at.Before(p.first) {
		p.first = at
	}
	if at.After(p.last) {
		p.last = at
	}
}

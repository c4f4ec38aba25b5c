package livepolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/redis/go-redis/v9"
)

// Errors a caller may test with errors.Is.
var (
	// ErrOpen means that another proposal waits for a decision.
	ErrOpen = errors.New("another proposal is open")
	// ErrNotOpen means that the proposal was decided meanwhile, or never was.
	ErrNotOpen = errors.New("the proposal is not open")
	// ErrSamePerson means that the proposer may not approve where two people have to agree.
	ErrSamePerson = errors.New("somebody else has to approve")
	// ErrNoChange means that the proposal changes nothing.
	ErrNoChange = errors.New("nothing would change")
	// ErrNoRevision means that the record does not reach back to the revision.
	ErrNoRevision = errors.New("there is no record of that revision")
	// ErrNoReason means that the proposal does not say why.
	ErrNoReason = errors.New("a change needs a reason")
	// ErrInvalid means that the policy as a whole would not be valid; the wrapping *InvalidError has the findings.
	ErrInvalid = errors.New("the policy is not valid")
)

// InvalidError lists what is wrong with the policy that a change would make.
type InvalidError struct{ Problems []policy.Problem }

func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}

// Is makes every InvalidError match ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// Options configure New.
type Options struct {
	// Client talks to the Redis that holds the queues. Required; it stays the caller's to close.
	Client redis.UniversalClient
	// File returns the policy of a queue as the configuration has it, unset fields unset, and what people call that
	// configuration ("bullpen.yaml"). Required.
	File func(keys.Queue) (p policy.Policy, name string)
	// Queue opens the engine's queue, to pause and to resume it. Required.
	Queue func(keys.Queue) (*engine.Queue, error)
	// TwoPeople says that whoever proposed a change may not approve it.
	TwoPeople bool
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Store keeps the records of live policies in Redis. It is safe for concurrent use, also by several processes.
type Store struct{ o Options }

// New validates o. It does not touch Redis.
func New(o Options) (*Store, error) {
	if o.Client == nil || o.File == nil || o.Queue == nil {
		return nil, errors.New("live policy: Client, File and Queue are required")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Store{o: o}, nil
}

// TwoPeople reports whether whoever proposed a change may not approve it.
func (s *Store) TwoPeople() bool { return s.o.TwoPeople }

// File returns the policy of a queue as the configuration has it, unset fields unset, and that configuration's name.
func (s *Store) File(q keys.Queue) (p policy.Policy, name string) { return s.o.File(q) }

// Read returns the record of a queue, an empty one if its policy was never changed.
func (s *Store) Read(ctx context.Context, q keys.Queue) (*Record, error) {
	return Read(ctx, s.o.Client, q)
}

// Read is Store.Read for whoever has no store.
func Read(ctx context.Context, c redis.UniversalClient, q keys.Queue) (*Record, error) {
	text, err := c.Get(ctx, q.LivePolicy()).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("read live policy of %s: %w", q.Name, err)
	}
	return decode(text)
}

// Found reads what the queue's meta hash holds of its policy.
func (s *Store) Found(ctx context.Context, q keys.Queue) (Found, error) {
	found, err := readMeta(ctx, s.o.Client, q)
	if err != nil {
		return Found{}, fmt.Errorf("read settings of %s: %w", q.Name, err)
	}
	return found, nil
}

// Change is what somebody proposes.
type Change struct {
	By, Why string
	// Values are the settings that change; nil fields stay as they are.
	Values Values
	// Pause pauses (true) or resumes (false) the queue; nil leaves it.
	Pause *bool
}

// Propose opens a proposal. ErrOpen, ErrNoReason, ErrNoChange or an *InvalidError refuse it.
func (s *Store) Propose(ctx context.Context, q keys.Queue, c Change) (*Proposal, error) {
	paused, err := s.isPaused(ctx, q)
	if err != nil {
		return nil, err
	}
	if c.Pause != nil && *c.Pause == paused {
		c.Pause = nil
	}
	return s.open(ctx, q, func(r *Record) (Proposal, error) {
		return Proposal{By: c.By, Why: c.Why, Values: r.Live.With(c.Values), Pause: c.Pause}, nil
	})
}

// Rollback opens a proposal that brings the values of a revision back, 0 for those of the file. ErrNoRevision, and the
// errors of Propose, refuse it.
func (s *Store) Rollback(ctx context.Context, q keys.Queue, by, why string, revision int64) (*Proposal, error) {
	paused, err := s.isPaused(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, q, func(r *Record) (Proposal, error) {
		values, ok := r.At(revision)
		if !ok {
			return Proposal{}, ErrNoRevision
		}
		p := Proposal{By: by, Why: why, Values: values, Pause: r.pauseAt(revision), RollbackTo: &revision}
		if p.Pause != nil && *p.Pause == paused {
			p.Pause = nil
		}
		return p, nil
	})
}

func (s *Store) isPaused(ctx context.Context, q keys.Queue) (bool, error) {
	queue, err := s.o.Queue(q)
	if err != nil {
		return false, err
	}
	return queue.IsPaused(ctx)
}

// open makes a proposal the open one.
func (s *Store) open(ctx context.Context, q keys.Queue, build func(*Record) (Proposal, error)) (*Proposal, error) {
	r, err := s.update(ctx, q, func(r *Record, found Found) (meta, error) {
		if r.Open != nil {
			return nil, ErrOpen
		}
		p, err := build(r)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(p.Why) == "" {
			return nil, ErrNoReason
		}
		file, _ := s.o.File(q)
		if err := check(p.Values.Over(file)); err != nil {
			return nil, err
		}
		p.Changes = Differences(r.Effect(p.Values, file, found))
		if p.Pause != nil {
			p.Changes = append(p.Changes, Difference{"paused", yesNo(!*p.Pause), yesNo(*p.Pause)})
		}
		if len(p.Changes) == 0 {
			return nil, ErrNoChange
		}
		r.Last++
		p.Number, p.At = r.Last, s.o.Clock().UTC()
		r.Open = &p
		return nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("propose a policy for %s: %w", q.Name, err)
	}
	return r.Open, nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// check finds errors; warnings do not keep a policy from being used.
func check(p policy.Policy) error {
	var e InvalidError
	for _, found := range p.Validate() {
		if !found.Warning {
			e.Problems = append(e.Problems, found)
		}
	}
	if len(e.Problems) > 0 {
		return &e
	}
	return nil
}

// Approve makes the open proposal live. ErrNotOpen if number is not the open one, ErrSamePerson if two people have to
// agree and by made it, an *InvalidError if the file has changed so that the whole is not valid any more.
func (s *Store) Approve(ctx context.Context, q keys.Queue, number int64, by string) (*Record, error) {
	undo, err := s.pauseFirst(ctx, q, number, by)
	if err != nil {
		return nil, fmt.Errorf("approve proposal %d for %s: %w", number, q.Name, err)
	}
	file, _ := s.o.File(q)
	var before Values
	r, err := s.update(ctx, q, func(r *Record, found Found) (meta, error) {
		if err := s.mayApprove(r, number, by); err != nil {
			return nil, err
		}
		if err := check(r.Open.Values.Over(file)); err != nil {
			return nil, err
		}
		before = r.Live
		r.decide(Approved, by, "", s.o.Clock().UTC())
		return r.writeMeta(before, file, found), nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("approve proposal %d for %s: %w", number, q.Name, err), undo(ctx))
	}
	return r, s.shortenWindow(ctx, q, r.Live.Over(file).Limiter, before.Over(file).Limiter)
}

func (s *Store) mayApprove(r *Record, number int64, by string) error {
	switch {
	case r.Open == nil || r.Open.Number != number:
		return ErrNotOpen
	case s.o.TwoPeople && r.Open.By == by:
		return ErrSamePerson
	}
	return nil
}

// pauseFirst pauses or resumes the queue if the proposal says so. This comes before the record is written: to repeat an
// approval that was interrupted does no harm, an approval that did not do what it says would.
func (s *Store) pauseFirst(ctx context.Context, q keys.Queue, number int64, by string) (undo func(context.Context) error, err error) {
	undo = func(context.Context) error { return nil }
	r, err := s.Read(ctx, q)
	if err != nil {
		return undo, err
	}
	if err := s.mayApprove(r, number, by); err != nil || r.Open.Pause == nil {
		return undo, err
	}
	queue, err := s.o.Queue(q)
	if err != nil {
		return undo, err
	}
	do, undo := queue.Pause, queue.Resume
	if !*r.Open.Pause {
		do, undo = undo, do
	}
	return undo, do(ctx)
}

// shortenWindow lets a new limiter count without waiting for the end of a longer window of the old one.
func (s *Store) shortenWindow(ctx context.Context, q keys.Queue, after, before policy.Limiter) error {
	if after == before || after.Max == 0 {
		return nil
	}
	queue, err := s.o.Queue(q)
	if err != nil {
		return err
	}
	if err := queue.ShortenRateLimitWindow(ctx, after.Duration); err != nil {
		return fmt.Errorf("the change is live, but %w", err)
	}
	return nil
}

// Reject closes the open proposal and changes nothing. ErrNotOpen if number is not the open one.
func (s *Store) Reject(ctx context.Context, q keys.Queue, number int64, by, note string) (*Record, error) {
	r, err := s.update(ctx, q, func(r *Record, _ Found) (meta, error) {
		if r.Open == nil || r.Open.Number != number {
			return nil, ErrNotOpen
		}
		r.decide(Rejected, by, note, s.o.Clock().UTC())
		return nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("reject proposal %d for %s: %w", number, q.Name, err)
	}
	return r, nil
}

// Lifted tells the workers of all replicas that a rate limit of the queue was lifted by hand.
func (s *Store) Lifted(ctx context.Context, q keys.Queue) error {
	if err := s.o.Client.HIncrBy(ctx, keys.LiveIndex(q.Prefix), q.LiftedField(), 1).Err(); err != nil {
		return fmt.Errorf("tell the workers of %s: %w", q.Name, err)
	}
	return nil
}

// tries bounds how often a transaction is repeated because somebody else wrote the record.
const tries = 10

// update changes a record, and with it the queue's meta and the index, in one transaction. change may be called more
// than once; its error leaves everything as it is.
func (s *Store) update(ctx context.Context, q keys.Queue, change func(*Record, Found) (meta, error)) (r *Record, err error) {
	once := func(tx *redis.Tx) error {
		var found Found
		if r, found, err = load(ctx, tx, q); err != nil {
			return err
		}
		was := r.Revision
		writes, err := change(r, found)
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, q.LivePolicy(), r.encode(), 0)
			if r.Revision != was {
				p.HSet(ctx, keys.LiveIndex(q.Prefix), q.Name, r.Revision)
			}
			writes.send(ctx, p, q)
			return nil
		})
		return err
	}
	for range tries {
		if err = s.o.Client.Watch(ctx, once, q.LivePolicy()); !errors.Is(err, redis.TxFailedErr) {
			break
		}
	}
	return r, cmp.Or(err, ctx.Err())
}

func load(ctx context.Context, tx *redis.Tx, q keys.Queue) (*Record, Found, error) {
	text, err := tx.Get(ctx, q.LivePolicy()).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, Found{}, err
	}
	found, err := readMeta(ctx, tx, q)
	if err != nil {
		return nil, Found{}, err
	}
	r, err := decode(text)
	return r, found, err
}

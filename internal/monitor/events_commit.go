package monitor

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// followerScripts are the scripts of the followers; each file says what it does.
type followerScripts struct{ heartbeat, lease, release, commit *redis.Script }

func newFollowerScripts() followerScripts {
	load := func(name string) *redis.Script {
		text, err := luaFiles.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // embedded: cannot be missing
		}
		return redis.NewScript(string(text))
	}
	return followerScripts{load("heartbeat"), load("lease"), load("release"), load("commit")}
}

// totalsTTL is how long totals outlive the last reader of their queue, in seconds: 30 days.
const totalsTTL = 30 * 24 * 3600

// Answers of commit.lua.
const (
	commitDone     = 1
	commitNotOurs  = 0
	commitOutdated = -1
)

// commit is a write of totals that is under way. It is repeated unchanged until it is known to have happened, so a
// lost answer counts nothing twice.
type commit struct {
	delta EventTotals
	state readerState
}

// commitDue commits the streams that have something to write.
func (r *reader) commitDue(ctx context.Context, now time.Time) error {
	return r.commit(ctx, r.pick(func(s *stream) bool {
		return s.counter != nil && (s.unsettled > 0 || s.pending != nil || now.Sub(s.committed) >= r.o.pace.idle)
	}))
}

// commit settles what was counted and adds it to the totals, in Redis or, read-only, in memory.
func (r *reader) commit(ctx context.Context, streams []*stream) error {
	var errs []error
	for chunk := range slices.Chunk(streams, maxBatch) {
		errs = append(errs, r.settle(ctx, chunk), r.write(ctx, chunk))
	}
	return errors.Join(errs...)
}

// settle turns what was counted into pending commits.
func (r *reader) settle(ctx context.Context, streams []*stream) error {
	streams = slices.DeleteFunc(slices.Clone(streams), func(s *stream) bool { return s.pending != nil })
	if len(streams) == 0 {
		return nil
	}
	pipe := r.o.client.Pipeline()
	probes := make([]probeCmds, len(streams))
	for i, s := range streams {
		probes[i] = queueProbe(ctx, pipe, s.queue)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	var errs []error
	for i, s := range streams {
		p, err := probes[i].result()
		if err != nil {
			errs = append(errs, fmt.Errorf("settling %s: %w", s.queue.Qualified(), err))
			continue
		}
		r.settleOne(s, p)
	}
	return errors.Join(errs...)
}

func (r *reader) settleOne(s *stream, p probe) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.read.entries >= 0 {
		s.read.entries += s.unsettled
	}
	s.unsettled = 0
	out := s.read.settle(p, s.counter.fresh)
	if out.lost > 0 {
		s.stat.Lost += uint64(out.lost)
		s.counter.forgetAll()
	}
	delta := s.counter.fresh
	delta.add(out.extra)
	s.counter.fresh = EventTotals{}
	s.pending = &commit{delta: delta, state: s.read}
}

// write carries out the pending commits.
func (r *reader) write(ctx context.Context, streams []*stream) error {
	if r.o.readOnly {
		for _, s := range streams {
			r.written(s, commitDone)
		}
		return nil
	}
	answers, err := r.writeAll(ctx, streams)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err := r.scripts.commit.Load(ctx, r.o.client).Err(); err != nil {
			return fmt.Errorf("loading the commit script: %w", err)
		}
		answers, err = r.writeAll(ctx, streams)
	}
	for i, s := range streams {
		if s.pending != nil && answers[i] != nil {
			r.written(s, *answers[i])
		}
	}
	if err != nil {
		return fmt.Errorf("writing totals: %w", err)
	}
	return nil
}

// writeAll runs the commit script for each pending commit. The answer of one that failed is nil, and the error one of
// theirs.
func (r *reader) writeAll(ctx context.Context, streams []*stream) (answers []*int64, err error) {
	pipe := r.o.client.Pipeline()
	cmds := make([]*redis.Cmd, len(streams))
	for i, s := range streams {
		if s.pending != nil {
			cmds[i] = r.scripts.commit.EvalSha(ctx, pipe, []string{leaseKey(s.queue), totalsKey(s.queue)}, s.commitArgs(r.replica)...)
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	answers = make([]*int64, len(streams))
	for i, cmd := range cmds {
		if cmd == nil {
			continue
		}
		n, e := cmd.Int64()
		if e != nil {
			err = e
			continue
		}
		answers[i] = &n
	}
	return answers, err
}

// commitArgs are the ARGV of commit.lua. The first commit writes every counter, so that each exists at 0.
func (s *stream) commitArgs(replica string) []any {
	c := s.pending
	var pairs []any
	for _, f := range totalFields() {
		if n := *f.of(&c.delta); n > 0 || c.state.seq == 0 {
			pairs = append(pairs, f.name, n)
		}
	}
	args := append([]any{replica, c.state.seq, totalsTTL, len(pairs) / 2}, pairs...)
	args = append(args, "id", c.state.id)
	for _, f := range c.state.fields() {
		args = append(args, f.name, *f.at)
	}
	return args
}

// written takes the answer to the pending commit of a stream.
func (r *reader) written(s *stream, answer int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.pending == nil {
		return
	}
	if answer != commitDone {
		r.o.logger.Info("another replica reads the events now", "component", "events", "queue", s.queue.Qualified())
		s.drop()
		return
	}
	s.totals.add(s.pending.delta)
	s.known, s.pending, s.committed = true, nil, r.o.clock()
	s.read.seq++
}

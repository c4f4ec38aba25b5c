package main

import (
	"context"
	"errors"
	"fmt"

	"bullpen/internal/engine"
)

// errRefused ends a replay that left some letters where they were.
var errRefused = errors.New("replay: some dead letters were refused")

// replay puts the originals of dead letters back to waiting.
func (p *program) replay(ctx context.Context, args []string) error {
	set, flags := p.commonFlags("replay")
	words, err := p.parse(set, args, -1)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return usagef("replay: it takes QUEUE [ID…], where QUEUE is a dead-letter queue")
	}
	c, err := p.configure(flags)
	if err != nil {
		return err
	}
	id, err := c.QueueID(words[0])
	if err != nil {
		return usagef("replay: queue %q: %v", words[0], err)
	}
	if c.ReadOnly {
		return usagef("replay: -read-only writes nothing to Redis")
	}
	t := &tally{program: p}
	err = p.withQueue(ctx, c, id, func(q *engine.Queue) error {
		if ids := words[1:]; len(ids) > 0 {
			replayed, refused, err := q.Replay(ctx, ids)
			return errors.Join(t.step(replayed, refused), err)
		}
		return q.ReplayBatches(ctx, t.step)
	})
	fmt.Fprintf(p.out, "replayed %d dead letters of queue %s, refused %d\n", t.replayed, id.Qualified(), t.refused)
	if t.before > 0 {
		fmt.Fprintf(p.out, "%d were replayed before; nothing was left to do for them\n", t.before)
	}
	if dead := c.Policy(id).DeadLetter; err == nil && t.replayed == 0 && dead != "" {
		fmt.Fprintf(p.out, "the dead letters of %s go to queue %s: dashboard replay %s\n", id.Name, dead, dead)
	}
	if err == nil && t.refused > 0 {
		return errRefused
	}
	return err
}

// tally counts what became of the letters and prints the refusals. What was replayed before is no refusal, so that a
// command whose answer was lost can be repeated.
type tally struct {
	*program
	replayed, refused, before int
}

func (t *tally) step(replayed []engine.Replay, refused []engine.Refusal) error {
	t.replayed += len(replayed)
	for _, r := range refused {
		if errors.Is(r.Err, engine.ErrReplayed) {
			t.before++
			continue
		}
		t.refused++
		if _, err := fmt.Fprintf(t.err, "dashboard: %s: %v\n", r.ID, r.Err); err != nil {
			return err
		}
	}
	return nil
}

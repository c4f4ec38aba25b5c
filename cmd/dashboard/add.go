package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"bullpen/internal/config"
	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
)

// addTimeout bounds the whole command.
const addTimeout = 30 * time.Second

func (p *program) add(ctx context.Context, args []string) error {
	set, flags := p.commonFlags("add")
	options := jobFlags(set)
	words, err := p.parse(set, args, 3)
	if err != nil {
		return err
	}
	if len(words) < 2 {
		return usagef("add: it takes QUEUE NAME [JSON]")
	}
	data, err := p.jobData(words[2:])
	if err != nil {
		return err
	}
	c, err := p.configure(flags)
	if err != nil {
		return err
	}
	id, err := c.QueueID(words[0])
	if err != nil {
		return usagef("add: queue %q: %v", words[0], err)
	}
	if c.ReadOnly {
		return usagef("add: -read-only writes nothing to Redis")
	}
	ctx, cancel := context.WithTimeout(ctx, addTimeout)
	defer cancel()
	job, err := p.addJob(ctx, c, id, words[1], data, *options)
	if err != nil {
		return err
	}
	verb := "added job %s to queue %s\n"
	if job.Existing {
		verb = "job %s is in queue %s already; nothing was added\n"
	}
	_, err = fmt.Fprintf(p.out, verb, job.ID, id.Qualified())
	return err
}

func (p *program) addJob(ctx context.Context, c *config.Config, id keys.Queue, name string, data json.RawMessage, o engine.JobOptions) (job *engine.Job, err error) {
	err = p.withQueue(ctx, c, id, func(q *engine.Queue) error {
		job, err = q.Add(ctx, name, data, o)
		if errors.Is(err, engine.ErrInvalid) {
			return usageError{err.Error()}
		}
		return err
	})
	return job, err
}

// jobData is the JSON of the third argument; none is {}.
func (p *program) jobData(words []string) (json.RawMessage, error) {
	text := "{}"
	if len(words) > 0 {
		text = words[0]
	}
	if text == "-" {
		content, err := io.ReadAll(p.in)
		if err != nil {
			return nil, fmt.Errorf("add: read standard input: %w", err)
		}
		text = strings.TrimSpace(string(content))
	}
	var probe json.RawMessage
	if err := json.Unmarshal([]byte(text), &probe); err != nil {
		return nil, usagef("add: the data is not JSON: %v", err)
	}
	return json.RawMessage(text), nil
}

// jobFlags registers the job options.
func jobFlags(set *flag.FlagSet) *engine.JobOptions {
	o := &engine.JobOptions{}
	set.StringVar(&o.ID, "id", "", "job `ID` of your own")
	set.IntVar(&o.Attempts, "attempts", 0, "total attempts")
	set.DurationVar(&o.Delay, "delay", 0, "wait before the job becomes ready")
	set.IntVar(&o.Priority, "priority", 0, "1 runs first, 2097151 last; 0 runs before all of them")
	set.BoolVar(&o.LIFO, "lifo", false, "run it next, before jobs that wait already")
	set.Func("backoff", "`TYPE:DELAY`[:JITTER] between attempts, as in exponential:1s:0.5", func(s string) (err error) {
		o.Backoff, err = parseBackoff(s)
		return err
	})
	set.Func("keep-completed", "retention once completed: a number, a duration, `all` or none", func(s string) (err error) {
		o.KeepCompleted, err = parseKeep(s)
		return err
	})
	set.Func("keep-failed", "retention once failed: a number, a duration, `all` or none", func(s string) (err error) {
		o.KeepFailed, err = parseKeep(s)
		return err
	})
	dedup := func() *engine.Deduplication {
		if o.Deduplication == nil {
			o.Deduplication = &engine.Deduplication{}
		}
		return o.Deduplication
	}
	set.Func("dedup", "deduplication `ID`: nothing is added while a job with it is unfinished", func(s string) error {
		dedup().ID = s
		return nil
	})
	set.Func("dedup-ttl", "`TIME` for which -dedup holds, instead of until the job is finished", func(s string) (err error) {
		dedup().TTL, err = time.ParseDuration(s)
		return err
	})
	return o
}

func parseBackoff(s string) (*engine.Backoff, error) {
	kind, rest, ok := strings.Cut(s, ":")
	delay, jitter, jittered := strings.Cut(rest, ":")
	b := &engine.Backoff{Type: kind}
	var err error
	if !ok {
		return nil, errors.New("it needs a type and a delay")
	}
	if b.Delay, err = time.ParseDuration(delay); err != nil {
		return nil, err
	}
	if jittered {
		if err := json.Unmarshal([]byte(jitter), &b.Jitter); err != nil {
			return nil, fmt.Errorf("jitter %q is not a number", jitter)
		}
	}
	return b, nil
}

func parseKeep(s string) (*engine.Keep, error) {
	k, err := config.ParseKeep(s)
	if err != nil {
		return nil, err
	}
	return engineKeep(k), nil
}

// engineKeep turns a retention rule into the job option that says the same.
func engineKeep(k policy.Keep) *engine.Keep {
	keep := &engine.Keep{}
	if k.Count >= 0 || k.Age == 0 {
		keep.Count = &k.Count
	}
	if k.Age > 0 {
		keep.Age = &k.Age
	}
	return keep
}

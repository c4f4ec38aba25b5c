package scripts

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Runner runs the transitions on one Redis. It is safe for concurrent use.
//
// A script that changes something is sent once: when the connection breaks before its reply came, the error is
// returned and the script may or may not have run. The client's retries do not apply to it. Scripts that only read are
// retried as the client is configured.
type Runner struct {
	client redis.UniversalClient
}

// New returns a runner on client, which stays the caller's to close.
func New(client redis.UniversalClient) *Runner { return &Runner{client: client} }

// Load sends every script to Redis, to all masters of a cluster, so that the first call of each needs no second round
// trip. Scripts that Redis does not know, or has forgotten, are also sent by the call that needs them.
func (r *Runner) Load(ctx context.Context) error {
	if c, ok := r.client.(*redis.ClusterClient); ok {
		return c.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error { return load(ctx, master) })
	}
	return load(ctx, r.client)
}

func load(ctx context.Context, c redis.UniversalClient) error {
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, s := range library() {
			p.ScriptLoad(ctx, s.text)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("load scripts: %w", err)
	}
	return nil
}

// once is a command that the client does not repeat when its reply was lost.
type once struct{ *redis.Cmd }

// NoRetry makes the client send the command at most once.
func (once) NoRetry() bool { return true }

// write runs a script that changes something.
func (r *Runner) write(ctx context.Context, name string, t Target, args *arguments) (any, error) {
	return r.run(ctx, name, t, args, func(c *redis.Cmd) redis.Cmder { return once{c} })
}

// read runs a script that changes nothing.
func (r *Runner) read(ctx context.Context, name string, t Target, args *arguments) (any, error) {
	return r.run(ctx, name, t, args, func(c *redis.Cmd) redis.Cmder { return c })
}

// run sends a script by its hash and, if Redis does not know it, by its text.
func (r *Runner) run(ctx context.Context, name string, t Target, args *arguments, wrap func(*redis.Cmd) redis.Cmder) (any, error) {
	s := library()[name]
	send := func(command, body string) (any, error) {
		line := make([]any, 0, 5+len(args.list))
		line = append(line, command, body, 1, t.Meta(), bit(t.LegacyPause))
		cmd := redis.NewCmd(ctx, append(line, args.list...)...)
		_ = r.client.Process(ctx, wrap(cmd))
		return cmd.Result()
	}
	reply, err := send("evalsha", s.sha)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = send("eval", s.text)
	}
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	return reply, nil
}

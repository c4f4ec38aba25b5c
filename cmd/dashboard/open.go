package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"time"

	"bullpen/internal/config"
	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/livepolicy"
	"bullpen/internal/processor"
	"bullpen/internal/store"
)

// configure reads the configuration that flags (registered on set before it was parsed) and environment name.
func (p *program) configure(flags *config.Flags, more ...config.Check) (*config.Config, error) {
	return config.Load(flags, p.environ, append(more, reachable)...)
}

// reachable is the config.Check of how Redis is reached.
func reachable(c *config.Config, report func(key, text string)) {
	for _, wrong := range storeOptions(c, nil).Problems() {
		report("redis."+wrong.Option, wrong.Err.Error())
	}
}

// logger writes text to a terminal and JSON elsewhere.
func (p *program) logger(level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if isTerminal(p.err) {
		return slog.New(slog.NewTextHandler(p.err, o))
	}
	return slog.New(slog.NewJSONHandler(p.err, o))
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// storeOptions says in the store's terms what the configuration names.
func storeOptions(c *config.Config, log *slog.Logger) store.Options {
	o := store.Options{
		URL: c.Redis.URL, Addrs: c.Redis.Addrs, MasterName: c.Redis.MasterName,
		Username: c.Redis.Username, Password: c.Redis.Password,
		Prefixes: c.Redis.Prefixes, Fallback: store.Fallback(c.Store), DataDir: c.Data,
		MaxBlock: longestBlock(c), Logger: log,
	}
	if t := c.Redis.TLS; t.Enabled {
		o.TLS = &store.TLS{CA: t.CA, Cert: t.Cert, Key: t.Key, ServerName: t.ServerName, SkipVerify: t.SkipVerify}
	}
	return o
}

// longestBlock is how long the blocking read of any worker may last.
func longestBlock(c *config.Config) time.Duration {
	longest := 10 * time.Second
	for _, q := range c.Queues {
		if q.Worker != nil {
			longest = max(longest, q.Worker.DrainDelay)
		}
	}
	return longest
}

// openBeside opens the store for a command that may run beside a server: on that server's private store if there is
// no other. The store in a process is of no use to a command, so it is refused.
func (p *program) openBeside(ctx context.Context, c *config.Config) (*store.Store, error) {
	log := p.logger(slog.LevelError)
	store.LogTo(log)
	o := storeOptions(c, log)
	o.Attach = true
	s, err := store.Open(ctx, o)
	if err == nil && s.Kind() == store.KindMemory {
		_ = s.Close()
		return nil, usagef("name a Redis with -redis: there is no redis-server on this machine whose data would outlive this command")
	}
	return s, err
}

// withQueue opens the store and a queue in it for as long as work runs.
func (p *program) withQueue(ctx context.Context, c *config.Config, id keys.Queue, work func(*engine.Queue) error) (err error) {
	s, err := p.openBeside(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	live, err := livepolicy.Read(ctx, s.Client(), id)
	switch {
	case store.Forbidden(err):
		live = &livepolicy.Record{} // it may use the queues and nothing of ours: the file decides
	case err != nil:
		return err
	}
	q, err := engine.NewQueue(engine.QueueOptions{
		Client: s.Client(), Prefix: id.Prefix, Name: id.Name, Defaults: processor.JobDefaults(live.Live.Over(c.Policy(id))),
	})
	if err != nil {
		return usageError{err.Error()}
	}
	if err := q.RefuseBull(ctx); err != nil {
		return err
	}
	return work(q)
}

// commonFlags registers the flags that say which configuration and which store a command uses.
func (p *program) commonFlags(name string) (*flag.FlagSet, *config.Flags) {
	set := p.flags(name)
	return set, config.Register(set)
}

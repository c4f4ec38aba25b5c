// Command dashboard runs BullMQ queues and shows them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	_ "time/tzdata" // schedules and readers name zones that the machine may not know

	"bullpen/internal/config"
)

// Exit codes.
const (
	exitFine   = 0
	exitFailed = 1
	exitUsage  = 2 // wrong usage or configuration
)

func main() {
	p := &program{environ: os.Environ(), in: os.Stdin, out: os.Stdout, err: os.Stderr}
	os.Exit(p.run(context.Background(), os.Args[1:]))
}

// program is what a command gets from the outside.
type program struct {
	environ []string
	in      io.Reader
	out     io.Writer
	err     io.Writer
}

// command is a subcommand.
type command struct {
	name, args, summary string
	run                 func(p *program, ctx context.Context, args []string) error
}

func commands() []command {
	return []command{
		{"serve", "", "run the configured workers and the dashboard (the default)", (*program).serve},
		{"check", "", "examine configuration and Redis; fails if a queue would lose jobs", (*program).check},
		{"add", "QUEUE NAME [JSON]", "add a job; JSON is its data, - reads it from standard input", (*program).add},
		{"replay", "QUEUE [ID…]", "put the originals of dead letters back to waiting; without ids, of all in QUEUE", (*program).replay},
		{"rules", "", "print the rules for Prometheus, with this configuration's addresses", (*program).rules},
		{"hash-password", "", "turn a password from standard input into a password_hash", (*program).hashPassword},
		{"version", "", "print the version", (*program).version},
	}
}

// usageError is wrong usage: exit code 2.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// run runs the subcommand that args name and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	name := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	err := p.dispatch(ctx, name, args)
	var usage usageError
	var configured *config.Error
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitFine
	case errors.As(err, &usage), errors.As(err, &configured):
		p.complain(err)
		return exitUsage
	default:
		p.complain(err)
		return exitFailed
	}
}

// complain prints every line of an error under the program's name.
func (p *program) complain(err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(p.err, "dashboard:", line)
	}
}

func (p *program) dispatch(ctx context.Context, name string, args []string) error {
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c.run(p, ctx, args)
		}
		names = append(names, c.name)
	}
	if name == "help" {
		return p.help()
	}
	best, _ := config.Nearest(name, names)
	return usagef("unknown command %q; did you mean %s? Commands: %s", name, best, strings.Join(names, ", "))
}

// help prints what there is.
func (p *program) help() error {
	fmt.Fprint(p.out, "Bullpen runs BullMQ queues and keeps them healthy.\n\nUsage: dashboard [COMMAND] [FLAGS]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(p.out, "  %-28s %s\n", strings.TrimSpace(c.name+" "+c.args), c.summary)
	}
	fmt.Fprint(p.out, "\n\"dashboard COMMAND -h\" lists the flags of a command.\n")
	return nil
}

// flags returns an empty flag set for a command. Its errors are returned, not printed.
func (p *program) flags(name string) *flag.FlagSet {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return set
}

// parse reads flags and positional arguments in any order; "--" ends the flags. At most most arguments are allowed, any
// number if it is negative.
func (p *program) parse(set *flag.FlagSet, args []string, most int) (positional []string, err error) {
	for len(args) > 0 {
		err := set.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			return nil, p.describe(set)
		case err != nil:
			return nil, flagError(set, err)
		}
		rest := set.Args()
		if taken := len(args) - len(rest); taken > 0 && args[taken-1] == "--" {
			positional = append(positional, rest...)
			break
		}
		if len(rest) > 0 {
			positional, rest = append(positional, rest[0]), rest[1:]
		}
		args = rest
	}
	if most >= 0 && len(positional) > most {
		return nil, usagef("%s: %q is one argument too many", set.Name(), positional[most])
	}
	return positional, nil
}

// describe prints the usage of a command and returns flag.ErrHelp.
func (p *program) describe(set *flag.FlagSet) error {
	for _, c := range commands() {
		if c.name == set.Name() {
			fmt.Fprintf(p.out, "Usage: dashboard %s\n\n%s\n\nFlags:\n", strings.TrimSpace(c.name+" [FLAGS] "+c.args), c.summary)
		}
	}
	set.SetOutput(p.out)
	set.PrintDefaults()
	return flag.ErrHelp
}

// flagError adds the nearest flag to the complaint about one that does not exist.
func flagError(set *flag.FlagSet, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return usagef("%v", err)
	}
	var names []string
	set.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	best, _ := config.Nearest(strings.TrimLeft(name, "-"), names)
	if best == "" {
		return usagef("unknown flag -%s", name)
	}
	return usagef("unknown flag -%s; the nearest known flag is -%s", name, best)
}

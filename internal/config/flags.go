package config

import (
	"flag"
	"fmt"
	"strings"
)

// setting is a command-line flag with its environment twin.
type setting struct {
	flag  string
	usage string
	isBool,
	repeats bool
	// path is the key it overrides; problems found later are reported under its name.
	path string
	set  func(c *Config, values []string) error
}

// env is the name of the environment twin.
func (s setting) env() string {
	return "BULLPEN_" + strings.ToUpper(strings.ReplaceAll(s.flag, "-", "_"))
}

// settings lists every flag that has a twin. -config is read before the others and sets nothing here.
func settings() []setting {
	return []setting{
		{flag: "config", usage: "configuration `FILE` (default bullpen.yaml if it is there)"},
		{
			flag: "redis", path: "redis.url",
			usage: "`URL` of Redis: redis://, rediss://, unix:// or redis+sentinel://",
			set: func(c *Config, v []string) error {
				// What the file says of another server must not go to this one.
				r := &c.Redis
				r.URL, r.Addrs, r.MasterName = v[0], nil, ""
				r.Username, r.Password, r.TLS = "", "", TLS{}
				return nil
			},
		},
		{
			flag: "prefix", path: "redis.prefixes", repeats: true,
			usage: "key prefix, default bull; repeat the flag to watch several `NAME`s",
			set: func(c *Config, v []string) error {
				c.Redis.Prefix, c.Redis.Prefixes = "", v
				return nil
			},
		},
		{flag: "listen", path: "listen", usage: "`ADDR` of the dashboard", set: text(func(c *Config) *string { return &c.Listen })},
		{
			flag: "base-path", path: "base_path", usage: "`PATH` of the dashboard behind a proxy",
			set: text(func(c *Config) *string { return &c.BasePath }),
		},
		{
			flag: "store", path: "store", usage: "what to use when no Redis is named: `auto`, child or memory",
			set: func(c *Config, v []string) error {
				c.Store = v[0]
				return checkWord(v[0], "auto child memory")
			},
		},
		{
			flag: "data", path: "data", usage: "`DIR` where the private store keeps its data",
			set: text(func(c *Config) *string { return &c.Data }),
		},
		{
			flag: "demo", path: "demo", isBool: true, usage: "add sample queues with work that runs",
			set: boolean(func(c *Config) *bool { return &c.Demo }),
		},
		{
			flag: "read-only", path: "read_only", isBool: true, usage: "write nothing to Redis: no actions, no workers",
			set: boolean(func(c *Config) *bool { return &c.ReadOnly }),
		},
		{
			flag: "insecure", path: "insecure", isBool: true, usage: "allow a -listen address beyond loopback without a login",
			set: boolean(func(c *Config) *bool { return &c.Insecure }),
		},
		{
			flag: "log-level", path: "log_level", usage: "least `LEVEL` that is logged: debug, info, warn or error",
			set: func(c *Config, v []string) error {
				if err := checkWord(v[0], "debug info warn error"); err != nil {
					return err
				}
				return c.LogLevel.UnmarshalText([]byte(v[0]))
			},
		},
	}
}

func text(field func(*Config) *string) func(*Config, []string) error {
	return func(c *Config, v []string) error {
		*field(c) = v[0]
		return nil
	}
}

func boolean(field func(*Config) *bool) func(*Config, []string) error {
	return func(c *Config, v []string) (err error) {
		*field(c), err = parseBool(v[0])
		return err
	}
}

// Flags are the values given on a command line.
type Flags struct{ given map[string][]string }

// Register adds the configuration flags to fs; their values are kept until Load.
func Register(fs *flag.FlagSet) *Flags {
	f := &Flags{given: map[string][]string{}}
	for _, s := range settings() {
		record := func(v string) error {
			f.given[s.flag] = append(f.given[s.flag], v)
			return nil
		}
		if s.isBool {
			fs.BoolFunc(s.flag, s.usage, record)
		} else {
			fs.Func(s.flag, s.usage, record)
		}
	}
	return f
}

// Env looks up environment variables, as os.LookupEnv does.
type Env func(name string) (string, bool)

// values returns the values of s from the command line, else from the environment, and where they came from. A
// variable that is set to nothing counts as not set.
func (f *Flags) values(s setting, env Env) (values []string, source string) {
	if v := f.given[s.flag]; len(v) > 0 {
		if !s.repeats {
			v = v[len(v)-1:]
		}
		return v, "-" + s.flag
	}
	v, _ := env(s.env())
	if v == "" {
		return nil, ""
	}
	if s.repeats {
		return strings.Split(v, ","), s.env()
	}
	return []string{v}, s.env()
}

// apply lays environment and flags over the file.
func (f *Flags) apply(c *Config, d *decoder) {
	for _, s := range settings() {
		values, source := f.values(s, d.env)
		if s.set == nil || len(values) == 0 {
			continue
		}
		d.places[s.path] = place{source: source}
		if err := s.set(c, values); err != nil {
			d.problems = append(d.problems, Problem{Source: source, Text: err.Error()})
		}
	}
}

// strayVariables warns of BULLPEN_ variables that look like a misspelt twin.
func strayVariables(environ []string) []Problem {
	var twins []string
	for _, s := range settings() {
		twins = append(twins, s.env())
	}
	var out []Problem
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "BULLPEN_") {
			continue
		}
		if twin, distance := Nearest(name, twins); distance == 1 || distance == 2 {
			out = append(out, Problem{Source: name, Text: fmt.Sprintf("is not a setting; did you mean %s?", twin)})
		}
	}
	return out
}

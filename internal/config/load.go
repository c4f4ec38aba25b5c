package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"go.yaml.in/yaml/v4"
)

// DefaultFile is read when it is there and no other file is named.
const DefaultFile = "bullpen.yaml"

// fileKeys is the whole file. Defaults come before Queues because fields are decoded in order.
type fileKeys struct {
	Config
	Defaults policyKeys           `key:"defaults"`
	Queues   map[string]queueKeys `key:"queues"`
}

type queueKeys struct {
	Policy policyKeys `key:"policy"`
	Worker *Worker    `key:"worker"`
}

// Check finds problems that only other packages can see. c may be one that has problems already; report takes the key at
// fault, and says nothing of one that has been reported.
type Check func(c *Config, report func(key, text string))

// Load reads the configuration file that flags or environ name (bullpen.yaml in the working directory if neither does
// and it is there) and lays environ and flags over it. environ has the form of os.Environ. The error, if the
// configuration cannot be used, is an *Error with every problem found, those of checks among them.
func Load(flags *Flags, environ []string, checks ...Check) (*Config, error) {
	d := &decoder{env: lookup(environ), places: places{}}
	file := fileKeys{Config: Default()}
	d.readFile(flags, &file)
	c := &file.Config
	flags.apply(c, d)
	c.Warnings = strayVariables(environ)
	c.Defaults = file.Defaults.over(policy.Policy{})
	d.settle(c)
	d.queues(c, file.Queues)
	d.validate(c)
	for _, check := range checks {
		check(c, func(key, text string) { d.check(key, false, "%s", text) })
	}
	if len(d.problems) > 0 {
		sortProblems(d.problems)
		return nil, &Error{Problems: d.problems}
	}
	sortProblems(c.Warnings)
	return c, nil
}

func lookup(environ []string) Env {
	vars := make(map[string]string, len(environ))
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			vars[name] = value
		}
	}
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// readFile decodes the configuration file into file, if there is one.
func (d *decoder) readFile(flags *Flags, file *fileKeys) {
	name := DefaultFile
	named, _ := flags.values(settings()[0], d.env)
	if len(named) > 0 {
		name = named[0]
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		d.problems = append(d.problems, Problem{Source: name, Text: err.Error()})
		return
	}
	d.dir, file.Dir = dir, dir
	content, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && len(named) == 0 {
		return
	}
	d.file = name
	if err != nil {
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		d.problems = append(d.problems, Problem{Source: name, Text: "cannot be read: " + err.Error()})
		return
	}
	file.File = filepath.Join(dir, filepath.Base(name))
	if root := d.parse(content); root != nil {
		d.value(root, "", reflect.ValueOf(file).Elem(), "")
	}
}

// parse returns the root node; nil when the file is empty or cannot be read as YAML.
func (d *decoder) parse(content []byte) *yaml.Node {
	loader, err := yaml.NewLoader(bytes.NewReader(content))
	var root, more yaml.Node
	if err == nil {
		err = loader.Load(&root)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil && !errors.Is(loader.Load(&more), io.EOF) {
		d.fail(&more, "", "has more than one YAML document")
	}
	if err != nil {
		p := Problem{Source: d.file, Text: err.Error()}
		var load *yaml.LoadError
		if errors.As(err, &load) {
			p.Line, p.Text = load.Mark.Line, "is not valid YAML: "+withoutAnchor(load.Message)
		}
		d.problems = append(d.problems, p)
		return nil
	}
	return root.Content[0]
}

// withoutAnchor keeps the name of an anchor out of the parser's message: it may be a password that begins with a star.
func withoutAnchor(message string) string {
	if strings.HasPrefix(message, "unknown anchor") {
		return "unknown anchor; put a value that begins with * in quotes"
	}
	return message
}

// settle gives settings with two spellings, or a computed default, their one final form.
func (d *decoder) settle(c *Config) {
	r := &c.Redis
	switch {
	case r.Prefix != "" && len(r.Prefixes) > 0:
		d.check("redis.prefix", false, "give prefix or prefixes, not both")
	case r.Prefix != "":
		r.Prefixes = []string{r.Prefix}
	case len(r.Prefixes) == 0:
		r.Prefixes = []string{keys.DefaultPrefix}
	}
	r.Prefix = ""
	d.check("base_path", normaliseBase(&c.BasePath) == nil, "%q is not a path, such as /queues", c.BasePath)
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	if u, err := url.Parse(c.PublicURL); err == nil && c.PublicURL != "" && u.Path == "" {
		c.PublicURL += c.BasePath // only the host was given
	}
	if c.Data == "" {
		c.Data = stateDir(d.env)
	}
}

// normaliseBase makes path "" or "/a/b": a leading slash and no trailing one.
func normaliseBase(path *string) error {
	p := strings.Trim(*path, "/")
	if p == "" {
		*path = ""
		return nil
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "?#%\\\"<>{} \t") {
			return errors.New("not a path")
		}
	}
	*path = "/" + p
	return nil
}

// stateDir is where the private store keeps its data unless told otherwise; "" when there is no home.
func stateDir(env Env) string {
	if dir, _ := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "bullpen")
	}
	if home, _ := env("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "bullpen")
	}
	return ""
}

// queues turns the named queues into policies and workers.
func (d *decoder) queues(c *Config, named map[string]queueKeys) {
	c.Queues = make(map[keys.Queue]Queue, len(named))
	d.defaults(c)
	for _, name := range sortedKeys(named) {
		path, q := join("queues", name), named[name]
		id, err := queueID(name, c.Redis.Prefixes)
		if err != nil {
			d.check(path, false, "%v", err)
			continue
		}
		if _, twice := c.Queues[id]; twice {
			d.check(path, false, "queue %s is given twice", id.Qualified())
			continue
		}
		p := q.Policy.over(c.Defaults)
		if q.Worker != nil {
			p.LockRenew = q.Worker.LockRenew
			d.worker(path+".worker", q.Worker)
		}
		c.Queues[id] = Queue{Key: path, Policy: p, Worker: q.Worker}
		d.judge(c, path, id, c.Queues[id])
	}
	d.rings(c)
}

// defaults checks the policy of the queues that are not named.
func (d *decoder) defaults(c *Config) {
	if d.unclear = d.faulty("defaults."); d.unclear {
		return
	}
	d.check("defaults.dead_letter", !strings.Contains(c.Defaults.DeadLetter, ":"), notQueue, c.Defaults.DeadLetter)
	for _, found := range c.Defaults.Validate() {
		d.check("defaults."+found.Field, found.Warning, "%s", found.Text)
	}
}

// QueueID reads a queue's name as a person gives it: "name", under the first prefix, or "prefix:name".
func (c *Config) QueueID(name string) (keys.Queue, error) { return queueID(name, c.Redis.Prefixes) }

// Policy is the policy the configuration gives a queue, named there or not.
func (c *Config) Policy(id keys.Queue) policy.Policy {
	if q, ok := c.Queues[id]; ok {
		return q.Policy
	}
	return c.Defaults
}

func queueID(name string, prefixes []string) (keys.Queue, error) {
	q := keys.Queue{Prefix: prefixes[0], Name: name}
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		q = keys.Queue{Prefix: name[:i], Name: name[i+1:]}
		if !slices.Contains(prefixes, q.Prefix) {
			return q, fmt.Errorf("a queue name has no colon, and %q is not a watched prefix", q.Prefix)
		}
	}
	if q.Name == "" {
		return q, errors.New("a queue needs a name")
	}
	return q, nil
}

package config

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"golang.org/x/crypto/bcrypt"
)

// check reports a problem with the setting at path unless ok, or unless that setting has one already.
func (d *decoder) check(path string, ok bool, format string, args ...any) {
	if ok || slices.ContainsFunc(d.problems, func(p Problem) bool { return p.Key == path }) {
		return
	}
	d.problems = append(d.problems, d.problem(path, fmt.Sprintf(format, args...)))
}

func (d *decoder) problem(path, text string) Problem {
	at := d.place(path)
	if at.line == 0 && at.source != "" && at.source != d.file {
		path = "" // a flag or variable names itself
	}
	return Problem{Source: cmp.Or(at.source, d.file), Line: at.line, Key: path, Text: text}
}

// place finds where the setting at path, or the nearest one around it, was given.
func (d *decoder) place(path string) place {
	for {
		if at, ok := d.places[path]; ok && path != "" {
			return at
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return place{}
		}
		path = path[:i]
	}
}

func (d *decoder) given(path string) bool {
	_, ok := d.places[path]
	return ok
}

func (d *decoder) validate(c *Config) {
	d.address(c)
	d.redis(c)
	d.auth(c)
	for i, p := range c.QueuesInclude {
		d.check(fmt.Sprintf("queues_include[%d]", i), p != "", "must not be empty")
	}
	for i, p := range c.QueuesExclude {
		d.check(fmt.Sprintf("queues_exclude[%d]", i), p != "", "must not be empty")
	}
	for key, value := range map[string]string{
		"public_url": c.PublicURL, "prometheus_url": c.PrometheusURL, "alertmanager_url": c.AlertmanagerURL,
		"notify.webhook": c.Notify.Webhook,
	} {
		d.check(key, value == "" || isHTTP(value), notHTTP)
	}
	for i, p := range c.Mask {
		_, err := path.Match(p, "")
		d.check(fmt.Sprintf("mask[%d]", i), err == nil && p != "", "%q is not a pattern, such as *_token", p)
	}
	d.check("group_separator", c.GroupSeparator != "", "must not be empty")
	d.readOnly(c)
}

// address checks the listen address, and that nobody beyond this machine gets in without a login.
func (d *decoder) address(c *Config) {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		d.check("listen", false, "%q is not host:port, such as 127.0.0.1:8080", c.Listen)
		return
	}
	d.check("listen", isLoopback(host) || c.Auth.Configured() || c.Insecure,
		"%s can be reached from other machines and there is no login: configure auth, listen on 127.0.0.1, or pass -insecure",
		c.Listen)
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func (d *decoder) redis(c *Config) {
	r := c.Redis
	d.check("redis.addrs", r.URL == "" || len(r.Addrs) == 0, "give url or addrs, not both")
	d.check("redis.master_name", r.MasterName == "" || len(r.Addrs) > 0, "goes with addrs, the addresses of the Sentinels")
	d.check("redis.alias", r.Alias != "", "must not be empty")
	d.check("store", !r.Named() || c.Store == "auto", "%q is for when no Redis is named, but one is", c.Store)
	for i, addr := range r.Addrs {
		_, _, err := net.SplitHostPort(addr)
		d.check(fmt.Sprintf("redis.addrs[%d]", i), err == nil && !strings.Contains(addr, "@"),
			"is not host:port, such as 10.0.0.1:6379; credentials go into username and password")
	}
	seen := map[string]bool{}
	for _, prefix := range r.Prefixes {
		d.check("redis.prefixes", prefix != "" && !seen[prefix], "prefix %q is empty or given twice", prefix)
		d.check("redis.prefixes", prefix != "bullpen", "prefix %q is where Bullpen keeps its own keys; choose another", prefix)
		seen[prefix] = true
	}
	d.check("redis.tls.cert", (r.TLS.Cert == "") == (r.TLS.Key == ""), "cert and key go together")
	if !r.Named() {
		d.check("data", c.Data != "" || c.Store == "memory", "is needed: there is no home folder to keep the private store in")
	}
}

func (d *decoder) readOnly(c *Config) {
	if !c.ReadOnly {
		return
	}
	d.check("read_only", !c.Demo, "a read-only process cannot run the demo's workers")
	for _, id := range sortedQueues(c.Queues) {
		d.check("read_only", c.Queues[id].Worker == nil, "a read-only process cannot run the worker of queue %q", id.Name)
	}
}

// worker checks one worker and resolves its secret.
func (d *decoder) worker(path string, w *Worker) {
	d.check(path, (w.HTTP == nil) != (w.Command == nil), "needs http or command, one of them")
	d.check(path+".name", !strings.ContainsFunc(w.Name, notPrintable),
		"%q must be printable ASCII without spaces, because Redis shows it as a connection name", w.Name)
	if w.Command != nil {
		d.check(path+".command.argv", len(w.Command.Argv) > 0 && w.Command.Argv[0] != "", "needs at least the program")
	}
	if w.HTTP == nil {
		return
	}
	path += ".http"
	d.check(path+".url", isHTTP(w.HTTP.URL), notHTTP)
	if name := w.HTTP.SecretEnv; name != "" {
		d.check(path+".secret", w.HTTP.Secret == "", "give secret or secret_env, not both")
		secret, ok := d.env(name)
		d.check(path+".secret_env", ok && secret != "", "variable %s is not defined in the environment", name)
		w.HTTP.Secret = secret
	}
	for name := range w.HTTP.Headers {
		d.check(path+".headers."+name, isToken(name) && !reservedHeader(name), "is not a header that can be set here")
	}
}

func notPrintable(r rune) bool { return r <= ' ' || r > '~' }

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return notPrintable(r) || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// reservedHeader reports headers that the HTTP worker or net/http sets, whatever is configured.
func reservedHeader(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasPrefix(lower, "bullpen-") || strings.HasPrefix(lower, "webhook-") ||
		slices.Contains([]string{
			"content-type", "content-length", "host", "idempotency-key", "traceparent", "tracestate", "trailer", "transfer-encoding",
		}, lower)
}

// judge adds what the policy itself finds wrong with a queue; warnings only where a worker of ours runs it.
func (d *decoder) judge(c *Config, path string, id keys.Queue, q Queue) {
	dead := q.Policy.DeadLetter
	d.check(d.policyPath(path, "dead_letter"), !strings.Contains(dead, ":"), notQueue, dead)
	if d.unclear || d.faulty(path+".") {
		return // the values are not what was meant
	}
	facts := policy.Facts{Queue: id.Name, Worker: q.Worker != nil, ShutdownGrace: c.ShutdownGrace}
	for _, found := range q.Policy.ValidateWith(facts) {
		at := d.policyPath(path, found.Field)
		switch {
		case !found.Warning:
			d.check(at, false, "%s", found.Text)
		case q.Worker != nil:
			c.Warnings = append(c.Warnings, d.problem(at, found.Text))
		}
	}
}

const notQueue = "%q is not a queue name: it has a colon"

// faulty reports whether there is a problem with a setting below prefix.
func (d *decoder) faulty(prefix string) bool {
	return slices.ContainsFunc(d.problems, func(p Problem) bool { return strings.HasPrefix(p.Key, prefix) })
}

// policyPath is the path of a policy's field: where the queue gives it, else where the defaults do.
func (d *decoder) policyPath(queue, field string) string {
	own := queue + ".policy." + field
	switch parent, _, nested := strings.Cut(field, "."); {
	case field == "shutdown_grace":
		return field
	case field == "lock_renew":
		return queue + ".worker.lock_renew"
	case d.given(own):
		return own
	case d.given("defaults." + field):
		return "defaults." + field
	case nested && !d.given(queue+".policy."+parent) && d.given("defaults."+parent):
		return "defaults." + field
	}
	return own
}

// rings refuses dead letters that come back to the queue they left.
func (d *decoder) rings(c *Config) {
	for _, prefix := range c.Redis.Prefixes {
		dead := map[string]string{}
		for id, q := range c.Queues {
			if id.Prefix == prefix && q.Policy.DeadLetter != id.Name {
				dead[id.Name] = q.Policy.DeadLetter
			}
		}
		found := policy.Rings(dead)
		for _, name := range sortedKeys(found) {
			path := c.Queues[keys.Queue{Prefix: prefix, Name: name}].Key
			d.check(d.policyPath(path, found[name].Field), false, "%s", found[name].Text)
		}
	}
}

func (d *decoder) auth(c *Config) {
	a := c.Auth
	names := map[string]bool{}
	for i, u := range a.Users {
		at := fmt.Sprintf("auth.users[%d]", i)
		_, err := bcrypt.Cost([]byte(u.PasswordHash))
		d.check(at+".name", u.Name != "" && !names[u.Name], "user %q has no name or is given twice", u.Name)
		d.check(at+".password_hash", err == nil, "is not a bcrypt hash; make one with: dashboard hash-password")
		d.check(at+".role", u.Role != "", "is missing: viewer, operator or admin")
		d.patterns(at+".queues", u.Queues)
		names[u.Name] = true
	}
	tokens := map[string]bool{}
	for i, t := range a.Tokens {
		at := fmt.Sprintf("auth.tokens[%d]", i)
		sum, err := hex.DecodeString(t.TokenHash)
		d.check(at+".name", t.Name != "" && !tokens[t.Name], "token %q has no name or is given twice", t.Name)
		d.check(at+".token_hash", err == nil && len(sum) == 32, "is not a SHA-256 in hex: printf %%s TOKEN | sha256sum")
		d.check(at+".role", t.Role != "", "is missing: viewer, operator or admin")
		d.patterns(at+".queues", t.Queues)
		tokens[t.Name] = true
	}
	d.signOn(c)
	d.check("auth.session_key", a.SessionKey == "" || len(a.SessionKey) >= 32, "must have at least 32 characters")
}

// signOn checks the two ways in which somebody else vouches for the user.
func (d *decoder) signOn(c *Config) {
	a := c.Auth
	if o := a.OIDC; o != nil {
		d.check("auth.oidc.issuer", isHTTP(o.Issuer), notHTTP)
		d.check("auth.oidc.client_id", o.ClientID != "", "is missing")
		d.check("auth.oidc.roles_claim", o.RolesClaim != "", "is missing: it says which of the provider's users may come in, and as what")
		d.check("auth.oidc", c.PublicURL != "", "needs public_url: the provider sends people back there")
		for value, grant := range o.RoleMap {
			d.check("auth.oidc.role_map."+value, grant.Role != "", "has no role: viewer, operator or admin")
			d.patterns("auth.oidc.role_map."+value+".queues", grant.Queues)
		}
	}
	if p := a.Proxy; p != nil {
		d.check("auth.proxy.header", p.Header == "" || isToken(p.Header), "%q is not a header name", p.Header)
		d.check("auth.proxy.roles_header", p.RolesHeader == "" || p.Header != "", "needs header, which names the user")
		d.check("auth.proxy.roles_header", p.RolesHeader == "" || isToken(p.RolesHeader), "%q is not a header name", p.RolesHeader)
		d.check("auth.proxy.trusted", len(p.Trusted) > 0, "is missing: without it anybody could send the header")
		for i, s := range p.Trusted {
			_, addrErr := netip.ParseAddr(s)
			_, rangeErr := netip.ParsePrefix(s)
			d.check(fmt.Sprintf("auth.proxy.trusted[%d]", i), addrErr == nil || rangeErr == nil, "%q is not an address or range", s)
		}
	}
}

// patterns checks the patterns of what somebody may see. Brackets and backslashes would stand for themselves, which is
// hardly what is meant.
func (d *decoder) patterns(at string, patterns []string) {
	for i, p := range patterns {
		d.check(fmt.Sprintf("%s[%d]", at, i), p != "" && !strings.ContainsAny(p, `[\`),
			"%q is not a pattern, such as mail-*: * is any text, ? is one character, and [ and \\ cannot be used", p)
	}
}

// notHTTP is said of an address without repeating it: credentials can be in any part of it.
const notHTTP = "is not an http:// or https:// address, such as https://host.example/path"

func isHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func sortedQueues(m map[keys.Queue]Queue) []keys.Queue {
	return slices.SortedFunc(maps.Keys(m), func(a, b keys.Queue) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Prefix, b.Prefix))
	})
}

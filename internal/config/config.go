package config

import (
	"log/slog"
	"reflect"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"go.yaml.in/yaml/v4"
)

// Config is everything Bullpen can be told. Fields with a key tag are keys of bullpen.yaml.
type Config struct {
	// File is the configuration file that was read; empty when there is none.
	File string
	// Dir is the folder of File, else the working directory; command workers run in it.
	Dir string

	// Listen is the address of the dashboard, "host:port".
	Listen string `key:"listen"`
	Redis  Redis  `key:"redis"`
	// Store is "auto", "child" or "memory": what to do when no Redis is named.
	Store string `key:"store" oneof:"auto child memory"`
	// Data is the folder of the private store; default the user's state directory + "/bullpen".
	Data string `key:"data" path:"file"`
	// ShutdownGrace is how long running jobs may go on after SIGTERM.
	ShutdownGrace time.Duration `key:"shutdown_grace" min:"0"`
	// PublicURL is how others reach the dashboard, without a trailing slash; empty when not given.
	PublicURL string `key:"public_url"`
	// BasePath is "" or starts with a slash and does not end with one.
	BasePath string `key:"base_path"`
	// Tick is the interval of the collector.
	Tick          time.Duration `key:"tick"`
	QueuesInclude []string      `key:"queues_include"`
	QueuesExclude []string      `key:"queues_exclude"`
	// QueuesMax is how many queues are shown at most.
	QueuesMax int `key:"queues_max" min:"1"`
	// GroupSeparator splits queue names into groups on the overview.
	GroupSeparator string `key:"group_separator"`
	Auth           Auth   `key:"auth"`
	// Mask are patterns of JSON keys whose values are never shown.
	Mask    []string `key:"mask"`
	Metrics Metrics  `key:"metrics"`
	// Approval is "one" or "two": how many people it takes to change a policy.
	Approval string `key:"approval" oneof:"one two"`
	Notify   Notify `key:"notify"`
	// PrometheusURL and AlertmanagerURL let the alerts page show what those say.
	PrometheusURL   string `key:"prometheus_url"`
	AlertmanagerURL string `key:"alertmanager_url"`

	// Demo, ReadOnly and Insecure are set by flag or environment only.
	Demo, ReadOnly, Insecure bool
	LogLevel                 slog.Level

	// Defaults is the policy of queues that are not named.
	Defaults policy.Policy
	// Queues are the named queues, their policies merged with the defaults.
	Queues map[keys.Queue]Queue
	// Warnings are findings that do not keep Bullpen from starting.
	Warnings []Problem
}

// Redis says which Redis to use. With neither URL nor Addrs, Store decides.
type Redis struct {
	URL string `key:"url"`
	// Addrs alone means Cluster; with MasterName they are Sentinels.
	Addrs      []string `key:"addrs"`
	MasterName string   `key:"master_name"`
	Username   string   `key:"username"`
	Password   string   `key:"password"`
	TLS        TLS      `key:"tls"`
	// Prefix and Prefixes are two spellings of one setting: after Load, Prefixes is never empty.
	Prefix   string   `key:"prefix"`
	Prefixes []string `key:"prefixes"`
	// Alias names this Redis in labels and pages.
	Alias string `key:"alias"`
}

// Named reports whether a Redis was configured.
func (r Redis) Named() bool { return r.URL != "" || len(r.Addrs) > 0 }

// TLS is `true`, `false` or a mapping.
type TLS struct {
	Enabled bool
	// CA, Cert and Key are PEM files. Without CA the system's roots are used.
	CA   string `key:"ca" path:"file"`
	Cert string `key:"cert" path:"file"`
	Key  string `key:"key" path:"file"`
	// ServerName overrides the name the certificate must carry.
	ServerName string `key:"server_name"`
	// SkipVerify accepts any certificate.
	SkipVerify bool `key:"skip_verify"`
}

// Auth says who may use the dashboard.
type Auth struct {
	Users  []User  `key:"users"`
	Tokens []Token `key:"tokens"`
	OIDC   *OIDC   `key:"oidc"`
	Proxy  *Proxy  `key:"proxy"`
	// SessionKey signs session cookies; empty means one kept in Redis, so that replicas agree.
	SessionKey string `key:"session_key"`
}

// Configured reports whether there is any way to log in.
func (a Auth) Configured() bool {
	return len(a.Users) > 0 || len(a.Tokens) > 0 || a.OIDC != nil || a.Proxy != nil && a.Proxy.Header != ""
}

// User logs in with a name and a password.
type User struct {
	Name         string   `key:"name"`
	PasswordHash string   `key:"password_hash"` // bcrypt
	Role         string   `key:"role" oneof:"viewer operator admin"`
	Queues       []string `key:"queues"` // patterns; empty = all
}

// Token is a bearer token for programs.
type Token struct {
	Name      string   `key:"name"`
	TokenHash string   `key:"token_hash"` // SHA-256 in hex
	Role      string   `key:"role" oneof:"viewer operator admin"`
	Queues    []string `key:"queues"`
}

// OIDC is sign-in with OpenID Connect.
type OIDC struct {
	Issuer       string `key:"issuer"`
	ClientID     string `key:"client_id"`
	ClientSecret string `key:"client_secret"`
	// RolesClaim is the claim that lists the user's groups; RoleMap turns them into roles.
	RolesClaim string           `key:"roles_claim"`
	RoleMap    map[string]Grant `key:"role_map"`
}

// Grant is a role, for all queues or for those that match: a role's name, or a mapping.
type Grant struct {
	Role   string   `key:"role" oneof:"viewer operator admin"`
	Queues []string `key:"queues"` // patterns; empty = all
}

func (g *Grant) decode(d *decoder, n *yaml.Node, path string, _ reflect.StructTag) {
	v := reflect.ValueOf(g).Elem()
	if n.Kind == yaml.MappingNode {
		d.mapping(n, path, v)
		return
	}
	role := fieldsOf(v.Type())[0]
	d.value(n, path, v.FieldByIndex(role.index), role.tag)
}

// Proxy trusts a proxy in front to say where requests come from and, with Header, to have authenticated the user.
type Proxy struct {
	Header      string   `key:"header"`
	RolesHeader string   `key:"roles_header"`
	Trusted     []string `key:"trusted"` // addresses or CIDR ranges the header is believed from
}

// Metrics configures /metrics.
type Metrics struct {
	// Token, if set, must be sent as a bearer token.
	Token string `key:"token"`
	// BullMQNames adds BullMQ's own three metric names.
	BullMQNames bool `key:"bullmq_names"`
	// Histograms exports wait, run and attempt histograms.
	Histograms bool `key:"histograms"`
	// JobNames are the queues whose counters are also split by job name.
	JobNames []string `key:"job_names"`
}

// Notify is where alerts go without an Alertmanager.
type Notify struct {
	Webhook string `key:"webhook"`
}

// Queue is one named queue.
type Queue struct {
	// Key is where the file names it, such as "queues.mail".
	Key    string
	Policy policy.Policy
	Worker *Worker // nil when no worker runs here
}

// Worker runs the jobs of a queue in this process.
type Worker struct {
	HTTP    *HTTPWorker    `key:"http"`
	Command *CommandWorker `key:"command"`
	// Name is recorded as "processed by"; empty means host and process id.
	Name string `key:"name"`
	// Metrics is how many minutes of BullMQ's metrics are kept; 0 writes none.
	Metrics int `key:"metrics" min:"0"`
	// DrainDelay is the longest blocking wait on an empty queue; 0 means BullMQ's default.
	DrainDelay time.Duration `key:"drain_delay"`
	// LockRenew is the interval of lock renewal; 0 means half the lock's duration.
	LockRenew time.Duration `key:"lock_renew"`
	// MaxRateLimitDelay is the longest sleep while rate limited; 0 means BullMQ's default.
	MaxRateLimitDelay time.Duration `key:"max_rate_limit_delay"`
}

func (w *Worker) setDefaults() { w.Metrics = 20160 }

// HTTPWorker posts each attempt to a URL.
type HTTPWorker struct {
	URL string `key:"url"`
	// Timeout bounds one attempt; 0 means only the policy's timeout does.
	Timeout time.Duration `key:"timeout"`
	// SecretEnv names the variable that holds the signing secret; after Load, Secret has its value.
	SecretEnv string `key:"secret_env"`
	Secret    string `key:"secret"`
	// UnrecoverableStatuses replaces the list of answers that fail a job for good; nil means the default list.
	UnrecoverableStatuses []int `key:"unrecoverable_statuses" min:"300" max:"599"`
	// MaxResponse is the largest accepted answer in bytes.
	MaxResponse Size `key:"max_response"`
	// Headers are sent with every request.
	Headers map[string]string `key:"headers"`
}

func (h *HTTPWorker) setDefaults() { h.MaxResponse = 1 << 20 }

// CommandWorker runs one child process for each attempt.
type CommandWorker struct {
	Argv []string          `key:"argv"`
	Env  map[string]string `key:"env"`
}

// Default returns the configuration of an empty file.
func Default() Config {
	return Config{
		Listen:         "127.0.0.1:8080",
		Redis:          Redis{Alias: "default"},
		Store:          "auto",
		ShutdownGrace:  25 * time.Second,
		Tick:           time.Second,
		QueuesMax:      5000,
		GroupSeparator: ".",
		Mask: []string{
			"password", "passwd", "secret", "token", "authorization", "api_key", "cookie", "card", "cvv", "ssn",
		},
		Metrics:  Metrics{Histograms: true},
		Approval: "one",
	}
}

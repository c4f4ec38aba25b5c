package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/internal/monitor"
	"bullpen/internal/monitor/alerting"
	"bullpen/internal/notify"
	"bullpen/internal/outside"
	"bullpen/internal/web/operation"
)

// Monitor is what the pages need of the collector.
type Monitor interface {
	Snapshot() *monitor.Snapshot
	Subscribe() (ch <-chan *monitor.Snapshot, cancel func())
	Policy(q keys.Queue) policy.Policy
	Refresh()
	// Alerts has the state of every alert rule, AlertReading the figure of the i-th of them nearest to its limit.
	Alerts() []alerting.Status
	AlertReading(i int) (alerting.Reading, bool)
}

// Options configure New.
type Options struct {
	// Monitor owns the figures. Required.
	Monitor Monitor
	// Queue returns the engine's queue, for lists, jobs and writes. Required.
	Queue func(keys.Queue) (*engine.Queue, error)
	// Policies changes policies at run time; nil leaves that out.
	Policies *livepolicy.Store
	// Metrics serves /metrics, Callback the HTTP worker's callback; nil leaves the address out.
	Metrics, Callback http.Handler
	// Outside is what a Prometheus and an Alertmanager say, Webhook how the messages of our own notifier fare; nil when
	// there are none.
	Outside func() *outside.State
	Webhook func() notify.Status
	// Answered is told of every request: the pattern of its route ("other" for none), its method, the status of the
	// answer and how long it took (0 for an event stream). Default: nobody is.
	Answered func(route, method string, status int, took time.Duration)
	// Ready says why the process is not ready; nil means it always is.
	Ready func() error
	// Auth tells who sends a request; nil makes everybody an administrator, which suits loopback only.
	Auth Authenticator
	// Audit records every attempt to write, also refused ones; nil logs only and has no
	// activity page.
	Audit Auditor
	// Operations keeps bulk acts for other replicas and for after a restart; nil keeps them in memory.
	Operations operation.Book
	// TrustedProxies are the addresses from which X-Forwarded-For is believed; none by default.
	TrustedProxies []netip.Prefix
	// BasePath is the path the dashboard is mounted under; default "".
	BasePath string
	// PublicURL is how others reach the dashboard; default none.
	PublicURL string
	// Version is shown in the foot; default "dev".
	Version string
	// Alias names the Redis on pages; default "default".
	Alias string
	// Prefix is the key prefix whose queues are addressed by name alone; default "bull".
	Prefix string
	// GroupSeparator splits queue names into groups; default ".".
	GroupSeparator string
	// Mask reports whether values of a member of a payload are hidden; default none are.
	Mask func(key string) bool
	// Tick is how often the monitor collects; default 1 s.
	Tick time.Duration
	// Zone is the time zone of exact times; default UTC.
	Zone *time.Location
	// ReadOnly refuses every write.
	ReadOnly bool
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// Clock defaults to time.Now.
	Clock func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Alias == "" {
		o.Alias = "default"
	}
	if o.Prefix == "" {
		o.Prefix = keys.DefaultPrefix
	}
	if o.GroupSeparator == "" {
		o.GroupSeparator = "."
	}
	if o.Tick == 0 {
		o.Tick = time.Second
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Answered == nil {
		o.Answered = func(string, string, int, time.Duration) {}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.BasePath = strings.Trim(o.BasePath, "/")
	if o.BasePath != "" {
		o.BasePath = "/" + o.BasePath
	}
	return o
}

func (o Options) validate() error {
	if o.Monitor == nil {
		return errors.New("web: Monitor is required")
	}
	if o.Queue == nil {
		return errors.New("web: Queue is required")
	}
	if strings.ContainsAny(o.BasePath, "?#%") {
		return fmt.Errorf("web: BasePath %q must be a plain path", o.BasePath)
	}
	if o.PublicURL != "" {
		u, err := url.Parse(o.PublicURL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("web: PublicURL %q must be an http or https address", o.PublicURL)
		}
	}
	return nil
}

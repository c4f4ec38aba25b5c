package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"sync/atomic"
	"time"

	"bullpen/internal/audit"
	"bullpen/internal/config"
	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/internal/metrics"
	"bullpen/internal/monitor"
	"bullpen/internal/processor"
	"bullpen/internal/store"
	"bullpen/internal/telemetry"
	"bullpen/internal/web"
	"bullpen/internal/web/operation/book"
)

const (
	// readyTimeout bounds the question whether Redis answers.
	readyTimeout = time.Second
	// webGrace is how long requests under way may take at the end.
	webGrace = 5 * time.Second
	// exportGrace is how long the last spans may take to be sent.
	exportGrace = 2 * time.Second
	// demoPrefix keeps the demo away from the queues of a configured Redis.
	demoPrefix = "bullpen-demo"
)

// server is everything that serves, in the order it starts; it stops in reverse.
type server struct {
	telemetry *telemetry.Telemetry // nil unless the environment asks for it
	config    *config.Config
	log       *slog.Logger
	store     *store.Store
	demo      *processor.Demo // nil without -demo
	metrics   *metrics.Metrics
	monitor   *monitor.Monitor
	alarm     alarm
	live      *livepolicy.Watcher
	listener  net.Listener
	web       *web.Server
	workers   *workforce

	serving  chan error // gets the end of web.Serve and is then closed; nil before start
	stopping atomic.Bool
}

// newServer opens the store and the listener and builds the rest. On an error nothing is left open.
func newServer(ctx context.Context, c *config.Config, log *slog.Logger) (s *server, err error) {
	s = &server{config: c, log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.abort())
			s = nil
		}
	}()
	// The address is taken first: it is what most often is in the way.
	if s.listener, err = net.Listen("tcp", c.Listen); err != nil {
		return s, fmt.Errorf("listen: %w", err)
	}
	if s.store, err = store.Open(ctx, storeOptions(c, log)); err != nil {
		return s, err
	}
	if err = s.buildTelemetry(ctx); err != nil {
		return s, err
	}
	if err = s.buildDemo(); err != nil {
		return s, err
	}
	s.buildMetrics()
	s.workers = newWorkforce(s)
	if err = s.buildLive(); err != nil {
		return s, err
	}
	if err = s.buildMonitor(); err != nil {
		return s, err
	}
	if err = s.exportCounts(); err != nil {
		return s, err
	}
	if err = s.buildAlarm(); err != nil {
		return s, err
	}
	return s, s.buildWeb()
}

func (s *server) buildTelemetry(ctx context.Context) (err error) {
	if !telemetry.Enabled(os.Getenv) {
		return nil
	}
	s.telemetry, err = telemetry.New(ctx, telemetry.Options{Version: buildVersion(), Logger: s.log})
	return err
}

func (s *server) buildDemo() (err error) {
	if !s.config.Demo {
		return nil
	}
	prefix := s.config.Redis.Prefixes[0]
	if s.config.Redis.Named() {
		prefix = demoPrefix
		if s.store.Cluster() {
			prefix = "{" + demoPrefix + "}"
		}
		s.config.Redis.Prefixes = append(s.config.Redis.Prefixes, prefix)
	}
	s.demo, err = processor.NewDemo(processor.DemoOptions{
		Client: s.store.Client(), Prefix: prefix, Seed: uint64(time.Now().UnixNano()), Logger: s.log,
	})
	return err
}

func (s *server) buildMetrics() {
	c := s.config
	s.metrics = metrics.New(metrics.Options{
		Alias: c.Redis.Alias, Cluster: s.store.Cluster(), ReadOnly: c.ReadOnly, NoHistograms: !c.Metrics.Histograms,
		BullMQNames: c.Metrics.BullMQNames, JobNames: c.Metrics.JobNames, Version: buildVersion(), Revision: buildRevision(),
		Logger: s.log,
	})
}

// declared are the policies of the queues that are named.
func (s *server) declared() map[keys.Queue]policy.Policy {
	declared := map[keys.Queue]policy.Policy{}
	for id, q := range s.config.Queues {
		declared[id] = q.Policy
	}
	if s.demo != nil {
		maps.Copy(declared, s.demo.Policies())
	}
	return declared
}

func (s *server) buildMonitor() (err error) {
	c := s.config
	s.monitor, err = monitor.New(monitor.Options{
		Client: s.store.Client(), Prefixes: c.Redis.Prefixes, Alias: c.Redis.Alias, Tick: c.Tick,
		Declared: s.declared(), Defaults: c.Defaults, Live: s.live.Over, Include: c.QueuesInclude, Exclude: c.QueuesExclude,
		MaxQueues: c.QueuesMax, ReadOnly: c.ReadOnly, Embedded: s.store.Kind() == store.KindMemory,
		Observer: s.metrics.Jobs(), Logger: s.log,
	})
	if err == nil {
		s.metrics.Watch(s.monitor)
	}
	return err
}

func (s *server) buildWeb() (err error) {
	c := s.config
	policies, err := s.livePolicies()
	if err != nil {
		return err
	}
	activity, err := audit.New(audit.Options{Client: s.store.Client(), ReadOnly: c.ReadOnly, Logger: s.log})
	if err != nil {
		return err
	}
	auth, err := s.login()
	if err != nil {
		return err
	}
	trusted, err := s.trustedProxies()
	if err != nil {
		return err
	}
	o := web.Options{
		Monitor: s.monitor, Queue: s.queue, Policies: policies, Metrics: s.metrics.Handler(c.Metrics.Token),
		Callback: s.workers.callback(), Ready: s.ready, Auth: auth, Audit: activity, Operations: book.New(s.store.Client(), c.ReadOnly), TrustedProxies: trusted,
		BasePath: c.BasePath, PublicURL: c.PublicURL, Version: buildVersion(), Alias: c.Redis.Alias,
		Prefix: c.Redis.Prefixes[0], GroupSeparator: c.GroupSeparator, Mask: config.Masker(c.Mask), Tick: c.Tick,
		ReadOnly: c.ReadOnly, Logger: s.log, Answered: s.metrics.Request,
	}
	s.alarm.show(&o)
	s.web, err = web.New(o)
	return err
}

// queue opens the engine's view of a queue, with the defaults its policy gives to new jobs.
func (s *server) queue(id keys.Queue) (*engine.Queue, error) {
	o := engine.QueueOptions{
		Client: s.store.Client(), Prefix: id.Prefix, Name: id.Name,
		Defaults: processor.JobDefaults(s.monitor.Policy(id)),
	}
	if s.telemetry != nil {
		o.Telemetry = s.telemetry
	}
	return engine.NewQueue(o)
}

// start starts everything. The workers follow as soon as Redis answers.
func (s *server) start(ctx context.Context) error {
	if err := s.monitor.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start monitor: %w", err)
	}
	s.live.Start()
	s.alarm.start()
	s.serving = make(chan error, 1)
	go func() {
		defer close(s.serving)
		s.serving <- s.web.Serve(s.listener)
	}()
	s.workers.start()
	return nil
}

// ready says why this process cannot do its work now.
func (s *server) ready() error {
	if s.stopping.Load() {
		return errors.New("stopping")
	}
	if err := s.store.Err(); err != nil {
		return fmt.Errorf("store down: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	if err := s.store.Client().Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis does not answer: %w", err)
	}
	return s.workers.ready()
}

// banner is the one line that a start prints.
func (s *server) banner() string {
	line := fmt.Sprintf("bullpen %s: %s; dashboard at %s", buildVersion(), s.store.Describe(), s.address())
	if s.config.PublicURL != "" {
		line += " and " + s.config.PublicURL + "/"
	}
	return line
}

// address is where a browser on this machine finds the dashboard.
func (s *server) address() string {
	return urlOf(s.listener.Addr().String(), s.config.BasePath) + "/"
}

// urlOf is the address of what listens there. One that means every interface leads nowhere, so it becomes this machine.
func urlOf(listen, basePath string) string {
	host, port, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + basePath
}

// wait returns when a signal asks for the end, or with the failure of a part that cannot go on.
func (s *server) wait(signals <-chan os.Signal) error {
	select {
	case got := <-signals:
		s.log.Info("stopping", "signal", got.String(), "grace", s.config.ShutdownGrace)
		return nil
	case err := <-s.serving:
		return fmt.Errorf("dashboard: %w", err)
	case err := <-s.workers.failed:
		return err
	}
}

// stop drains the workers within the grace, which another signal ends at once, and then stops the rest in reverse
// order. It returns the jobs that went back to waiting.
func (s *server) stop(signals <-chan os.Signal) ([]processor.HandedBack, error) {
	s.stopping.Store(true)
	grace, cancel := context.WithTimeout(context.Background(), s.config.ShutdownGrace)
	defer cancel()
	drained, idle := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(idle)
		select {
		case got := <-signals:
			s.log.Warn("not waiting for running jobs", "signal", got.String())
			cancel()
		case <-drained:
		}
	}()
	back, err := s.workers.stop(grace)
	close(drained)
	<-idle
	return back, errors.Join(err, s.abort())
}

// abort stops whatever was built, last first, without regard for running jobs.
func (s *server) abort() error {
	var errs []error
	if s.web != nil {
		ctx, cancel := context.WithTimeout(context.Background(), webGrace)
		defer cancel()
		errs = append(errs, s.web.Shutdown(ctx))
	}
	s.alarm.stop()
	if s.live != nil {
		s.live.Stop()
	}
	if s.monitor != nil {
		s.monitor.Stop()
	}
	if s.listener != nil {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.serving != nil {
		errs = append(errs, <-s.serving) // nil from wait's, which is closed
	}
	if s.telemetry != nil {
		s.endTelemetry()
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}

// endTelemetry sends the last spans. That nobody takes them is no failure of this program.
func (s *server) endTelemetry() {
	ctx, cancel := context.WithTimeout(context.Background(), exportGrace)
	defer cancel()
	if err := s.telemetry.Shutdown(ctx); err != nil {
		s.log.Warn("the last spans were not sent", "component", "telemetry", "err", err)
	}
}

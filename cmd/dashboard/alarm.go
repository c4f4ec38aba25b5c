package main

import (
	"cmp"
	"strings"

	"bullpen/internal/notify"
	"bullpen/internal/outside"
	"bullpen/internal/web"
)

// alarm is what goes on about alerts beyond the monitor; each part is nil unless it is configured.
type alarm struct {
	notifier *notify.Notifier
	outside  *outside.Watcher
}

// buildAlarm makes what tells a webhook and what asks a Prometheus and an Alertmanager.
func (s *server) buildAlarm() (err error) {
	c := s.config
	if c.Notify.Webhook != "" {
		s.alarm.notifier, err = notify.New(notify.Options{
			URL: c.Notify.Webhook, Alerts: s.monitor.Alerts, Client: s.store.Client(), Alias: c.Redis.Alias,
			Base: strings.TrimRight(cmp.Or(c.PublicURL, s.address()), "/"), ReadOnly: c.ReadOnly, Logger: s.log,
		})
	}
	if err == nil && (c.PrometheusURL != "" || c.AlertmanagerURL != "") {
		s.alarm.outside, err = outside.New(outside.Options{
			Prometheus: c.PrometheusURL, Alertmanager: c.AlertmanagerURL, Alias: c.Redis.Alias, Logger: s.log,
		})
	}
	return err
}

// show lets the alerts page show how it goes.
func (a alarm) show(o *web.Options) {
	if a.notifier != nil {
		o.Webhook = a.notifier.Status
	}
	if a.outside != nil {
		o.Outside = a.outside.State
	}
}

func (a alarm) start() {
	if a.notifier != nil {
		a.notifier.Start()
	}
	if a.outside != nil {
		a.outside.Start()
	}
}

// stop ends it, once a message under way is answered.
func (a alarm) stop() {
	if a.notifier != nil {
		a.notifier.Stop()
	}
	if a.outside != nil {
		a.outside.Stop()
	}
}

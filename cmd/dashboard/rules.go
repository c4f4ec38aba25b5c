package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"bullpen/alerts"
	"bullpen/internal/config"
)

// rules prints the recording and the alerting rules as one file for Prometheus.
func (p *program) rules(_ context.Context, args []string) error {
	set, flags := p.commonFlags("rules")
	job := set.String("job", "bullpen", "`NAME` of the scrape job in Prometheus")
	if _, err := p.parse(set, args, 0); err != nil {
		return err
	}
	c, err := p.configure(flags)
	if err != nil {
		return err
	}
	o := alerts.Options{Job: *job, URL: cmp.Or(c.PublicURL, localURL(c))}
	var recording, alerting bytes.Buffer
	if err := alerts.WriteRecording(&recording, o); err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	if err := alerts.WriteAlerts(&alerting, o); err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	// A rule file has one list of groups: those of the second follow those of the first.
	second := strings.Replace(alerting.String(), "\ngroups:\n", "\n", 1)
	_, err = fmt.Fprint(p.out, recording.String(), "\n", second)
	return err
}

// localURL is the dashboard's address where no public one is configured.
func localURL(c *config.Config) string { return urlOf(c.Listen, c.BasePath) }

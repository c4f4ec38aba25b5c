package alerts

import "time"

// Severity says who is told.
type Severity string

// The severities.
const (
	Critical Severity = "critical" // a page
	Warning  Severity = "warning"  // a ticket, or a chat in working hours
	Info     Severity = "info"     // dashboard and digest only
	None     Severity = "none"     // the watchdog
)

// Component is what an alert is about; the Alertmanager routes and inhibits by it.
type Component string

// The components.
const (
	Queue    Component = "queue"
	Redis    Component = "redis"
	Exporter Component = "exporter"
	Watchdog Component = "watchdog"
)

// Alert is one alerting rule. Two may share a name, as two windows or two severities of one problem.
type Alert struct {
	Name      string
	Component Component
	Severity  Severity
	// Label and Value tell apart two rules of one name and severity; empty when there is one.
	Label, Value string
	// Expr selects what is wrong; its value is the figure in the texts.
	Expr Expr
	// For is how long Expr must hold, KeepFiring how long the alert stays after it stopped.
	For, KeepFiring time.Duration
	// Summary and Description are templates of Prometheus: $labels, $value, humanize, humanizeDuration and
	// humanizePercentage.
	Summary, Description string
	// Runbook is the name of its page.
	Runbook string
	// Note says why the rule is as it is.
	Note string
	// Outside marks what only a Prometheus can see: that this program cannot be scraped.
	Outside bool
}

// Labels are the labels the rule adds.
func (a Alert) Labels() map[string]string {
	l := map[string]string{"severity": string(a.Severity), "component": string(a.Component)}
	if a.Label != "" {
		l[a.Label] = a.Value
	}
	return l
}

// Alerts returns every alerting rule. job is the name of the scrape job in Prometheus.
func Alerts(job string) []Alert {
	out := exporterAlerts(job)
	out = append(out, queueAlerts()...)
	return append(out, redisAlerts()...)
}

const (
	minute = time.Minute
	hour   = time.Hour
)

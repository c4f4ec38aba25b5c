package templates

import "testing"

func alertRows() []AlertRow {
	return []AlertRow{
		{
			Look: Health{"firing", "s-failed", "h-crit"}, Name: "BullMQQueueWithoutWorkers", Severity: "critical", About: scripty, Figure: "3,204",
			Subject: &Link{Label: scripty, URL: "/queues/x"}, Since: When{"2026-03-12T14:08:00Z", "14 min ago", "12 March"}, Do: "Start a worker.", Runbook: Link{Label: "No workers", URL: "/runbooks/no-workers"},
		},
		{Look: Health{"unknown", "h-idle", "h-unknown"}, Name: "BullMQWaitTargetMissed", Severity: "warning", About: "Jobs wait longer.", Until: "unknown until 14:30", Runbook: Link{Label: "Waits", URL: "/runbooks/wait-target"}},
	}
}

func TestAlertViews(t *testing.T) {
	rows := alertRows()
	golden(t, "alerts", AlertsView(AlertsPage{
		Look: Health{"firing", "s-failed", "h-crit"}, Title: "1 alert is firing", Say: "One is unknown.", Aged: true,
		Groups: []AlertGroup{{Label: "Firing", Count: "1", Rows: rows[:1]}, {Label: "Unknown", Count: "1", Rows: rows[1:]}},
	}))
	rows[0].Beside = []string{"firing", "1 silenced until 14:30"}
	golden(t, "alerts-beside", AlertsView(AlertsPage{
		Look: Health{"firing", "s-failed", "h-crit"}, Title: "1 alert is firing", Beside: "Prometheus, Alertmanager",
		Groups: []AlertGroup{{Label: "Firing", Count: "1", Rows: rows[:1]}}, Facts: []Detail{{Label: "Prometheus", Value: scripty}},
		Silences: []SilenceRow{{Matchers: scripty, Until: When{"2026-03-12T14:30:00Z", "in 16 min", "12 March"}, By: scripty, Comment: scripty, URL: "javascript:alert(1)"}},
	}))
	golden(t, "runbook", RunbookView(RunbookPage{Crumbs: []Crumb{{"Alerts", "/alerts"}, {"No workers", ""}}, Title: "No workers", HTML: "<h2>What it means</h2>\n<p>Jobs wait.</p>", Rules: rows}))
	golden(t, "runbook-without-rules", RunbookView(RunbookPage{Title: "Watchdog", HTML: "<p>x</p>"}))
}

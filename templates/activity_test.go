package templates

import "testing"

func TestActivityView(t *testing.T) {
	v := ActivityPage{
		Title: "Activity", Say: "What people did.", Filter: ActivityFilter{URL: "/activity", Query: scripty, Outcomes: []Option{{"", "All results", true}, {"done", "done", false}}},
		Rows: []ActivityRow{
			{
				When: When{"2026-03-12T14:20:55Z", "70 s ago", "12 March"}, Who: scripty, Role: "admin", Remote: ", from 127.0.0.1", Action: "Retry", Queue: &Link{Label: "email", URL: "/queues/email"},
				Jobs: []Link{{Label: scripty, URL: "/queues/email/jobs/1"}, {Label: "2", URL: "/queues/email/jobs/2"}}, More: " and 8 more",
				Outcome: Health{"done", "s-completed", "s-completed"}, Message: "Retried 10 jobs.", Operation: &Link{Label: "Operation 3", URL: "/operations/3"},
			},
			{Who: "eve", Role: "viewer", Action: "Drain", Queue: &Link{Label: "email", URL: "/queues/email"}, Target: &Link{Label: "all that were failed"}, Outcome: Health{"refused", "s-delayed", "h-warn"}, Message: "Not allowed"},
		},
		Pager: &Pager{Label: "Pages of activity", Text: "2 entries", PrevLabel: "Newest", NextURL: "/activity?before=1-0", NextLabel: "Older"},
	}
	golden(t, "activity", ActivityView(v))
	golden(t, "activity-empty", ActivityView(ActivityPage{Title: "Activity", Empty: &EmptyState{Title: "Nobody has changed anything yet"}}))
	golden(t, "activity-trouble", ActivityView(ActivityPage{Title: "Activity", Trouble: &Notice{Class: "s-failed", Icon: "h-crit", Strong: "The activity cannot be read."}}))
}

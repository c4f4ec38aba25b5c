package templates

import "testing"

func schedulerRowModel() SchedulerRow {
	done, at := StateOf("completed"), When{"2026-03-12T14:20:55Z", "70 s ago", "12 March 2026, 14:20:55 UTC"}
	return SchedulerRow{
		Key: scripty, URL: "/queues/a/schedulers/x", Job: scripty, Badges: []BadgeView{{"h-warn", "h-warn", "stopped"}},
		Rhythm: "Every weekday at 09:30", Rule: "30 9 * * 1-5", Zone: "Europe/Berlin", Bounds: "until 1 January 2030",
		Last:  SchedulerRun{When: at, State: &done, URL: "/queues/a/jobs/1", Note: "completed"},
		Next:  SchedulerRun{When: at, Note: "overdue, no worker", Why: true},
		Count: "3 of 9", Template: Payload{Code: []CodeToken{{"mask", "masked"}}},
		Acts: []Act{
			{Label: "Run now", URL: "/queues/a/schedulers/x/run", About: scripty, Leaves: true, Fields: []Field{{"back", "/schedulers"}}},
			{Label: "Edit…", URL: "/queues/a/schedulers/x/edit", About: scripty},
		},
		Firings: Firings{Zone: "Europe/Berlin", Own: "UTC", Rows: []Firing{{Clock: "Thu 12 Mar 2026, 09:30:00", Own: at, At: at}}},
	}
}

func TestSchedulersView(t *testing.T) {
	row := schedulerRowModel()
	other := row
	other.Acts, other.Away, other.Firings = nil, "It has 5 KB.", Firings{None: "None. All its firings are done."}
	v := SchedulersPage{
		Title: "2 schedulers", Say: "In 1 queue.", Links: []Act{{Label: "New scheduler…", URL: "/queues/a/schedule"}},
		Groups: []SchedulerGroup{{Name: "a", URL: "/queues/a/schedulers", Note: "2 schedulers", Rows: []SchedulerRow{row, other}}},
		Pager:  &Pager{Label: "Pages of schedulers", Text: "1–25 of 30", NextURL: "/schedulers?page=2", NextLabel: "Next", PrevLabel: "Previous"},
	}
	golden(t, "schedulers", SchedulersView(v))
	v.Groups, v.Pager, v.Empty = nil, nil, &EmptyState{Title: "No scheduler"}
	golden(t, "schedulers-empty", SchedulersTable(v))
}

func TestSchedulerView(t *testing.T) {
	row := schedulerRowModel()
	golden(t, "scheduler", SchedulerView(SchedulerPage{
		Crumbs: []Crumb{{"Overview", "/"}, {scripty, ""}}, State: State{Label: "Scheduled", Class: "s-delayed", Icon: "s-delayed"}, Key: scripty,
		Finding: "Every weekday at 09:30.", Say: "It fires next in 3 h.", Acts: row.Acts[:1], Links: row.Acts[1:], Firings: row.Firings,
		Template: []Payload{{ID: "p-data", Title: "Data of its jobs", Code: []CodeToken{{"k", scripty}}}}, Facts: []Fact{{Label: "Rhythm", Value: scripty}},
		Raw: []RawField{{Name: "ic", Size: "1 B", Text: "3"}}, RawKey: "bull:a:repeat:x",
	}))
	golden(t, "ask-firings", AskPage(Ask{Title: "Save?", Firings: &row.Firings, Yes: "Save", No: "Cancel"}))
}

func TestJobFlow(t *testing.T) {
	root := &FlowNode{
		State: StateOf("waiting-children"), Label: "Waiting for children", ID: "root", Name: scripty, URL: "/queues/a/jobs/root", Queue: "a",
		Note: "3 children: 2 unprocessed, 1 processed", Blocking: true,
		Children: []*FlowNode{
			{State: StateOf("failed"), Label: "Failed", ID: scripty, Here: true, Blocking: true, Hold: "holds it up", Note: scripty},
			{State: State{"", "Hidden", "", "s-paused", "h-unknown"}, Label: "Hidden", Note: "in a queue that you may not see"},
		},
		More: &Link{Label: "1 more", URL: "/queues/a/jobs/root?flow=below#flow"},
	}
	golden(t, "flow", JobFlow(FlowTree{Root: root, Finding: "Held up by x.", FindingURL: "/queues/a/jobs/x", Note: "Its parent is gone.", Links: []Link{{Label: "The whole flow", URL: "/queues/a/jobs/root#flow"}}}))
	golden(t, "flow-part", JobFlow(FlowTree{Part: &FlowPart{Title: "Children that are processed", Rows: root.Children, Links: []Link{{Label: "More", URL: "/x"}}}}))
	golden(t, "flow-none", JobFlow(FlowTree{}))
}

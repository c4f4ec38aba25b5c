package templates

import "testing"

func TestSearchView(t *testing.T) {
	v := SearchPage{
		Title: "2 jobs found so far", Say: "Looked at 20,000 of about 1,204,311 jobs in 0.8 s.",
		Filter: FilterBar{Label: "Search jobs", Hint: "name:", Verb: "Search", URL: "/search", Query: `name:"` + scripty + `"`, Chips: []Chip{{"name", `"` + scripty + `"`, "/search?q="}, {"", "word", "/search"}}},
		Groups: []FoundGroup{{Queue: scripty, URL: "/queues/x", Rows: []FoundRow{
			{ID: scripty, URL: "/queues/x/jobs/~3Cscript~3E", State: StateOf("failed"), Name: scripty, When: When{"2026-03-12T14:20:55Z", "70 s ago", "12 March"}, Attempts: "3/3", Text: scripty},
			{ID: "2", URL: "/queues/x/jobs/2", State: StateOf("failed"), Name: "–", Attempts: "–", Text: "data missing", Gone: true},
		}}},
		Progress: &ScanProgress{Value: 20_000, Max: 1_204_311, GoOnURL: "/search?from=x", Auto: true},
		Troubles: []Notice{{Class: "s-delayed", Icon: "h-warn", Strong: "Some jobs could not be looked at."}},
		Help:     []Example{{"age:>1h", "older"}},
	}
	golden(t, "search", SearchView(v))
	v.Groups, v.Progress, v.Troubles = nil, &ScanProgress{Text: "Looked at 5 jobs."}, nil
	v.Empty, v.HelpOpen = &EmptyState{Title: "Nothing found"}, true
	v.Filter = FilterBar{Label: "Search jobs", Verb: "Search", URL: "/search", Input: "colour:" + scripty, Problem: "There is no key colour."}
	golden(t, "search-problem", SearchView(v))
}

func TestFilteredList(t *testing.T) {
	v := queueModel()
	v.List.Filter = &FilterBar{Label: "Filter failed jobs", Verb: "Filter", URL: "/queues/webhooks", Fields: []Field{{"state", "failed"}}, Query: "age:<2d", Chips: []Chip{{"age", "<2d", "/queues/webhooks?state=failed"}}}
	v.List.ExportURL = "/queues/webhooks/export?state=failed"
	v.List.Progress = &ScanProgress{Text: "Looked at 2,310 jobs.", GoOnURL: "/queues/webhooks?from=x"}
	golden(t, "queue-filtered-bar", JobListBar(v.List))
	golden(t, "queue-filtered", JobTable(v.List))
}

func TestFailuresView(t *testing.T) {
	v := FailuresPage{
		Title: "86,077 failed jobs in 14 groups", Finding: "83,160 of them are being retried now.", Say: "240 failed in the last hour.",
		Filter: FailureFilter{URL: "/failures", Query: scripty, Within: []Option{{"", "Any time", true}}, Sort: []Option{{"newest", "Newest", false}}},
		Shares: &Shares{Says: "Share of each group", Parts: []ShareBar{{"sg0", "0%", "48%"}}, Marks: []ShareMark{{"0%", "48 %", scripty}}, Legend: []ShareMark{{"", "48 %", "x"}}},
		Heads:  []Head{{Label: "Jobs ↓", Class: "n", URL: "/failures", Sorted: "descending"}, {Label: "Error"}},
		Groups: []FailureRow{
			{
				ID: "3f9a01c2d4e5", Count: "1,388", Error: []ErrorPart{{Mark: "n"}, {Text: " Service Unavailable from " + scripty}}, Sample: "503 " + scripty, URL: "/search?q=failure%3A3f9a01c2d4e5",
				Badges: []BadgeView{{"s-failed", "i-plus", "new"}}, Name: scripty, Queues: []Link{{Label: "webhooks", URL: "/queues/webhooks"}, {Label: "email", URL: "/queues/email"}}, More: "and 2 more",
				Trend: "M0 21v-8h3v8z", Says: "Failed per hour", First: When{"2026-03-06T00:00:00Z", "6 days ago", "6 March"}, Last: When{"2026-03-12T14:21:00Z", "1 min ago", "12 March"},
				Act: &Act{Label: "Retry 1,388…", Icon: "i-retry", URL: "/failures/3f9a01c2d4e5/retry", Asks: true},
				Menu: []Act{
					{Label: "Show the jobs", URL: "/search?q=x"},
					{Label: "Retry one first", URL: "/queues/webhooks/jobs/1/retry", Fields: []Field{{"seen", "failed"}}},
					{Label: "Remove 1,388…", Class: "bad", URL: "/failures/3f9a01c2d4e5/remove", Asks: true},
				},
			},
			{ID: "b", Count: "41", Error: []ErrorPart{{Text: "x"}}, URL: "/x", Name: "resize", Act: &Act{Label: "Retry 41", URL: "/failures/b/retry", Fields: []Field{{"back", "/failures"}}}},
			{ID: "c", Count: "83,160", Error: []ErrorPart{{Text: "y"}}, URL: "/y", Name: "write", Running: &RunningAct{Text: "Retrying, 61 % done", URL: "/operations/3", Value: 61, Max: 100}},
		},
		Troubles: []Notice{{Class: "s-delayed", Icon: "h-warn", Strong: "The failed jobs of x cannot be read."}},
		Note:     "Counted over all 86,077 failed jobs.",
		Pager:    &Pager{Label: "Pages of groups", Text: "1–50 of 60", NextURL: "/failures?page=2", NextLabel: "Next", PrevLabel: "Previous"},
	}
	golden(t, "failures", FailuresView(v))
	v.Groups, v.Pager, v.Shares, v.Troubles = nil, nil, nil, nil
	v.Empty = &EmptyState{Title: "No failed jobs"}
	golden(t, "failures-empty", FailureGroups(v))
	golden(t, "part-copy", CopyButton("p-data-text"))
}

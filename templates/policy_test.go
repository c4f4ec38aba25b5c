package templates

import "testing"

func policyPage() PolicyPage {
	when := When{ISO: "2026-03-12T14:22:05Z", Text: "70 s ago", Exact: "12 March 2026, 14:22:05 UTC"}
	changes := []PolicyChange{{"concurrency", "4", "8"}, {"limiter", "none", "50 per 1s"}}
	return PolicyPage{
		Crumbs: []Crumb{{Label: "Overview", URL: "/"}, {Label: "webhooks", URL: "/queues/webhooks"}, {Label: "Policy"}},
		Health: Health{Label: "needs attention", Class: "h-crit", Icon: "h-crit"}, Title: "Retries fill the limiter of webhooks",
		Say: "34.0 new jobs a second become 54.4 starts, the limiter lets 50.0 through, and", Strong: "4.4 a second are left over.", More: "Workers are not the limit.",
		Acts: []Act{{Label: "Edit limits", Icon: "i-edit", URL: "/queues/webhooks/policy/propose"}},
		Proposal: &Proposal{
			Title: "A change waits for approval", Why: "<b>more</b>", By: "ada", When: when, Changes: changes,
			Effects: []Detail{{Label: "Ceiling", Value: "20 at once → 40 at once"}, {Label: "Touches", Value: "2 workers", Small: "1 worker of others: not touched"}},
			Acts:    []Act{{Label: "Approve", URL: "/approve", Fields: []Field{{"number", "3"}}, Disabled: true, Why: "You proposed it."}, {Label: "Reject…", URL: "/reject", Asks: true}}, Note: "Two people have to agree.",
		},
		Rates: Rates{Axis: "the dashed line is the limiter, 50", Mark: "80.65%", Rows: []RateRow{
			{Label: "Starts wanted", Value: "54.4", From: "new jobs and retries", Bars: []RateBar{{Class: "s-waiting", X: "0.00%", Width: "80.65%"}, {Class: "s-failed", X: "80.65%", Width: "7.10%", Open: true}}},
		}},
		Helps: Helps{Backlog: "Backlog of 3,960", Note: "In flight needed is starts per second × mean run time.", Rows: []Help{
			{Class: "h-crit", Change: "As it is", Sub: "38 % failing", Starts: "54.4/s", Bar: "72.31%", Mark: "76.92%", InFlight: "18.8", Ceiling: " / 20", UsedUp: "0.8 %", Outcome: "grows by 264/min"},
			{Class: "h-ok", Change: "One more worker", InFlight: "–", Starts: "54.4/s", UsedUp: "0.8 %", Outcome: "none"},
		}},
		Budget: Budget{
			Strong: "An outage of more than 15 s uses up every attempt.", Text: "That is the wait.", Facts: []Fact{{Class: "s-failed", Label: "Attempts per job", Value: "1.60", Small: "usually 1.02"}},
			Windows: &Windows{Title: "When attempts start", Story: "Attempts: 2 after 1 s", Bars: []WindowBar{{X: "0%", Width: "0.4%", Label: "1", LabelX: "0%"}, {X: "50%", Width: "5%"}}, Ticks: []PlotTick{{At: "0%", Label: "0 s"}}},
		},
		Ceiling: Ceiling{
			Sum: []Term{{Number: "5", Word: "workers"}, {Sign: "×", Number: "4", Word: "each"}}, Slots: &Slots{ViewBox: "0 0 357 15", Story: "1 of 2 places taken", Places: []Slot{{"0.5", true}, {"18.5", false}}},
			Meter: &Meter{Class: "m-ok", Value: 1, Max: 2}, Notes: []string{"1 of 2 places taken."}, Need: []Term{{Number: "50", Word: "starts/s"}}, Spare: "86 % of the ceiling.",
		},
		Settings: []PolicySetting{{Field: "concurrency", Value: "8", Source: "live, revision 1", Other: "bullpen.yaml says 4", Class: "s-active"}, {Field: "timeout", Value: "10s", Source: "bullpen.yaml"}},
		Warnings: []PolicyWarning{{"backoff", "all attempts are used up"}},
		Fleet:    Fleet{Rows: []FleetRow{{Name: "a:1", Where: "a, process 1", Concurrency: "4", Revision: "revision 1", File: "abc", Class: "s-failed"}}, Drift: "1 worker is behind.", Note: "2 more."},
		Sizing: Sizing{
			URL: "/queues/webhooks/policy#sz", Inputs: []Input{{Kind: "text", Name: "rate", Label: "Requests per second", Value: "50", Problem: "Not understood."}},
			Results: []Detail{{Label: "Limiter", Value: "50 per 1 s"}, {Label: "In flight", Value: "10", Small: "about 3 per replica"}}, Why: []string{"Because."},
			Propose: &Act{Label: "Propose these values", URL: "/queues/webhooks/policy/propose?concurrency=4"}, Note: "Fill it in.",
		},
		History: History{Note: "Never changed.", Rows: []HistoryRow{{Class: "s-completed", Icon: "s-completed", Title: "Revision 1", When: when, By: "ada", Why: "more", Changes: changes, Act: &Act{Label: "Roll back…", URL: "/rollback?to=1"}}}},
	}
}

func TestPolicy(t *testing.T) {
	golden(t, "policy", PolicyView(policyPage()))
	bare := PolicyPage{
		Title: "Policy of webhooks", Health: Health{Class: "h-unknown"}, Trouble: &Notice{Class: "s-failed", Icon: "h-crit", Strong: "It cannot be read."},
		Rates: Rates{Note: "Not known yet."}, Fleet: Fleet{Note: "No worker."},
	}
	golden(t, "policy-bare", PolicyView(bare))
}

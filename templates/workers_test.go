package templates

import "testing"

func TestWorkersView(t *testing.T) {
	v := WorkersPage{
		Title: "2 workers", Say: "1 queue has workers.", Query: scripty, URL: "/workers", Aged: true,
		Unknown: &Notice{Class: "s-delayed", Icon: "h-unknown", Strong: "Workers of BullMQ are unknown."},
		Groups: []WorkerGroup{{Name: scripty, URL: "/queues/x", Note: "2 workers", Rows: []WorkerRow{
			{Name: scripty, Kind: "Bullpen", Badges: []BadgeView{{"s-delayed", "h-warn", "policy differs"}}, Where: "host-1, process 7", Connected: "3 h", Idle: "2 s", Active: "1", Concurrency: "4", Longest: "9 s", Version: "1.0", Policy: "abc"},
			{Name: "no name", Kind: "BullMQ", Where: "10.0.0.7:1", Connected: "–", Idle: "–", Active: "–", Concurrency: "–", Longest: "–", Version: "–", Policy: "–"},
		}}},
		Pager: &Pager{Label: "Pages of workers", Text: "1–20 of 21 queues", PrevLabel: "Previous", NextLabel: "Next", NextURL: "/workers?page=2"},
	}
	golden(t, "workers", WorkersView(v))
	golden(t, "workers-empty", WorkersTable(WorkersPage{Empty: &EmptyState{Title: "No worker is connected"}}))
}

// Package monitor watches queues. One collector per Redis reads counts, limiter, workers and server figures in
// pipelined passes of constant-time commands and publishes immutable snapshots; pages, metrics and alerts read those
// and never ask Redis themselves. It writes nothing but its own keys under "bullpen:".
//
// Where to begin: Monitor (monitor.go) runs the loops. A search (discover.go) finds queues and hands them over through
// finds. The collector (collector.go) decides what a pass reads, read.go sends it, figures.go and oldest.go turn
// answers into numbers, and a track (track.go) remembers what one queue looked like before: totals and rates
// (rates.go), minutes (minutes.go), since when something has been so (since.go). From these, judge (health.go) makes
// the verdict. Followers (events.go and its neighbours) read the event streams; totals.go is what they agree on with
// the collector. Load and Sizing (sizing.go) work out what a policy means at the measured rates. The alert watch
// (alerts.go) turns a snapshot into samples for package alerting, which evaluates the rules.
package monitor

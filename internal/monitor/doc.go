// Package monitor watches queues. One collector per Redis reads counts, limiter, workers and server figures in
// pipelined passes of constant-time commands and publishes immutable snapshots; pages, metrics and alerts read those
// and never ask Redis themselves. It writes nothing but its own keys under "bullpen:".
package monitor

// Package failures counts failed jobs, or dead letters, by kind: those with one job name and one folded error are a group, across queues.
//
// One Collector serves all viewers. It remembers the newest failed jobs of each queue and reads only what is new since
// its last pass; a pass is bounded in jobs and time, and with every pass it knows older ones too, up to a limit. What it
// has not seen it says.
package failures

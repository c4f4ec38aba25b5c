// Package alerting evaluates the rules of package alerts inside this program, over a history kept in memory, so that alerts
// work without a Prometheus. It understands the part of PromQL those rules use and answers as Prometheus 2.42 does: the
// tests feed both the same series and compare every alert at every step.
//
// Every Interval the caller gives the engine the samples that /metrics shows at that moment; the engine evaluates the
// recording rules, then the alerts. It does no I/O.
//
// Cost: a sample that repeats the one before takes no memory. A queue whose every figure changes all the time takes
// about 100 KB for the six hours the longest window looks back, a quiet one about 5 KB.
package alerting

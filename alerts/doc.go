// Package alerts is the one table of Bullpen's recording and alerting rules: expressions, thresholds, windows, texts and
// runbooks. The rule files for Prometheus beside it are generated from the table (go generate), `dashboard rules`
// prints them for one configuration, and the alerts page evaluates the same expressions inside.
//
// An expression is a value of type Expr, not a text: that is how one source can be printed as PromQL, evaluated over
// the monitor's own history, and compressed in time for a test that runs real Prometheus.
//
// Conventions of the rules:
//
//   - Every replica exports the same global facts, so replicas are collapsed with max, never with sum.
//   - For counters the order is rate first, max second: the rate of a maximum takes the loss of the most advanced
//     replica for a reset of the counter.
//   - last_over_time over two minutes bridges a lost scrape or a restart, so that a hole does not reset a pending alert.
//   - No threshold for one queue: all come from the policy the exporter shows for every queue.
package alerts

//go:generate go run ./generate

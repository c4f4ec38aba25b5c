// Package judge measures what Bullpen promises to those who watch many queues: how long pages take with 5,000 queues and
// 1,000,000 failed jobs, what a large payload and many tabs cost, and what a bulk act does to other clients of the same
// Redis. It runs the built program against a redis-server of its own and holds tests only.
//
// `make judge` measures at full size, takes some minutes, writes the figures into docs/benchmarks.md and fails when one
// misses its target. Without BULLPEN_JUDGE the same code runs at a small size and judges no times.
package judge

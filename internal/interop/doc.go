// Package interop holds no code of the product: its tests prove that the engine and BullMQ are the same to each other.
//
// The real bullmq packages (6.7.0, and 5.81.5 as "bullmq5") run in testdata/node. Four suites use them:
//
//   - scenarios: testdata/scenarios/*.yaml, one file per group of transitions; each scenario is executed once by Node
//     and once by the engine on databases of their own, then every key and the whole event stream are compared;
//   - random: sequences of steps on three queues (jobs, flows, schedulers, deduplication) drawn by a seed, compared after
//     each step, shrunk when they differ;
//   - mixed: each step by a random side on one database, with invariants in place of a comparison;
//   - end to end: real workers and producers of both kinds on one queue, and the faults of a bad day.
//
// Random and mixed print their seeds; -rapid.seed repeats one. BULLPEN_SOAK=30m makes both run that long; without it they
// take half a minute each.
package interop

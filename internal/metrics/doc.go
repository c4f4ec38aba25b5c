// Package metrics is the Prometheus view of the monitor and of the workers that run here.
//
// Facts about queues, jobs and Redis are named bullmq_, facts about this process bullpen_. Every figure about a queue
// comes from the monitor's last snapshot, so a scrape asks Redis nothing, and a series disappears with its queue. Each
// help text says whether a series is global (read from Redis and equal on every replica: aggregate with max) or local
// (seen by one process: aggregate with sum, or where a sum has no meaning with max). What is not known is absent, never 0.
//
// Cardinality is bounded: at most Options.MaxQueues queues, about 50 series each and 69 more with histograms, about 30
// per Redis, and some 80 per process.
package metrics

// Package engine runs BullMQ queues on Redis: it adds, takes, finishes and repairs jobs with exactly the keys, fields,
// scores and events of BullMQ 6, so that a queue can be shared with BullMQ clients of any language.
//
// A [Queue] adds and administers jobs, a [Job] is one unit of work, a [Worker] takes jobs and runs a [Handler] for each,
// [QueueEvents] follows what happens and waits for a job's end. Every transition is one atomic Lua script (package
// scripts); scripts take many jobs per call. Every timestamp comes from the caller's clock in milliseconds, never from
// the server.
//
// A [FlowProducer] adds trees of jobs, in which parents wait for the jobs below them; [Queue.FlowView] tells what holds
// one up. [Queue.UpsertScheduler] makes a queue fire a job again and again; the worker that takes one firing adds the
// next. [Telemetry] traces jobs from their producer to their handler and on.
//
// # What a worker promises
//
// A job is run at least once, and exactly once while its worker lives and Redis keeps what it answered. A worker holds a
// lock on each job it runs and renews it; when the lock expires, because the worker died or was cut off, another worker's
// stall check puts the job back, and what the first one says later is refused. A handler should therefore be idempotent.
//
// The result of a handler is sent until Redis is known to have taken it, over restarts, failovers and broken
// connections, for as long as the lock holds. A reply that is lost after the script ran neither repeats the transition
// nor loses the jobs that the same script took.
//
// A panic, a result that cannot be encoded, and options or data that are not valid JSON fail the attempt with a reason;
// they never take down the process or keep other jobs from running.
//
// # What a handler's error means
//
// Any error fails the attempt; the job's attempts and backoff decide what follows. [Unrecoverable] fails the job for
// good, [RetryAfter] names the delay, [RateLimit] stops the whole queue for a while and [DelayJob] postpones the job, the
// last two without consuming an attempt.
package engine

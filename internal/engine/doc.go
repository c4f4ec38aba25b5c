// Package engine runs BullMQ queues on Redis: it adds, takes, finishes and repairs jobs with exactly the keys, fields,
// scores and events of BullMQ 6, so that a queue can be shared with BullMQ clients of any language.
//
// A Queue adds and administers jobs, a Job is one unit of work, a Worker takes jobs and runs a Handler for each. Every
// transition is one atomic Lua script (package scripts); scripts take many jobs per call. Every timestamp comes from
// the caller's clock in milliseconds, never from the server.
package engine

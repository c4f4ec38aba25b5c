// Package processor is what workers do with a job: the HTTP worker posts each attempt to a URL, the command worker runs
// it as a child process, and the demo work makes five queues that look like a real system. All three are plain
// engine.Handlers.
//
// WorkerOptions turns the policy of a queue into the options of an engine worker; a Pool starts many of them, announces
// them (package presence) and stops them within a bounded time.
//
// # What a handler sees
//
// Both workers give the job as one JSON object:
//
//	{"queue":"webhooks","id":"17","name":"order.paid","data":{…},"opts":{…},"attempt":1,"attempts":5,
//	 "attemptsStarted":1,"timestamp":1764500000000,"priority":0,"progress":0,"parent":null}
//
// data is byte for byte what Redis holds; opts carries BullMQ's public option names; attempt counts from 1.
//
// # Callbacks
//
// While an attempt of the HTTP worker runs, the URL in its Bullpen-Callback header takes
//
//	POST {"progress":…}, {"log":"…"}, {"data":…}   any of them, together or alone: 204
//	GET  …/children                                results of the job's children, by job key: 200
//
// A forged URL is answered 403, one whose attempt is over 410. Callbacks makes and serves these URLs on every replica
// that shares the key.
package processor

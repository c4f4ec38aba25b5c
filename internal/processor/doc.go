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
// # Commands
//
// A command gets that object as one line on stdin. Each line on stdout that is a JSON object with one of these members
// is a message; every other line, and all of stderr, becomes a row of the job's log:
//
//	{"progress":…}           any JSON value; reports within 100 ms of each other are merged
//	{"log":"…"}              a log row
//	{"result":…}             the job's result; the last one counts
//	{"error":"…"}            fails the attempt with this reason, whatever the exit code
//	{"unrecoverable":"…"}    the same, without another attempt; true takes the reason from error or stderr
//	{"delay_ms":n}           with a non-zero exit: run again in n ms, no attempt consumed
//	{"rate_limit_ms":n}      with a non-zero exit: stop the whole queue for n ms, no attempt consumed
//
// Exit code 0 completes the job, 65 is unrecoverable, and any other code, a signal or the time limit fails the attempt
// with the error's text or the last lines of stderr as reason. A log row is cut at 8 KB, an attempt's log at 1,000 rows
// or 1 MB; the log says so. A shutdown lets a command go on and sends SIGTERM to its group shortly before the grace ends
// (a command that dies of it goes back to waiting, no attempt consumed), and SIGKILL when it has ended.
//
// # Callbacks
//
// While an attempt of the HTTP worker runs, the URL in its Bullpen-Callback header takes
//
//	POST {"progress":…}, {"log":"…"}, {"data":…}   any of them, together or alone: 204
//	GET, also of …/children                        results of the job's children, by job key: 200
//
// A forged URL is answered 403, one whose attempt is over 410. Callbacks makes and serves these URLs on every replica
// that shares the key.
package processor

// Package scripts holds every transition of a queue as one Lua script, and one typed Go function for each.
//
// A script is one file named verbObject.lua whose header gives its keys, arguments and reply; pieces that several
// transitions share are in includes/ and are pulled in by a directive line (see source.go). Scripts keep to what
// Redis 6, Redis 7 and the in-process store all run.
//
// Every script gets one key, the queue's meta hash, which names the queue and routes the call in a cluster; all other
// keys of the queue, of its parents and of its dead-letter queue are derived from it, so that in a cluster all of them
// must share one hash tag. Times are the caller's clock in milliseconds; the server's clock is never used.
//
// Functions that take several jobs answer with one Code per job, in order; for every job the keys, fields and events
// that other clients see are the same as if the jobs had been given one by one. An error is returned only when the
// script as a whole did not run or its outcome is unknown (see Runner).
package scripts

// Package livepolicy changes the policy of a queue while its workers run. A change is proposed with a reason, approved
// or rejected, is live on every replica within a second and can be rolled back; what was done stays on record.
//
// # What can be changed
//
// Values are the settings that have a meaning at run time: concurrency, limiter, backoff and retention of Bullpen's
// workers, the attempts and backoff of jobs added through Bullpen, and what the queue's meta hash holds for every
// client's workers, that is the global concurrency and a limiter whose scope is the queue. A change may pause or resume
// the queue too. A value that was set live beats the file until it is rolled back.
//
// # How it spreads
//
// The record of a queue, keys.Queue.LivePolicy(), is written in one transaction with the queue's meta hash and with its
// revision in the prefix's index, keys.LiveIndex. Each replica's Watcher reads that one small hash twice a second and
// loads the records whose revision is new. Nothing is published: a message can be lost, a poll can not.
package livepolicy

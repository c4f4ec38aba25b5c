// Package notify tells a webhook when an alert begins to fire and when it ends, for installations without an
// Alertmanager. Messages have the form of the Alertmanager's webhook, so that what takes those takes these.
//
// All replicas evaluate the alerts; one of them, by a lease in Redis, sends. What was told is kept in Redis beside the
// lease, so that neither a restart nor another sender tells it again, and the end is told too. Delivery is at least
// once: a sender that dies between an answer and the note of it has told something that its successor tells again, with
// the same Idempotency-Key.
package notify

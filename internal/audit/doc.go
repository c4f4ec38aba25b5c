// Package audit keeps what people did through Bullpen in Redis: one capped stream for all its replicas, read newest
// first. It holds who, what and with which result, never a job's data.
package audit

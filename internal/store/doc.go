// Package store opens the Redis that holds the queues: a configured server (single, Sentinel, Cluster, TLS, unix
// socket), else a private redis-server or valkey-server child with an append-only file, else a store inside this
// process for a first look. Whatever it is, the rest of the program sees a go-redis client.
//
// Clients made here never retry a command by themselves: a script whose reply was lost may have run, and running it
// twice could add a job twice. Callers decide.
package store

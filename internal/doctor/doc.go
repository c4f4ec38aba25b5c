// Package doctor examines a configuration and the Redis it names, and says in words what would lose jobs and what will
// hurt later. It writes nothing: its permission tests are writes that cannot take effect.
package doctor

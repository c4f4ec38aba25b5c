package store

import "github.com/redis/go-redis/v9"

// Forbidden reports whether Redis refused a command because the user it was sent by lacks the permission.
func Forbidden(err error) bool { return redis.HasErrorPrefix(err, "NOPERM") }

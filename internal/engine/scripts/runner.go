package scripts

import "github.com/redis/go-redis/v9"

// Runner runs the transitions on one Redis. It is safe for concurrent use.
//
// A script that changes something is sent once: when the connection breaks before its reply came, the error is
// returned and the script may or may not have run. The client's retries do not apply to it. Scripts that only read are
// retried as the client is configured.
type Runner struct {
	client redis.UniversalClient
}

// New returns a runner on client, which stays the caller's to close.
func New(client redis.UniversalClient) *Runner { return &Runner{client: client} }

package engine

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// trouble paces a loop that talks to Redis while Redis does not answer. Each loop has its own.
type trouble struct {
	log      *slog.Logger
	level    slog.Level // of the lines about an unreachable Redis
	failures int
	logged   time.Time
}

const (
	shortestPause = 50 * time.Millisecond
	longestPause  = 5 * time.Second
	logInterval   = 30 * time.Second
	// flapInterval is the time between lines about failures that each pass at once.
	flapInterval = 2 * time.Second
)

// failed notes a failure and returns how long to wait before the next try. The first failure is logged, then one line
// every half minute; a connection that fails again and again after short successes gets one line every two seconds.
func (t *trouble) failed(ctx context.Context, what string, err error) time.Duration {
	t.failures++
	if since := time.Since(t.logged); since > logInterval || t.failures == 1 && since > flapInterval {
		t.logged = time.Now()
		level := t.level
		if isReply(err) {
			level = slog.LevelWarn // not the absence of Redis, which every loop notices
		}
		t.log.Log(ctx, level, what+" failed, trying again", "err", err, "failures", t.failures)
	}
	pause := min(shortestPause<<min(t.failures-1, 10), longestPause)
	return pause/2 + rand.N(pause)
}

// ok notes a success.
func (t *trouble) ok(ctx context.Context, what string) {
	if t.failures > 1 {
		t.log.Log(ctx, t.level, what+" works again", "failures", t.failures)
	}
	t.failures = 0
}

// isReply says that the error is Redis' own answer.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && !errors.Is(err, redis.Nil)
}

// passing are the starts of error replies that say nothing about the command: Redis cannot take it now.
var passing = [...]string{
	"LOADING", "BUSY", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF", "OOM", "NOAUTH",
	"NOPERM", "WRONGPASS", "MOVED", "ASK", "UNBLOCKED", "max number of clients",
}

// isRefusal says that Redis refused this very command and would do so again.
func isRefusal(err error) bool {
	var reply redis.Error
	if !isReply(err) || !errors.As(err, &reply) {
		return false
	}
	// A script that hands on the error of a command puts ERR before it, or Redis 6 a sentence and a dash.
	text := strings.TrimPrefix(reply.Error(), "ERR ")
	for _, start := range passing {
		if strings.HasPrefix(text, start) || strings.Contains(text, " -"+start) {
			return false
		}
	}
	return true
}

// mayHaveRun says that the command may have taken effect although it gave an error.
func mayHaveRun(err error) bool {
	if err == nil {
		return false
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return false
	}
	return !isReply(err) || isRefusal(err)
}

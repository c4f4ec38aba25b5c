package store

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogTo sends what go-redis reports by itself (failed dials, Sentinel's choices) to log at debug level instead of
// standard error. It acts on the whole process and is called once, before the first Open.
func LogTo(log *slog.Logger) { redis.SetLogger(&clientLog{log.With("component", "redis")}) }

type clientLog struct{ log *slog.Logger }

func (l *clientLog) Printf(ctx context.Context, format string, v ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, fmt.Sprintf(format, v...))
	}
}

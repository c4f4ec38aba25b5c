package scripts

import (
	"context"
	"time"
)

// ManualLimit is what the limiter key holds while a queue is stopped by hand (lifecycle 4.2).
const ManualLimit = 1<<53 - 1

// ShortenWindow ends the limiter's present window d from now at the latest, unless it was closed by hand.
func (r *Runner) ShortenWindow(ctx context.Context, t Target, d time.Duration) error {
	_, err := r.write(ctx, "shortenWindow", t, args(d, ManualLimit))
	return err
}

// ExtendLimit stops a queue by hand for d, unless it is stopped by hand for longer.
func (r *Runner) ExtendLimit(ctx context.Context, t Target, d time.Duration) error {
	_, err := r.write(ctx, "extendLimit", t, args(d, ManualLimit))
	return err
}

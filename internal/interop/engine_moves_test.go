package interop

import (
	"context"
	"encoding/json"
	"time"

	"bullpen/internal/engine/scripts"
)

// takeMany takes up to count jobs in one script run.
func takeMany(ctx context.Context, c call) (any, error) {
	o := c.fetchOptions()
	o.Count = c.Count
	f, err := c.runner.Fetch(ctx, c.target(), c.now, o)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for len(f.Jobs) > 0 {
		got, err := c.describe(ctx, f)
		if err != nil {
			return nil, err
		}
		ids = append(ids, *got.ID)
		f.Jobs = f.Jobs[1:]
	}
	return ids, nil
}

func moveToDelayed(ctx context.Context, c call) (any, error) {
	d := scripts.DelayedJob{Lock: c.lock(), Delay: max(ms(c.Delay), 0), SkipAttempt: true}
	codes, _, err := c.runner.MoveToDelayed(ctx, c.target(), c.now, []scripts.DelayedJob{d}, nil)
	if err != nil {
		return nil, err
	}
	_, err = c.ended(ctx, codes[0], nil)
	return nil, err
}

func moveToWait(ctx context.Context, c call) (any, error) {
	codes, limited, err := c.runner.MoveToWait(ctx, c.target(), []scripts.Lock{c.lock()})
	if err != nil {
		return nil, err
	}
	_, err = c.ended(ctx, codes[0], nil)
	return limited > 0, err
}

func moveToWaitingChildren(ctx context.Context, c call) (any, error) {
	code, err := c.runner.MoveToWaitingChildren(ctx, c.target(), c.now, c.lock(), "")
	if err != nil || code == scripts.NotMoved {
		return false, err
	}
	_, err = c.ended(ctx, code, nil)
	return true, err
}

func extendLock(ctx context.Context, c call) (any, error) {
	lost, err := c.runner.ExtendLocks(ctx, c.target(), []scripts.Lock{c.lock()}, c.lockTime())
	return 1 - len(lost), err
}

func extendLocks(ctx context.Context, c call) (any, error) {
	var ids []string
	if err := json.Unmarshal(c.Jobs, &ids); err != nil {
		return nil, err
	}
	locks := make([]scripts.Lock, len(ids))
	for i, id := range ids {
		locks[i] = scripts.Lock{ID: id, Token: c.Tokens[i]}
	}
	lost, err := c.runner.ExtendLocks(ctx, c.target(), locks, c.lockTime())
	return list(lost), err
}

func (c call) lockTime() time.Duration {
	if c.Duration > 0 {
		return ms(c.Duration)
	}
	return 30 * time.Second
}

func stalled(ctx context.Context, c call) (any, error) {
	most := 1
	if c.Worker.MaxStalledCount != nil {
		most = *c.Worker.MaxStalledCount
	}
	ids, err := c.runner.StalledCheck(ctx, c.target(), c.now, most, 30*time.Second)
	return list(ids), err
}

package interop

import (
	"context"
	"slices"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"
)

// featureSteps are the driver's steps of features.mjs on the engine.
var featureSteps = map[string]func(context.Context, call) (any, error){
	"flows":            addFlows,
	"getFlow":          getFlow,
	"dependencies":     dependencies,
	"dependencyCounts": dependencyCounts,
	"childrenValues": func(ctx context.Context, c call) (any, error) {
		j, err := c.stored(ctx)
		if err != nil {
			return nil, err
		}
		return j.ChildrenValues(ctx)
	},
	"ignoredFailures": func(ctx context.Context, c call) (any, error) {
		j, err := c.stored(ctx)
		if err != nil {
			return nil, err
		}
		return j.IgnoredFailures(ctx)
	},
	"removeChildDependency": func(ctx context.Context, c call) (any, error) {
		j, err := c.stored(ctx)
		if err != nil {
			return nil, err
		}
		return j.RemoveChildDependency(ctx)
	},
	"removeUnprocessedChildren": func(ctx context.Context, c call) (any, error) {
		j, err := c.stored(ctx)
		if err != nil {
			return nil, err
		}
		return nil, j.RemoveUnprocessedChildren(ctx)
	},
	"waitForChild":      waitForChild,
	"scheduler":         oneScheduler,
	"schedulerPage":     schedulerPage,
	"schedulersCount":   func(ctx context.Context, c call) (any, error) { return c.q.CountSchedulers(ctx) },
	"dedupOwner":        dedupOwner,
	"removeDedupKey":    func(ctx context.Context, c call) (any, error) { return counted(c.q.RemoveDeduplicationKey(ctx, c.Key)) },
	"removeOwnDedupKey": removeOwnDedupKey,
	"metrics":           queueMetrics,
}

func init() { //nolint:gochecknoinits // as in engine_steps_test.go, which runs before
	for name, step := range featureSteps {
		engineSteps[name] = step
	}
}

// counted is a yes as the number of keys that are gone.
func counted(yes bool, err error) (any, error) {
	if yes {
		return 1, err
	}
	return 0, err
}

// branch is a job of a flow in short.
type branch struct {
	Key      string   `json:"key"`
	Name     string   `json:"name"`
	Children []branch `json:"children"`
}

func getFlow(ctx context.Context, c call) (any, error) {
	f, err := c.q.Flow(ctx, c.Job, engine.FlowLimits{Depth: c.Depth})
	if err != nil {
		return nil, err
	}
	return branchOf(f), nil
}

func branchOf(f *engine.Flow) branch {
	b := branch{Key: f.Job.Key(), Name: f.Job.Name, Children: []branch{}}
	for _, child := range f.Children {
		b.Children = append(b.Children, branchOf(child))
	}
	slices.SortFunc(b.Children, func(x, y branch) int { return compareText(x.Key, y.Key) })
	return b
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func dependencies(ctx context.Context, c call) (any, error) {
	j, err := c.stored(ctx)
	if err != nil {
		return nil, err
	}
	d, err := j.Dependencies(ctx)
	if err != nil {
		return nil, err
	}
	slices.Sort(d.Unprocessed)
	return map[string]any{
		"processed": d.Processed, "unprocessed": list(d.Unprocessed), "ignored": d.Ignored, "failed": list(d.Failed),
	}, nil
}

func dependencyCounts(ctx context.Context, c call) (any, error) {
	j, err := c.stored(ctx)
	if err != nil {
		return nil, err
	}
	n, err := j.DependencyCounts(ctx)
	return map[string]int64{
		"processed": n.Processed, "unprocessed": n.Unprocessed, "ignored": n.Ignored, "failed": n.Failed,
	}, err
}

func waitForChild(ctx context.Context, c call) (any, error) {
	code, err := c.runner.MoveToWaitingChildren(ctx, c.target(), c.now, c.lock(), c.Child)
	if err != nil || code == scripts.NotMoved {
		return false, err
	}
	_, err = c.ended(ctx, code, nil)
	return true, err
}

func dedupOwner(ctx context.Context, c call) (any, error) {
	id, err := c.q.GetDeduplicationJobID(ctx, c.Key)
	if err != nil || id == "" {
		return nil, err
	}
	return id, nil
}

func removeOwnDedupKey(ctx context.Context, c call) (any, error) {
	j, err := c.stored(ctx)
	if err != nil {
		return nil, err
	}
	return j.RemoveDeduplicationKey(ctx)
}

func queueMetrics(ctx context.Context, c call) (any, error) {
	end := int64(-1)
	if c.End != nil {
		end = *c.End
	}
	m, err := c.q.Metrics(ctx, keys.State(c.Kind), int64(c.Start), end)
	if err != nil {
		return nil, err
	}
	closed := int64(0)
	if !m.ClosedUntil.IsZero() {
		closed = m.ClosedUntil.UnixMilli()
	}
	return map[string]any{
		"meta":  map[string]int64{"count": m.Count, "prevTS": closed, "prevCount": m.ClosedCount},
		"data":  append([]int64{}, m.Minutes...),
		"count": m.Kept,
	}, nil
}

package interop

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// history is what the event stream says of each job, in order: names of events.
func history(ctx context.Context, c *redis.Client, base string) (map[string][]string, error) {
	entries, err := c.XRange(ctx, base+"events", "-", "+").Result()
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	by := map[string][]string{}
	for _, e := range entries {
		id, ok := e.Values["jobId"].(string)
		name, _ := e.Values["event"].(string)
		if ok && name != "progress" && name != "duplicated" {
			by[id] = append(by[id], name)
		}
	}
	return by, nil
}

// follows says which events may come after which; "" is the time before the first.
var follows = map[string]string{
	"":                  "added",
	"added":             "waiting delayed waiting-children",
	"waiting":           "active stalled removed delayed waiting",
	"stalled":           "active removed",
	"delayed":           "waiting delayed removed",
	"waiting-children":  "waiting delayed removed",
	"active":            "completed failed waiting delayed waiting-children removed",
	"completed":         "waiting removed added",
	"failed":            "retries-exhausted waiting removed added",
	"retries-exhausted": "waiting removed added",
	"removed":           "added",
}

// unlawful lists the jobs whose events came in an order that cannot be: two starts without an end between them mean
// that the job ran on two locks, two ends that it was finished twice.
func unlawful(by map[string][]string) (problems []string) {
	for _, id := range slices.Sorted(maps.Keys(by)) {
		before := ""
		for _, event := range by[id] {
			if !slices.Contains(strings.Fields(follows[before]), event) {
				problems = append(problems, fmt.Sprintf("job %s: %s after %q in %v", id, event, before, by[id]))
				break
			}
			before = event
		}
	}
	return problems
}

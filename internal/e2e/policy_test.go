package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"

	"github.com/stretchr/testify/require"
)

func containsAll(text string, wants ...string) bool {
	for _, w := range wants {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// everywhere waits until every server says that it acts by a revision with a concurrency, and returns how long it took.
func (f *fleet) everywhere(revision int64, concurrency int, servers ...*server) time.Duration {
	f.t.Helper()
	began := time.Now()
	eventually(f.t, "every server acts by it", func() bool {
		there := f.announced()
		for _, s := range servers {
			if w := there[s.name()]; w.Revision != revision || w.Concurrency != concurrency {
				return false
			}
		}
		return true
	})
	return time.Since(began)
}

// TestPolicyReachesBothServers changes a policy through one server and rolls it back through the other: both act by it
// within a second, while their jobs run, and both pages explain it.
func TestPolicyReachesBothServers(t *testing.T) {
	t.Parallel() // after those that measure rates
	release := make(chan struct{})
	d := newDownstream(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	f := newFleet(t, d.URL, "concurrency: 1, attempts: 2")
	servers := f.starts(2)
	f.add(30, engine.JobOptions{})
	eventually(t, "one job runs on each server", func() bool { return d.running() == 2 })

	servers[0].post("policy/propose", `{"concurrency":3,"attempts":7,"global_concurrency":50,"why":"more work","apply":true,"confirm":"yes"}`)
	t.Logf("the change reached both servers after %s", f.everywhere(1, 3, servers...).Round(time.Millisecond))
	eventually(t, "three jobs run on each server", func() bool { return d.running() == 6 })
	require.Equal(t, "50", f.client.HGet(t.Context(), f.queue.Meta(), "concurrency").Val())
	for _, s := range servers {
		eventually(t, "the page explains it", func() bool {
			page := s.get("queues/hooks/policy")
			return strings.Count(page, "<td>revision 1</td>") == 2 &&
				containsAll(page, "live, revision 1", "bullpen.yaml says 1", "more work", "<b>2</b> replicas", "<b>6</b> at once")
		})
		s.post("jobs", `{"name":"hook","data":{}}`)
	}
	id, err := f.client.Get(t.Context(), f.queue.ID()).Result()
	require.NoError(t, err)
	require.Equal(t, 7, f.jobs([]string{id})[0].Opts.Attempts, "jobs added now get the live attempts")

	servers[1].post("policy/rollback", `{"to":"0","why":"too much","apply":true,"confirm":"yes"}`)
	t.Logf("the rollback reached both servers after %s", f.everywhere(2, 1, servers...).Round(time.Millisecond))
	require.Empty(t, f.client.HGet(t.Context(), f.queue.Meta(), "concurrency").Val(), "what was there before is back")
	close(release) // the six that run may end; after them one at a time is left on each server
	f.await(keys.Completed, 32)
	d.forget()
	d.mu.Lock()
	d.answer = takes(5 * time.Millisecond)
	d.mu.Unlock()
	f.add(40, engine.JobOptions{})
	f.await(keys.Completed, 72)
	require.LessOrEqual(t, d.forget(), 2)
	for _, s := range servers {
		eventually(t, "the page explains the rollback", func() bool {
			return containsAll(s.get("queues/hooks/policy"), "Revision 2, back to the file", "too much", "<b>2</b> at once")
		})
	}
}

// TestLivePolicyOutlivesServers starts a server after the change: it acts by it from its first job on.
func TestLivePolicyOutlivesServers(t *testing.T) {
	t.Parallel() // after those that measure rates
	d := newDownstream(t, takes(30*time.Millisecond))
	f := newFleet(t, d.URL, "concurrency: 9")
	file := func(keys.Queue) (policy.Policy, string) { return policy.Policy{Concurrency: 9}, "bullpen.yaml" }
	store, err := livepolicy.New(livepolicy.Options{Client: f.client, File: file, Queue: func(keys.Queue) (*engine.Queue, error) { return f.queue, nil }})
	require.NoError(t, err)
	two := 2
	p, err := store.Propose(context.Background(), f.queue.Queue, livepolicy.Change{By: "ada", Why: "night", Values: livepolicy.Values{Concurrency: &two}})
	require.NoError(t, err)
	_, err = store.Approve(context.Background(), f.queue.Queue, p.Number, "bob")
	require.NoError(t, err)
	f.add(60, engine.JobOptions{})
	s := f.start()
	f.await(keys.Completed, 60)
	require.LessOrEqual(t, d.forget(), 2, "the file's concurrency was in force for a moment")
	f.everywhere(1, 2, s)
	require.Zero(t, s.Terminate())
}

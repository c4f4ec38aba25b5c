package web

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// family adds a flow: root in email, mid in carrier, and leaves of it in label; more is added to the root.
func (b *bench) family(more ...engine.FlowNode) {
	b.t.Helper()
	for _, name := range []string{"carrier", "label"} {
		q := &monitor.Queue{Queue: keys.Queue{Prefix: b.queue.Prefix, Name: name}, Health: monitor.Healthy, Reason: "Keeps up", Counts: map[keys.State]int64{}}
		b.monitor.snap.Queues = append(b.monitor.snap.Queues, q)
	}
	p, err := engine.NewFlowProducer(engine.FlowProducerOptions{Client: b.client, Prefix: b.queue.Prefix})
	require.NoError(b.t, err)
	leaf := func(id string) engine.FlowNode {
		return engine.FlowNode{Queue: "label", Name: "draw", Options: engine.JobOptions{ID: id}, Data: 1}
	}
	mid := engine.FlowNode{Queue: "carrier", Name: "book", Options: engine.JobOptions{ID: "carrier-mid"}, Children: []engine.FlowNode{leaf("leaf-1"), leaf("leaf-2")}}
	_, err = p.Add(b.t.Context(), engine.FlowNode{Queue: "email", Name: "ship", Options: engine.JobOptions{ID: "root"}, Children: append(more, mid)})
	require.NoError(b.t, err)
}

// fails moves a waiting job of a queue to failed, as if it had been tried for good.
func (b *bench) fails(queue, id string) {
	b.t.Helper()
	q := keys.Queue{Prefix: b.queue.Prefix, Name: queue}
	require.NoError(b.t, b.client.LRem(b.t.Context(), q.Wait(), 1, id).Err())
	require.NoError(b.t, b.client.ZAdd(b.t.Context(), q.Key("failed"), redis.Z{Score: 1, Member: id}).Err())
	require.NoError(b.t, b.client.HSet(b.t.Context(), q.Job(id), "failedReason", "no <b>ink</b>", "finishedOn", 1).Err())
}

func TestFlowOfAJob(t *testing.T) {
	b := newBench(t)
	b.family()
	b.fails("label", "leaf-2")
	for _, path := range []string{"/queues/email/jobs/root", "/queues/carrier/jobs/carrier-mid", "/queues/label/jobs/leaf-1"} {
		page := b.get(path).body
		has(t, page, "Held up by leaf-2, which failed: until it is retried or removed nothing moves.", path)
		has(t, page, "holds it up")
		has(t, page, "no &lt;b&gt;ink&lt;/b&gt;")
		has(t, page, "1\u00a0child: 1\u00a0unprocessed")
		has(t, page, "2\u00a0children: 2\u00a0unprocessed")
		has(t, page, "in carrier")
		require.Equal(t, 1, strings.Count(page, `aria-current="true"`), path)
		require.Equal(t, 3, strings.Count(page, " blocking"), "the path from the root to what holds it up")
	}
	has(t, b.get("/queues/email/jobs/root").body, `href="/queues/label/jobs/leaf-2"`)
	alone := b.add(1, engine.JobOptions{})[0]
	hasNot(t, b.get("/queues/email/jobs/"+alone).body, `id="flow"`)

	var told flowJSON
	require.NoError(t, json.Unmarshal([]byte(b.get("/api/v1/queues/label/jobs/leaf-1/flow").body), &told))
	require.True(t, told.FromRoot)
	require.Len(t, told.Jobs, 4)
	require.Equal(t, "root", told.Jobs[0].ID)
	require.Equal(t, int64(1), told.Jobs[0].Children.Unprocessed)
	below := b.get("/api/v1/queues/carrier/jobs/carrier-mid/flow?from=below").body
	require.Equal(t, 3, strings.Count(below, `"parent"`))
}

// TestFlowHidesOtherQueues: of jobs in queues that the reader may not see there is a place in the tree, and no more.
func TestFlowHidesOtherQueues(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.Auth = fixed{Identity{Name: "vic", Role: Viewer, Queues: []string{"email", "label"}}}
	})
	b.family()
	for _, path := range []string{"/queues/email/jobs/root", "/queues/label/jobs/leaf-1", "/api/v1/queues/email/jobs/root/flow"} {
		page := b.get(path).body
		hasNot(t, page, "carrier", path)
		has(t, page, "leaf-2")
	}
	has(t, b.get("/queues/email/jobs/root").body, "in a queue that you may not see")
	require.Equal(t, http.StatusNotFound, b.get("/queues/carrier/jobs/carrier-mid").status)
}

func TestFlowWithHoles(t *testing.T) {
	b := newBench(t)
	b.family()
	label := keys.Queue{Prefix: b.queue.Prefix, Name: "label"}
	require.NoError(t, b.client.Del(t.Context(), label.Job("leaf-1")).Err())
	require.NoError(t, b.client.LRem(t.Context(), label.Wait(), 1, "leaf-1").Err())
	page := b.get("/queues/email/jobs/root").body
	has(t, page, "Gone")
	has(t, page, "Held up by leaf-1, whose record is gone.")
	hasNot(t, page, `href="/queues/label/jobs/leaf-1"`)

	require.NoError(t, b.client.Del(t.Context(), b.queue.Queue.Job("root")).Err())
	require.NoError(t, b.client.ZRem(t.Context(), b.queue.Queue.Key("waiting-children"), "root").Err())
	has(t, b.get("/queues/carrier/jobs/carrier-mid").body, "Its parent, root in email, is gone from Redis.")

	// A ring: the leaf is its own grandparent.
	carrier := keys.Queue{Prefix: b.queue.Prefix, Name: "carrier"}
	require.NoError(t, b.client.HSet(t.Context(), carrier.Job("carrier-mid"), "parentKey", label.Job("leaf-2"), "parent",
		fmt.Sprintf(`{"id":"leaf-2","queueKey":%q}`, b.queue.Prefix+":label")).Err())
	require.NoError(t, b.client.SAdd(t.Context(), label.Job("leaf-2")+":dependencies", carrier.Job("carrier-mid")).Err())
	has(t, b.get("/queues/carrier/jobs/carrier-mid").body, `aria-current="true"`)
}

// TestLargeFlows: at most 200 jobs are drawn, and the rest can be reached.
func TestLargeFlows(t *testing.T) {
	b := newBench(t)
	var more []engine.FlowNode
	for i := range 300 {
		more = append(more, engine.FlowNode{Queue: "label", Name: "draw", Options: engine.JobOptions{ID: fmt.Sprintf("many-%03d", i)}})
	}
	b.family(more...)
	root := b.get("/queues/email/jobs/root").body
	require.LessOrEqual(t, strings.Count(root, `class="node"`), 200)
	has(t, root, " more</a>")
	has(t, root, `href="/queues/email/jobs/root?flow=below#flow"`)
	below := b.get("/queues/email/jobs/root?flow=below").body
	require.LessOrEqual(t, strings.Count(below, `class="node"`), 200)
	has(t, below, "All 301 unprocessed")

	seen, path := map[string]bool{}, "/queues/email/jobs/root?flow=unprocessed"
	for range 20 {
		page := b.get(path).body
		for i := range 300 {
			if id := fmt.Sprintf("many-%03d", i); strings.Contains(page, id) {
				seen[id] = true
			}
		}
		before, _, ok := strings.Cut(page, `#flow">More</a>`)
		if !ok {
			break
		}
		path = html.UnescapeString(before[strings.LastIndex(before, `"`)+1:])
	}
	require.Len(t, seen, 300, "every child is on some page")

	apart := 0
	for i := range 300 {
		if strings.Contains(b.get(fmt.Sprintf("/queues/label/jobs/many-%03d", i)).body, "is not among the first 200") {
			apart++
			break
		}
	}
	require.Positive(t, apart, "a job that is out of reach says so")
}

package monitor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// configEvery is how often the settings that INFO does not tell are asked for.
const configEvery = time.Minute

// server gathers what Redis says of itself.
type server struct {
	client redis.UniversalClient
	clock  func() time.Time
	redis  Redis
	nodes  []Redis
	part   Part

	readOnly  bool
	pasts     map[string]*past // by address
	latencies latencies
}

// past is what is kept of a node from one INFO to the next.
type past struct {
	start    time.Time
	fsync    string
	fsyncAt  time.Time
	refusals refusals
}

func newServer(o Options) server {
	return server{
		client: o.Client, clock: o.Clock, part: Part{Name: "info"},
		redis: Redis{Alias: o.Alias, Embedded: o.Embedded}, readOnly: o.ReadOnly, pasts: map[string]*past{},
	}
}

// node is one server that holds data: a master of a Cluster, or the only one there is.
type node struct {
	addr   string // empty unless in a Cluster
	client redis.Cmdable
}

// masters lists the servers that hold data, by address.
func masters(ctx context.Context, c redis.UniversalClient) ([]node, error) {
	cluster, ok := c.(*redis.ClusterClient)
	if !ok {
		return []node{{"", c}}, nil
	}
	var mu sync.Mutex
	var found []node
	err := cluster.ForEachMaster(ctx, func(_ context.Context, m *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, node{m.Options().Addr, m})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the masters of the Cluster: %w", err)
	}
	slices.SortFunc(found, func(a, b node) int { return cmp.Compare(a.addr, b.addr) })
	return found, nil
}

// readInfo asks every server for INFO. A refusal is a finding, not an error.
func (s *server) readInfo(ctx context.Context, now time.Time) error {
	if s.redis.Embedded {
		s.redis.Up = true
		s.part.LastSuccess = s.clock()
		return nil
	}
	began := time.Now()
	nodes, refused, err := s.askNodes(ctx, now)
	s.part.Took, s.part.Err = time.Since(began), cmp.Or(err, refused)
	if err != nil {
		return err
	}
	if refused != nil {
		s.redis = Redis{Up: true, Alias: s.redis.Alias, Err: refusedText("INFO", "info", refused), LatencyHistory: s.redis.LatencyHistory}
		s.nodes = nil
		return nil
	}
	s.part.LastSuccess = s.clock()
	all := mergeNodes(nodes)
	all.Alias, all.LatencyHistory, all.Latency = s.redis.Alias, s.redis.LatencyHistory, s.redis.Latency
	all.MemoryHistory = memoryHistory(s.redis.MemoryHistory, MemoryPoint{now, all.UsedMemory})
	all.Forecast = forecast(append(slices.Clip(all.MemoryHistory), MemoryPoint{now, all.UsedMemory}), all.MaxMemory, all.SystemMemory, now)
	s.redis = all
	s.nodes = nil
	if len(nodes) > 0 && nodes[0].Node != "" {
		s.nodes = nodes
	}
	return nil
}

func (s *server) askNodes(ctx context.Context, now time.Time) (nodes []Redis, refused, err error) {
	list, err := masters(ctx, s.client)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range list {
		// Several sections in one command need Redis 7; the default ones are all we want and a few KB.
		text, err := n.client.Info(ctx).Result()
		if fatal(err) {
			return nil, nil, fmt.Errorf("info: %w", err)
		}
		if err != nil {
			return nil, err, nil
		}
		r := parseInfo(text).redis(now)
		r.Node = n.addr
		s.recall(ctx, n, now, &r)
		nodes = append(nodes, r)
	}
	maps.DeleteFunc(s.pasts, func(addr string, _ *past) bool {
		return !slices.ContainsFunc(list, func(n node) bool { return n.addr == addr })
	})
	return nodes, nil, nil
}

// recall adds to the figures of a node what one INFO alone does not tell.
func (s *server) recall(ctx context.Context, n node, now time.Time, r *Redis) {
	p := s.pasts[n.addr]
	if p == nil {
		p = &past{refusals: refusals{replicaFine: s.readOnly}}
		s.pasts[n.addr] = p
	}
	// The uptime is in whole seconds; a start that seems to move by less is the same.
	if r.StartTime.Sub(p.start).Abs() < 2*time.Second {
		r.StartTime = p.start
	}
	p.start = r.StartTime
	r.AppendFsync = p.appendFsync(ctx, n.client, now)
	r.Refusing = p.refusals.observe(now, *r)
}

// refusedText names the permission that is missing when Redis refuses a command to our user.
func refusedText(command, grant string, err error) string {
	if redis.HasErrorPrefix(err, "NOPERM") {
		return fmt.Sprintf("this user may not run %s: grant it +%s", command, grant)
	}
	return fmt.Sprintf("%s: %v", command, err)
}

// appendFsync is empty where CONFIG is refused.
func (p *past) appendFsync(ctx context.Context, c redis.Cmdable, now time.Time) string {
	if now.Sub(p.fsyncAt) < configEvery {
		return p.fsync
	}
	p.fsyncAt = now
	values, err := c.ConfigGet(ctx, "appendfsync").Result()
	p.fsync = values["appendfsync"]
	if err != nil {
		p.fsync = ""
	}
	return p.fsync
}

// observe takes in the round trip of this pass.
func (s *server) observe(now time.Time, latency time.Duration) {
	s.redis.Up, s.redis.Latency = true, latency
	if point, ok := s.latencies.observe(now, latency); ok {
		s.redis.LatencyHistory = appendPoint(s.redis.LatencyHistory, point)
	}
}

// memoryHistory keeps one point a minute, the first read in it.
func memoryHistory(history []MemoryPoint, p MemoryPoint) []MemoryPoint {
	if n := len(history); n > 0 && !p.At.Truncate(time.Minute).After(history[n-1].At) {
		return history
	}
	return appendPoint(history, p)
}

// appendPoint returns history with p at its end, cut to an hour, in new memory because snapshots share the old.
func appendPoint[P any](history []P, p P) []P {
	return append(slices.Clone(history[max(0, len(history)-historyLength+1):]), p)
}

package monitor

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// followerOptions configure newFollowers.
type followerOptions struct {
	client   redis.UniversalClient
	prefixes []string
	// queues returns the queues to follow; it is called once a second and must not block.
	queues func() []keys.Queue
	policy func(keys.Queue) policy.Policy
	// readOnly counts in memory, without a lease: every replica reads every stream.
	readOnly bool
	observer JobObserver // may be nil
	logger   *slog.Logger
	clock    func() time.Time
	pace     pace
}

// pace is how often followers do what.
type pace struct {
	// house is the period of everything but reading and renewing: new queues, commits, other replicas' totals.
	house time.Duration
	// renew is how often leases are prolonged, lease how long they live without.
	renew, lease time.Duration
	// read is the least time between two reads that were not full.
	read time.Duration
	// idle is how often the totals of a queue without events are written, so that they do not expire.
	idle time.Duration
}

// usualPace is measured in what a restart and a busy Redis can take: a dead replica's streams are taken over within
// 16 s, of a stopped one within 2 s.
func usualPace() pace {
	return pace{
		house: time.Second, renew: 5 * time.Second, lease: 15 * time.Second,
		read: 200 * time.Millisecond, idle: time.Hour,
	}
}

// followers reads the event streams of all queues and keeps totals that survive restarts, removal of jobs and the
// change of the reader (one replica per queue, by lease).
//
// What it costs: one connection that waits for events, at most five reads a second (40 while a stream is busy) plus one
// per 500 entries, one commit and one probe a second for each queue with events, one command a second for each queue
// that another replica reads, two commands for each attempt that failed or was put back, and memory for maxJobs jobs.
type followers struct {
	replica string
	readers []*reader
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// FollowerStat is what this process did with the event stream of a queue.
type FollowerStat struct {
	// Reading says this replica reads the stream.
	Reading bool
	// Read counts entries read, Lost those that were trimmed before they were read.
	Read, Lost uint64
	// Lag is the age of the newest entry read while more are waiting, else 0.
	Lag time.Duration
}

func newFollowers(o followerOptions) (*followers, error) {
	f := &followers{replica: rand.Text()}
	for _, group := range slots(o.client, o.prefixes) {
		conn, err := dedicated(o.client)
		if err != nil {
			f.closeConnections()
			return nil, err
		}
		f.readers = append(f.readers, newReader(o, f.replica, group, conn))
	}
	return f, nil
}

// slots groups prefixes so that the streams of a group can be read by one command: all together, but one by one on a
// Cluster.
func slots(c redis.UniversalClient, prefixes []string) [][]string {
	if _, ok := c.(*redis.ClusterClient); !ok {
		return [][]string{prefixes}
	}
	groups := make([][]string, len(prefixes))
	for i, p := range prefixes {
		groups[i] = []string{p}
	}
	return groups
}

// dedicated returns a client like c with one connection of its own and no retries. Closing it interrupts a read.
func dedicated(c redis.UniversalClient) (redis.UniversalClient, error) {
	switch c := c.(type) {
	case *redis.Client:
		o := *c.Options()
		o.PoolSize, o.PipelinePoolSize, o.MinIdleConns, o.MaxRetries = 1, -1, 0, -1
		// These belong to the other client.
		o.PushNotificationProcessor = nil
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClient(&o), nil
	case *redis.ClusterClient:
		o := *c.Options()
		o.PoolSize, o.PipelinePoolSize, o.MinIdleConns, o.MaxRetries = 1, -1, 0, -1
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClusterClient(&o), nil
	default:
		return nil, fmt.Errorf("following events: cannot open another connection with a %T", c)
	}
}

// Start begins following and returns at once.
func (f *followers) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	for _, r := range f.readers {
		f.done.Go(func() { r.run(ctx) })
	}
}

// Stop writes what was counted, gives the leases back and waits for the readers, a few seconds at most.
func (f *followers) Stop() {
	if f.cancel != nil {
		f.cancel()
	}
	f.closeConnections()
	f.done.Wait()
}

func (f *followers) closeConnections() {
	for _, r := range f.readers {
		_ = r.conn.Close()
	}
}

// Totals implements totalsSource.
func (f *followers) Totals(q keys.Queue) (t EventTotals, ok bool) {
	f.view(q, func(s *stream) { t, ok = s.totals, s.known })
	return t, ok
}

// Minutes implements totalsSource.
func (f *followers) Minutes(q keys.Queue) (minutes []Minute) {
	f.view(q, func(s *stream) {
		if s.counter != nil {
			minutes = s.counter.minutes.minutes(s.reader.o.clock())
		}
	})
	return minutes
}

// Stat returns what this process did with the stream of q.
func (f *followers) Stat(q keys.Queue) (stat FollowerStat) {
	f.view(q, func(s *stream) {
		stat = s.stat
		stat.Reading = s.counter != nil
	})
	return stat
}

// Part is how the last round went, for the snapshot; a reader that fails speaks for all.
func (f *followers) Part() Part {
	var out Part
	for i, r := range f.readers {
		r.mu.Lock()
		p := r.part
		r.mu.Unlock()
		if i == 0 || p.Err != nil {
			out = p
		}
	}
	return out
}

// view calls fn with the stream of q, if it is followed, under the lock of its reader.
func (f *followers) view(q keys.Queue, fn func(*stream)) {
	for _, r := range f.readers {
		r.mu.Lock()
		if s, ok := r.streams[q]; ok {
			fn(s)
		}
		r.mu.Unlock()
	}
}

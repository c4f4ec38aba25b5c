package monitor

import (
	"time"

	"bullpen/internal/engine/keys"
)

// Snapshot is one consistent read of everything the collector knows. It is immutable once published: pages, /metrics
// and alerts all read the last one.
type Snapshot struct {
	// At is when the pass ended, Took how long it lasted.
	At   time.Time
	Took time.Duration
	// Err is the failure of the last pass, nil when it succeeded. After a failure the figures are those of the last
	// successful pass and At is that pass's end.
	Err error
	// Queues is sorted by name, then prefix.
	Queues []*Queue
	Redis  Redis
	// Dropped is how many found queues were left out because of the limit.
	Dropped int
	// Workers are all connected workers, by queue and name. They are also counted in Queue.Workers.
	Workers []Worker
	// WorkersErr says why the workers could not be listed, naming the missing permission; empty when they could.
	WorkersErr string
	// DiscoveryErr says why queues could not be searched for; empty when they could.
	DiscoveryErr string
	// Nodes has the figures of each master of a Cluster, in the order of their addresses, even if there is but one; nil
	// otherwise. Redis is their sum.
	Nodes []Redis
	// Parts says how each part of the collection went last: counts, info, clients, discovery, and events when streams
	// are followed.
	Parts []Part
}

// Part is how one part of the collection went the last time it ran.
type Part struct {
	// Name is one of "counts", "info", "clients", "discovery" and "events".
	Name string
	// Err is the failure, nil when it succeeded. Took is how long it ran, LastSuccess when it last ended well.
	Err         error
	Took        time.Duration
	LastSuccess time.Time
}

// Age is how old the figures are at now.
func (s *Snapshot) Age(now time.Time) time.Duration { return now.Sub(s.At) }

// Queue finds a queue; nil if it is not there.
func (s *Snapshot) Queue(prefix, name string) *Queue {
	for _, q := range s.Queues {
		if q.Name == name && q.Prefix == prefix {
			return q
		}
	}
	return nil
}

// Health is the verdict on a queue, worst first.
type Health int

// The verdicts, worst first.
const (
	NeedsAttention Health = iota
	Watch
	Healthy
	PausedHealth
	Quiet
	UnknownHealth
)

// Queue is the state of one queue at the snapshot's time.
type Queue struct {
	keys.Queue
	// Declared says the configuration names the queue; Discovered that its meta key exists.
	Declared, Discovered bool
	// Legacy marks what Bull 3 or 4 left behind (features 6.3). It is shown and never written to.
	Legacy bool
	// Unreadable says why Counts is nil: a refused command, or a key of the wrong type.
	Unreadable string
	// Counts has every state of keys.States. Nil when they could not be read.
	Counts map[keys.State]int64
	// PausedList is the length of BullMQ 5.x's paused list; it is part of Counts[waiting].
	PausedList int64
	// Overdue is how many delayed jobs are due and not promoted.
	Overdue int64
	Paused  bool
	// PausedSince is when the queue was seen to be paused; zero when it is not, or was before we looked.
	PausedSince time.Time
	// Version is meta's version field, "bullmq:6.7.0"; empty when absent.
	Version string
	// GlobalConcurrency is meta's bound on active jobs; 0 = none.
	GlobalConcurrency int64
	Limiter           Limiter
	// Ceiling is how many jobs can run at once now; CeilingKnown is false when nobody can tell.
	Ceiling      int64
	CeilingKnown bool
	// CeilingSource is "workers", "global", "declared" or "".
	CeilingSource string
	// Workers is how many workers are connected; WorkersKnown is false when CLIENT LIST is refused. BullpenWorkers of
	// them announced themselves, with Announced jobs at once between them.
	Workers                   int64
	WorkersKnown              bool
	BullpenWorkers, Announced int64
	// OldestWait is the age of the oldest ready job, 0 when none waits; AtLeast says it is a lower bound.
	OldestWait        time.Duration
	OldestWaitAtLeast bool
	OldestActive      time.Duration
	// NextDue is when the next delayed job becomes ready; zero when none is delayed.
	NextDue       time.Time
	Schedulers    int64
	NextSchedule  time.Time
	EventsEntries int64
	// Totals since the queue exists, from sources that survive removal; Known says whether the source exists.
	Added                    int64
	Completed, FailedForGood int64
	FinishedKnown            bool
	// Totals are those of the event followers; TotalsKnown is false while nothing follows the queue's stream.
	Totals      EventTotals
	TotalsKnown bool
	// Follower is what this process does with the queue's event stream.
	Follower FollowerStat
	// Rates per second over the last minute; negative changes are possible for Growth only.
	Rate Rates
	// StalledLastHour is how many jobs were recovered from a lost worker; 0 when TotalsKnown is false.
	StalledLastHour int64
	// History is one entry per closed minute, oldest first, at most 60.
	History []Minute
	Health  Health
	// Reason is the sentence that explains Health ("No worker for 14 min"); Field names the figure that is the reason
	// ("waiting", "failing", "oldest", "workers", "active", "delayed", "failed"), empty when none is.
	Reason string
	Field  string
	// DeadLetter says the queue is a dead-letter store: no worker is expected.
	DeadLetter bool
}

// Limiter is what can be seen of a queue's rate limit.
type Limiter struct {
	// Max and Duration are meta's or the declared ones; 0 = unknown or none.
	Max      int64
	Duration time.Duration
	// Closed says no job may start now; TTL is until it opens; Manual that somebody closed it by hand.
	Closed bool
	TTL    time.Duration
	Manual bool
}

// Rates are per second, measured over the last minute.
type Rates struct {
	// Started and Retried are 0 when the queue's TotalsKnown is false; Completed and Failed then come from BullMQ's
	// metrics, or from the growth of the finished sets, which misses jobs that are not kept.
	Added, Started, Completed, Failed, Retried float64
	// Active is the mean number of active jobs.
	Active float64
	// Growth is the change of the backlog.
	Growth float64
	// FailingShare is failed attempts among finished attempts over five minutes, 0..1; Attempts is how many there were.
	FailingShare float64
	Attempts     int64
	// Window is the time measured: a minute, or less when the queue was first read less than a minute ago.
	Window time.Duration
	// Known is false while less than 15 s have been seen.
	Known bool
}

// Minute is what happened in one minute.
type Minute struct {
	Start time.Time
	// Failed counts jobs that failed for good, Retried attempts that failed and were put back, Stalled recoveries.
	Added, Completed, Failed, Retried, Stalled int64
	// Wait and run time in milliseconds; 0 when none was seen.
	WaitP50, WaitP95, RunP50, RunP95 float64
	// RunMean is the mean run time in milliseconds; 0 when none was seen.
	RunMean float64
	// Seen is how many finished attempts the percentiles are made of.
	Seen int64
	// BacklogMin and BacklogMax are the least and the greatest backlog read, Busy the mean share of the ceiling in use
	// (-1 when the ceiling is not known), Limited the share of reads that found the limiter closed. Reads is how many
	// reads these are made of: 0 when the collector did not run.
	BacklogMin, BacklogMax int64
	Busy, Limited          float64
	Reads                  int64
}

// Backlog is what a free slot could start now.
func (q *Queue) Backlog() int64 {
	return q.Counts[keys.Waiting] + q.Counts[keys.Prioritized] + q.Overdue
}

// Worker is one worker, as CLIENT LIST or its own announcement shows it.
type Worker struct {
	Queue keys.Queue
	// Name is the worker's own name, often empty.
	Name string
	// Addr is its address as Redis sees it, Connected for how long, Idle since its last command. Zero when only the
	// announcement is known.
	Addr            string
	Connected, Idle time.Duration
	// Bullpen says the worker announced itself; the rest is only known then.
	Bullpen     bool
	Host        string
	PID         int
	Concurrency int
	Version     string
	PolicyHash  string
	// Revision is that of the live policy the worker acts by, 0 when its file alone counts.
	Revision      int64
	AnnouncedLast time.Time
}

// Redis is what INFO says; Known is false before the first answer or when it is refused.
type Redis struct {
	Known, Up bool
	// Err says why INFO was refused; empty when it was not.
	Err   string
	Alias string
	// Node is the address of a Cluster's node, empty otherwise.
	Node                  string
	Version, Mode, Role   string
	MaxMemoryPolicy       string
	AppendFsync           string // from CONFIG; empty when it is refused
	UsedMemory, MaxMemory int64
	PeakMemory            int64
	SystemMemory          int64
	Fragmentation         float64
	AOFEnabled            bool
	AOFLastWriteOK        bool
	AOFLastRewriteOK      bool
	RDBLastSaveOK         bool
	RDBLastSave           time.Time
	RDBChanges            int64 // writes since the last snapshot
	Loading               bool
	StartTime             time.Time
	ConnectedClients      int64
	BlockedClients        int64
	MaxClients            int64
	EvictedKeys           int64
	RejectedConnections   int64
	Commands              int64
	OpsPerSecond          float64
	Errors                map[string]int64 // by code, from INFO errorstats
	Latency               time.Duration    // of the last PING
	// Embedded says the store runs inside this process and tells nothing about memory, clients or persistence.
	Embedded bool
	// Refusing says why Redis refuses writes now ("out of memory"); empty when it does not.
	Refusing string
	// ClockOffset is how far Redis's clock is ahead of ours; meaningful to about the round trip.
	ClockOffset time.Duration
	// History of used memory and of the round trip, one per minute, oldest first, at most 60.
	MemoryHistory  []MemoryPoint
	LatencyHistory []LatencyPoint
	// Forecast says when memory is full at the pace of the last hour.
	Forecast Forecast
}

// LatencyPoint is the round trip of the PINGs of a minute.
type LatencyPoint struct {
	At       time.Time
	P50, P99 time.Duration
}

// MemoryPoint is the memory used at a time.
type MemoryPoint struct {
	At   time.Time
	Used int64
}

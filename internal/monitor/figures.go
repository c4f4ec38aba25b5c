package monitor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/presence"

	"github.com/redis/go-redis/v9"
)

// What is read of a queue comes in three sets. Every command takes constant or logarithmic time and writes nothing.
//
//	counts   lengths of all states, meta, id          every pass
//	limiter  the limiter's count and time left        every pass where it matters, else with the ages
//	ages     heads and tails, totals, announcements   every fifth pass

const manualLimit = 1<<53 - 1 // what queue.rateLimit stores (lifecycle 4.2)

// counts is what the first set says.
type counts struct {
	wait, paused, active, prioritized, delayed, children, completed, failed, overdue int64
	// markers are the pseudo ids of BullMQ 4 at the tails of wait and paused; they are subtracted, not popped.
	markers int64
	id      int64
	meta    meta
	// unreadable says why the set could not be read; "" when it could.
	unreadable string
}

// meta is the queue's settings (lifecycle 4).
type meta struct {
	present               bool
	paused                bool
	version               string
	concurrency, max      int64
	duration              time.Duration
	maxLenEvents, library string
}

var metaFields = []string{"paused", "version", "concurrency", "max", "duration", "opts.maxLenEvents", "library"}

// waiting is the state's size: BullMQ 5.x's paused list is part of it (lifecycle 12.1).
func (c *counts) waiting() int64 { return max(c.wait+c.paused-c.markers, 0) }

// ready is the backlog: what a free slot could start now.
func (c *counts) ready() int64 { return c.waiting() + c.prioritized + c.overdue }

// empty says that nothing of the queue is left in Redis but, perhaps, records no count shows.
func (c *counts) empty() bool {
	return !c.meta.present && c.id == 0 && c.waiting()+c.active+c.prioritized+c.delayed+c.children+c.completed+c.failed == 0
}

// limiter is what the second set says.
type limiter struct {
	value int64
	until time.Time // when the window ends; zero when there is none
}

type countCmds struct {
	wait, paused, active, prioritized, delayed, children, completed, failed, overdue *redis.IntCmd
	id                                                                               *redis.StringCmd
	meta                                                                             *redis.SliceCmd
	waitTail, pausedTail                                                             *redis.StringCmd // nil unless markers are known to occur
}

func askCounts(ctx context.Context, p redis.Pipeliner, q keys.Queue, now time.Time, markers bool) countCmds {
	c := countCmds{
		wait: p.LLen(ctx, q.Wait()), paused: p.LLen(ctx, q.Paused()), active: p.LLen(ctx, q.Active()),
		prioritized: p.ZCard(ctx, q.Prioritized()), delayed: p.ZCard(ctx, q.Delayed()),
		children: p.ZCard(ctx, q.WaitingChildren()), completed: p.ZCard(ctx, q.Completed()), failed: p.ZCard(ctx, q.Failed()),
		overdue: p.ZCount(ctx, q.Delayed(), "-inf", dueScore(now)),
		id:      p.Get(ctx, q.ID()),
		meta:    p.HMGet(ctx, q.Meta(), metaFields...),
	}
	if markers {
		c.waitTail, c.pausedTail = p.LIndex(ctx, q.Wait(), -1), p.LIndex(ctx, q.Paused(), -1)
	}
	return c
}

// dueScore is the greatest delayed score that is due at now (lifecycle 5.1).
func dueScore(now time.Time) string { return strconv.FormatInt((now.UnixMilli()+1)*4096-1, 10) }

func (c countCmds) take() counts {
	all := []redis.Cmder{
		c.wait, c.paused, c.active, c.prioritized, c.delayed, c.children, c.completed, c.failed, c.overdue, c.id, c.meta,
	}
	for _, cmd := range all {
		if err := cmd.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return counts{unreadable: whyUnreadable(cmd)}
		}
	}
	got := counts{
		wait: c.wait.Val(), paused: c.paused.Val(), active: c.active.Val(), prioritized: c.prioritized.Val(),
		delayed: c.delayed.Val(), children: c.children.Val(), completed: c.completed.Val(), failed: c.failed.Val(),
		overdue: c.overdue.Val(), meta: parseMeta(c.meta.Val()),
	}
	got.id = integer(c.id.Val())
	for _, tail := range []*redis.StringCmd{c.waitTail, c.pausedTail} {
		if tail != nil && isMarker(tail.Val()) {
			got.markers++
		}
	}
	return got
}

// whyUnreadable puts a refused command in words.
func whyUnreadable(cmd redis.Cmder) string {
	err := cmd.Err()
	name, key := strings.ToUpper(cmd.Name()), ""
	if args := cmd.Args(); len(args) > 1 {
		key = fmt.Sprint(args[1])
	}
	switch {
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		return fmt.Sprintf("the key %s holds something else, perhaps a job with that id", key)
	case redis.HasErrorPrefix(err, "NOPERM"):
		return fmt.Sprintf("this user may not run %s on %s", name, key)
	default:
		return fmt.Sprintf("%s %s: %v", name, key, err)
	}
}

func parseMeta(values []any) meta {
	var m meta
	text := make([]string, len(metaFields))
	for i, v := range values {
		if s, ok := v.(string); ok && i < len(text) {
			text[i], m.present = s, true
		}
	}
	_, m.paused = at(values, 0).(string)
	m.version, m.maxLenEvents, m.library = text[1], text[5], text[6]
	m.concurrency, m.max = integer(text[2]), integer(text[3])
	m.duration = time.Duration(integer(text[4])) * time.Millisecond
	return m
}

func at(values []any, i int) any {
	if i < len(values) {
		return values[i]
	}
	return nil
}

// integer reads the integer prefix of s, as BullMQ's clients do, fractions cut off; 0 when there is none.
func integer(s string) int64 {
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || end == 0 && s[end] == '-') {
		end++
	}
	if end == 0 {
		return 0
	}
	n, err := strconv.ParseInt(s[:end], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func isMarker(id string) bool { return strings.HasPrefix(id, "0:") }

type limiterCmds struct {
	value *redis.StringCmd
	ttl   *redis.DurationCmd
}

func askLimiter(ctx context.Context, p redis.Pipeliner, q keys.Queue) *limiterCmds {
	return &limiterCmds{p.Get(ctx, q.Limiter()), p.PTTL(ctx, q.Limiter())}
}

func (c limiterCmds) take(now time.Time) limiter {
	l := limiter{value: integer(c.value.Val())}
	if ttl := c.ttl.Val(); ttl > 0 {
		l.until = now.Add(ttl)
	}
	return l
}

type ageCmds struct {
	wait, paused       *redis.StringSliceCmd
	active             *redis.StringCmd
	prioritized        *redis.StringSliceCmd
	delayed, repeat    *redis.ZSliceCmd
	schedulers, events *redis.IntCmd
	completed, failed  *redis.StringCmd
	announced          *redis.MapStringStringCmd
}

// tailLength is how many ids at the tail of wait are looked at: what was retried or recovered there tells no age, the
// one behind it may.
const tailLength = 3

func askAges(ctx context.Context, p redis.Pipeliner, q keys.Queue) *ageCmds {
	return &ageCmds{
		wait: p.LRange(ctx, q.Wait(), -tailLength, -1), paused: p.LRange(ctx, q.Paused(), -tailLength, -1),
		active:      p.LIndex(ctx, q.Active(), -1),
		prioritized: p.ZRange(ctx, q.Prioritized(), 0, 0),
		delayed:     p.ZRangeWithScores(ctx, q.Delayed(), 0, 0),
		repeat:      p.ZRangeWithScores(ctx, q.Repeat(), 0, 0),
		schedulers:  p.ZCard(ctx, q.Repeat()), events: p.XLen(ctx, q.Events()),
		completed: p.HGet(ctx, q.MetricsCompleted(), "count"), failed: p.HGet(ctx, q.MetricsFailed(), "count"),
		announced: p.HGetAll(ctx, q.Presence()),
	}
}

// ages is what the third set says.
type ages struct {
	heads
	nextDue, nextSchedule time.Time
	schedulers, events    int64
	// completed and failed are BullMQ's metrics; -1 when no worker keeps them.
	completed, failed int64
	announced         []presence.Worker
	tailMarkers       int64
}

// heads are the ids whose jobs tell the ages: next to run, running longest.
type heads struct {
	wait, paused []string // next to run first, markers left out
	prioritized  string
	active       string
}

// take decodes; redisNow is the time of Redis's clock, which announcements are judged by.
func (c ageCmds) take(redisNow time.Time) ages {
	a := ages{
		heads:      heads{active: c.active.Val()},
		schedulers: c.schedulers.Val(), events: c.events.Val(),
		completed: count(c.completed), failed: count(c.failed),
		announced: presence.Decode(c.announced.Val(), redisNow),
	}
	for _, list := range []struct {
		ids []string
		to  *[]string
	}{{c.wait.Val(), &a.wait}, {c.paused.Val(), &a.paused}} {
		for i := len(list.ids) - 1; i >= 0; i-- {
			if !isMarker(list.ids[i]) {
				*list.to = append(*list.to, list.ids[i])
			} else if i == len(list.ids)-1 {
				a.tailMarkers++
			}
		}
	}
	if isMarker(a.active) {
		a.active = ""
	}
	if ids := c.prioritized.Val(); len(ids) > 0 {
		a.prioritized = ids[0]
	}
	if z := c.delayed.Val(); len(z) > 0 {
		a.nextDue = millis(z[0].Score / 4096)
	}
	if z := c.repeat.Val(); len(z) > 0 {
		a.nextSchedule = millis(z[0].Score)
	}
	return a
}

// millis turns milliseconds since the epoch into a time; zero for what cannot be one.
func millis(ms float64) time.Time {
	if ms <= 0 || math.IsNaN(ms) || ms > 1e15 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}

// count reads a total that may be absent: -1.
func count(c *redis.StringCmd) int64 {
	if c.Err() != nil {
		return -1
	}
	n, err := c.Int64()
	if err != nil {
		return -1
	}
	return n
}

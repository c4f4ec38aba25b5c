package web

import (
	"context"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/failures"
	"bullpen/internal/monitor"
	"bullpen/internal/words"
	"bullpen/templates"
)

// grouping is a sort of jobs that are grouped by error: failed jobs, or the dead letters of jobs that failed.
type grouping struct {
	// path is that of the page and of the acts below it, key the one by which a query selects a group.
	path, key string
	// one and many name the jobs; they are in the state.
	one, many string
	state     keys.State
	*failures.Collector
	// queues are those that have any.
	queues func(*monitor.Snapshot) []keys.Queue
	// verb is the act that runs them again, what says what it does, and removal what removing does.
	verb, what, removal string
	act                 func(c *Call) func(*engine.Queue, keys.State) batchAct
}

func (s *Server) failedGrouping() grouping {
	return grouping{
		path: "/failures", key: "failure", one: "failed job", many: "failed jobs", state: keys.Failed, Collector: s.failures, queues: failedQueues,
		verb:    "retry",
		what:    "Jobs that fail later are not touched. Priority, options and parents stay as they are; each job gets all its attempts again.",
		removal: "Their data, traces and logs go with them, and so do their children. This cannot be undone.",
		act:     func(*Call) func(*engine.Queue, keys.State) batchAct { return retrying },
	}
}

func (s *Server) letterGrouping() grouping {
	return grouping{
		path: "/failures/letters", key: "letter", one: "dead letter", many: "dead letters", state: keys.Waiting, Collector: s.letters, queues: letterQueues,
		verb: "replay", what: replayWords,
		removal: "The originals stay where they are, as long as their queues keep them. This cannot be undone.",
		act:     replaying,
	}
}

// failedQueues are the queues that have failed jobs.
func failedQueues(snap *monitor.Snapshot) []keys.Queue {
	return queuesWhere(snap, func(q *monitor.Queue) bool { return q.Counts[keys.Failed] > 0 })
}

// letterQueues are the dead-letter queues in which letters wait.
func letterQueues(snap *monitor.Snapshot) []keys.Queue {
	return queuesWhere(snap, func(q *monitor.Queue) bool { return q.DeadLetter && q.Counts[keys.Waiting] > 0 })
}

func queuesWhere(snap *monitor.Snapshot, is func(*monitor.Queue) bool) []keys.Queue {
	var out []keys.Queue
	for _, q := range snap.Queues {
		if is(q) {
			out = append(out, q.Queue)
		}
	}
	return out
}

// report is the last report on the jobs, made anew if it is old.
func (g grouping) report(ctx context.Context, snap *monitor.Snapshot) *failures.Report {
	return g.Look(ctx, g.queues(snap))
}

// count names so many of them.
func (g grouping) count(n int64) string { return words.Plural(n, g.one, g.many) }

// final says that every job of the group failed for good although it had attempts left: running it again is in vain.
// Whether a dead letter's original had any left is not told.
func (g grouping) final(of failures.Group) bool {
	return g.state == keys.Failed && of.Final == of.Count
}

// groupingViews lead from the one grouping to the other; none as long as there are no dead letters.
func (s *Server) groupingViews(r viewRequest, now grouping) []templates.GroupingView {
	letters := s.letterGrouping()
	if now.path != letters.path && len(letters.queues(r.snap)) == 0 {
		return nil
	}
	var out []templates.GroupingView
	for _, g := range []grouping{s.failedGrouping(), letters} {
		out = append(out, templates.GroupingView{Label: sentenceStart(g.many), URL: s.links.to(g.path), Current: g.path == now.path})
	}
	return out
}

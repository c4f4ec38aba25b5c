package web

import (
	"context"
	"maps"
	"sync"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/monitor"
	"bullpen/templates"
)

// keptJob is what a live job page knows since the last pass, so that a job at which nothing moved costs Redis next to
// nothing, however many of them are open.
type keptJob struct {
	mu   sync.Mutex
	mark listMark
	at   time.Time // when all of it was read
	job  jobReads
}

// jobReads is all that a job's page reads from Redis.
type jobReads struct {
	peek  *engine.Peek
	story story
	logs  templates.Logs
	flow  templates.FlowTree
}

// readJob reads what a job's page shows.
func (s *Server) readJob(ctx context.Context, r viewRequest, q *monitor.Queue, id string) (jobReads, error) {
	j, err := s.peek(ctx, r, q, id)
	if err != nil {
		return jobReads{}, err
	}
	return s.readAround(ctx, r, q, j), nil
}

func (s *Server) readAround(ctx context.Context, r viewRequest, q *monitor.Queue, j *engine.Peek) jobReads {
	return jobReads{peek: j, story: s.story(ctx, r, j), logs: s.jobLogs(ctx, r, j), flow: s.jobFlow(ctx, r, q, j)}
}

// read returns what was read before as far as it must still hold: all of it when the job has ended and nothing has
// happened in its queue, else all but the record when that is as it was. Log rows of a running job are always read; they
// come and go without moving anything else. On a nil keptJob it reads all.
func (k *keptJob) read(ctx context.Context, s *Server, r viewRequest, q *monitor.Queue, id string) (jobReads, error) {
	if k == nil {
		return s.readJob(ctx, r, q, id)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now, mark := s.o.Clock(), markOf(q, tab{})
	fresh := now.Sub(k.at) < keepTicks*s.o.Tick && k.at.After(s.scans.lastTouch())
	if fresh && q.Counts != nil && mark == k.mark && ended(k.job.peek) {
		return k.job, nil
	}
	j, err := s.peek(ctx, r, q, id)
	if err != nil {
		k.at = time.Time{}
		return jobReads{}, err
	}
	k.mark = mark
	if !fresh || !sameRecord(k.job.peek, j) {
		k.job, k.at = s.readAround(ctx, r, q, j), now
		return k.job, nil
	}
	if j.State == keys.Active || j.Logs != k.job.peek.Logs {
		k.job.logs = s.jobLogs(ctx, r, j)
	}
	k.job.peek = j
	return k.job, nil
}

func ended(j *engine.Peek) bool { return j.State == keys.Completed || j.State == keys.Failed }

// sameRecord says that nothing happened to a job in between but progress and log rows: every step of its life leaves a
// trace in its record, its state or its children.
func sameRecord(a, b *engine.Peek) bool {
	ofLife := func(j *engine.Peek) map[string]string {
		m := maps.Clone(j.Fields)
		delete(m, "progress")
		return m
	}
	sizes := func(j *engine.Peek) map[string]int64 {
		m := maps.Clone(j.Sizes)
		delete(m, "progress")
		return m
	}
	return a.State == b.State && a.Due.Equal(b.Due) && a.Pending == b.Pending && a.Processed == b.Processed && a.Ignored == b.Ignored &&
		a.Unsuccessful == b.Unsuccessful && maps.Equal(ofLife(a), ofLife(b)) && maps.Equal(sizes(a), sizes(b))
}

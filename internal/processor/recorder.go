package processor

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

const (
	// flushLimit is how long the end of an attempt waits for its last log rows to be written.
	flushLimit = 5 * time.Second
	// progressInterval is the least time between two reports of progress, each of which is an event for every listener.
	progressInterval = 100 * time.Millisecond
)

// journal is the part of *engine.Job that takes what an attempt reports.
type journal interface {
	UpdateProgress(ctx context.Context, v any) error
	Log(ctx context.Context, row string) (int64, error)
}

// recorder writes an attempt's log rows and progress from a goroutine of its own, so that a slow Redis never blocks the
// process that talks. Rows keep their order and are bounded; of several reports of progress the last counts.
type recorder struct {
	mu       sync.Mutex
	rows     []string
	latest   json.RawMessage // progress that is not written yet
	rowsLeft int
	left     int // bytes
	dropped  int
	limits   string // in words

	wake   chan struct{}
	closed chan struct{}
	done   chan struct{}
}

// newRecorder starts a recorder that takes at most the given rows and bytes. It writes on when ctx ends, until close.
func newRecorder(ctx context.Context, to journal, rows, bytes int) *recorder {
	r := &recorder{
		rowsLeft: rows, left: bytes, limits: fmt.Sprintf("%d rows or %d bytes", rows, bytes),
		wake: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(r.done)
		defer cancel()
		r.loop(ctx, cancel, to)
	}()
	return r
}

// log takes a row; beyond the limits it is counted and dropped.
func (r *recorder) log(row string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rowsLeft == 0 || len(row) > r.left {
		r.rowsLeft = 0 // a later, shorter row must not fill the gap
		r.dropped++
		return
	}
	r.rowsLeft--
	r.left -= len(row)
	r.rows = append(r.rows, row)
	r.notify()
}

// progress takes a value to be written as it is.
func (r *recorder) progress(value json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest = value
	r.notify()
}

func (r *recorder) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// close writes what is left, for at most flushLimit, and ends the recorder.
func (r *recorder) close() {
	r.mu.Lock()
	if r.dropped > 0 {
		r.rows = append(r.rows, fmt.Sprintf("%d more lines were dropped: an attempt may log %s", r.dropped, r.limits))
	}
	r.mu.Unlock()
	close(r.closed)
	<-r.done
}

func (r *recorder) loop(ctx context.Context, cancel context.CancelFunc, to journal) {
	var quiet <-chan time.Time // set while the next progress has to wait
	for {
		select {
		case <-r.wake:
		case <-quiet:
			quiet = nil
		case <-r.closed:
			limit := time.AfterFunc(flushLimit, cancel)
			defer limit.Stop()
			r.writeProgress(ctx, to)
			r.writeRows(ctx, to)
			return
		}
		if quiet == nil && r.writeProgress(ctx, to) {
			quiet = time.After(progressInterval)
		}
		r.writeRows(ctx, to)
	}
}

// writeProgress stores the latest progress and reports whether there was any. What Redis does not take is lost: a
// report is not worth failing a job for.
func (r *recorder) writeProgress(ctx context.Context, to journal) bool {
	r.mu.Lock()
	progress := r.latest
	r.latest = nil
	r.mu.Unlock()
	if progress == nil {
		return false
	}
	_ = to.UpdateProgress(ctx, progress)
	return true
}

// writeRows stores the log rows that have gathered.
func (r *recorder) writeRows(ctx context.Context, to journal) {
	r.mu.Lock()
	rows := r.rows
	r.rows = nil
	r.mu.Unlock()
	for _, row := range rows {
		if ctx.Err() != nil {
			return
		}
		_, _ = to.Log(ctx, row)
	}
}

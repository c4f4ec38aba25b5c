package testredis

import (
	"net"
	"sync"
	"time"
)

// queuedConn makes writes return at once. An in-memory pipe has no buffer, so without it a pipeline longer than the
// server's read buffer would wait for a server that waits for its replies to be read.
type queuedConn struct {
	net.Conn
	mu     sync.Mutex
	queue  []byte
	wake   chan struct{} // holds a token while there is something to write
	closed chan struct{}
	once   sync.Once
}

func newQueuedConn(c net.Conn) net.Conn {
	q := &queuedConn{Conn: c, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	go q.pump()
	return q
}

func (q *queuedConn) Write(p []byte) (int, error) {
	select {
	case <-q.closed:
		return 0, net.ErrClosed
	default:
	}
	q.mu.Lock()
	q.queue = append(q.queue, p...)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return len(p), nil
}

// pump writes what was queued until the connection is closed or fails.
func (q *queuedConn) pump() {
	for {
		select {
		case <-q.closed:
			return
		case <-q.wake:
		}
		q.mu.Lock()
		p := q.queue
		q.queue = nil
		q.mu.Unlock()
		if _, err := q.Conn.Write(p); err != nil {
			_ = q.Close()
			return
		}
	}
}

func (q *queuedConn) Close() error {
	q.once.Do(func() { close(q.closed) })
	return q.Conn.Close()
}

// SetWriteDeadline has no effect: writes do not block.
func (q *queuedConn) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline bounds reads only.
func (q *queuedConn) SetDeadline(t time.Time) error { return q.Conn.SetReadDeadline(t) }

package monitor

import "sync"

// hub hands the latest snapshot to whoever asks and to all who subscribed. Publishing never waits for a reader.
type hub struct {
	mu          sync.Mutex
	last        *Snapshot
	subscribers map[chan *Snapshot]struct{}
}

func newHub(first *Snapshot) *hub {
	return &hub{last: first, subscribers: map[chan *Snapshot]struct{}{}}
}

func (h *hub) snapshot() *Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

func (h *hub) publish(s *Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = s
	for ch := range h.subscribers {
		// A reader that has not taken the last one gets the newer one instead.
		select {
		case <-ch:
		default:
		}
		ch <- s
	}
}

// subscribe returns a channel of capacity one; only publish sends on it, under the lock, after making room.
func (h *hub) subscribe() (<-chan *Snapshot, func()) {
	ch := make(chan *Snapshot, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subscribers[ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.subscribers, ch)
	}
}

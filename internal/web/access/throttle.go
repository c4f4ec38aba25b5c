package access

import (
	"net/netip"
	"sync"
	"time"
)

// maxBuckets bounds the memory of a throttle: about 1 MB.
const maxBuckets = 10_000

// limit allows burst tries under a key at once and one more every refill.
type limit struct {
	key    string
	burst  int
	refill time.Duration
}

// limitsFor are the limits of a try: tight for one name from one place; wider for a place, where many people may sit
// behind one address; and widest for a name, or strangers could lock its owner out.
func limitsFor(name string, from netip.Addr) []limit {
	place := network(from)
	return []limit{
		{"pair " + place + " " + name, 5, 30 * time.Second},
		{"place " + place, 20, 6 * time.Second},
		{"name " + name, 50, 6 * time.Second},
	}
}

// network is what one party can choose addresses from: a host in IPv4, a /64 in IPv6.
func network(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// throttle counts tries by key. A bucket is the time at which it is full again, and so needs no clockwork.
type throttle struct {
	clock func() time.Time

	mu   sync.Mutex
	full map[string]time.Time
}

func newThrottle(clock func() time.Time) *throttle {
	return &throttle{clock: clock, full: map[string]time.Time{}}
}

// take counts a try under all limits, or under none and returns how long to wait.
func (t *throttle) take(limits []limit) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	for _, l := range limits {
		wait = max(wait, t.fullAt(l.key, now).Sub(now)-time.Duration(l.burst-1)*l.refill)
	}
	if wait > 0 {
		return wait
	}
	for _, l := range limits {
		t.makeRoom(now)
		t.full[l.key] = t.fullAt(l.key, now).Add(l.refill)
	}
	return 0
}

// fullAt is when a bucket is full, now if it is; the lock is held.
func (t *throttle) fullAt(key string, now time.Time) time.Time {
	if full, ok := t.full[key]; ok && full.After(now) {
		return full
	}
	return now
}

// giveBack takes back a try that was right. What was guessed before it still counts.
func (t *throttle) giveBack(limits []limit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range limits {
		if full, ok := t.full[l.key]; ok {
			t.full[l.key] = full.Add(-l.refill)
		}
	}
}

// makeRoom forgets buckets that are full, and if most are not, any: who has ten thousand addresses is not stopped by
// remembering them. It leaves a quarter free, so that it does not run with each try.
func (t *throttle) makeRoom(now time.Time) {
	if len(t.full) < maxBuckets {
		return
	}
	for key, full := range t.full {
		if !full.After(now) {
			delete(t.full, key)
		}
	}
	for key := range t.full {
		if len(t.full) <= maxBuckets*3/4 {
			return
		}
		delete(t.full, key)
	}
}

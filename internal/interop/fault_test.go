package interop

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fault is something that goes wrong while jobs are added and run. happen returns when it is over.
type fault struct {
	name   string
	happen func(f *faulty)
}

// again does something every so often for two seconds.
func again(pause time.Duration, do func(f *faulty)) func(*faulty) {
	return func(f *faulty) {
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(pause/2 + rand.N(pause)) {
			do(f)
		}
	}
}

// during sets something, waits and sets it back.
func during(d time.Duration, set, back func(f *faulty)) func(*faulty) {
	return func(f *faulty) {
		set(f)
		time.Sleep(d)
		back(f)
	}
}

func command(words ...any) func(*faulty) {
	return func(f *faulty) {
		require.NoError(f.t, f.direct.Do(f.t.Context(), words...).Err(), "%v", words)
	}
}

func refuseWith(text string) func(*faulty) {
	return func(f *faulty) { f.proxy.refuse.Store(&text) }
}

var faults = []fault{
	{"nothing", again(time.Second, func(*faulty) {})},
	{"SCRIPT FLUSH", again(100*time.Millisecond, command("SCRIPT", "FLUSH"))},
	{"CLIENT KILL", again(200*time.Millisecond, func(f *faulty) {
		_ = f.direct.Do(f.t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err()
	})},
	{"replies lost after the script ran", again(100*time.Millisecond, func(f *faulty) { f.proxy.drop.Add(2) })},
	{"connections cut", again(150*time.Millisecond, func(f *faulty) { f.proxy.cut() })},
	{"half-open stall", during(4*time.Second,
		func(f *faulty) { f.proxy.stalled.Store(true) },
		func(f *faulty) { f.proxy.stalled.Store(false) })},
	{"two seconds of delay", during(5*time.Second,
		func(f *faulty) { f.proxy.delay.Store(int64(2 * time.Second)) },
		func(f *faulty) { f.proxy.delay.Store(0) })},
	{"out of memory", during(2*time.Second,
		command("CONFIG", "SET", "maxmemory", "1"), command("CONFIG", "SET", "maxmemory", "0"))},
	{"read-only replica", during(2*time.Second,
		command("REPLICAOF", "127.0.0.1", "1"), command("REPLICAOF", "NO", "ONE"))},
	{"loading", during(2*time.Second, refuseWith("LOADING Redis is loading the dataset in memory"), refuseWith(""))},
	{"busy script", during(2*time.Second, refuseWith("BUSY Redis is busy running a script."), refuseWith(""))},
	{"restart", func(f *faulty) {
		for range 3 {
			time.Sleep(300 * time.Millisecond)
			f.server.Restart(f.t)
		}
	}},
	{"gone for a while", func(f *faulty) {
		f.server.Kill()
		time.Sleep(3 * time.Second)
		f.server.Restart(f.t)
	}},
}

// TestFaults has jobs added and run while something goes wrong, and requires that nothing comes of it.
func TestFaults(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t)
			f.worker("w1", time.Now)
			f.worker("w2", time.Now)
			stop, produced := make(chan struct{}), make(chan error, 1)
			go func() { produced <- f.produce(stop) }()
			require.Eventually(t, func() bool { return f.done.Load() >= 10 }, patience, 5*time.Millisecond)
			fault.happen(f)
			f.recovers()
			close(stop)
			require.NoError(t, <-produced)
			f.settle()
			f.lines.calm(t)
		})
	}
}

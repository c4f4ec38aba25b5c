package monitor

import "testing"

func TestSettle(t *testing.T) {
	t.Parallel()
	at := func(entries int64) readerState { return readerState{id: "50-0", entries: entries} }
	for _, tt := range []struct {
		name    string
		state   readerState
		probe   probe
		fresh   EventTotals
		lost    int64
		extra   EventTotals
		entries int64
	}{
		{
			name: "at the end", state: at(100), probe: probe{exists: true, length: 40, entries: 100, last: "50-0"},
			entries: 100,
		},
		{
			name: "at the end, some never seen", state: at(90), probe: probe{exists: true, length: 40, entries: 100, last: "50-0"},
			lost: 10, entries: 100,
		},
		{
			name: "behind, nothing trimmed past us", state: at(100), probe: probe{exists: true, length: 40, entries: 130, last: "60-0"},
			entries: 100,
		},
		{
			name: "behind, trimmed past us", state: at(100), probe: probe{exists: true, length: 40, entries: 160, last: "60-0"},
			lost: 20, entries: 120,
		},
		{
			name: "stream begun anew, not at its end", state: at(100), probe: probe{exists: true, length: 5, entries: 5, last: "60-0"},
			entries: -1,
		},
		{
			name: "stream begun anew, at its end", state: at(100), probe: probe{exists: true, length: 5, entries: 5, last: "50-0"},
			entries: 5,
		},
		{name: "stream deleted", state: at(100), probe: probe{}, entries: 0},
		{
			name: "server without numbers, a gap", state: at(-1), probe: probe{exists: true, length: 5, first: "51-0", last: "60-0"},
			lost: 1, entries: -1,
		},
		{
			name: "server without numbers, no gap", state: at(-1), probe: probe{exists: true, length: 5, first: "49-0", last: "60-0"},
			entries: -1,
		},
		{
			name: "more finished than seen", state: at(100), fresh: EventTotals{Completed: 3, FailedUnrecoverable: 1},
			probe:   probe{exists: true, length: 40, entries: 100, last: "50-0", completed: 9, failed: 2},
			extra:   EventTotals{Completed: 6, FailedExhausted: 1},
			entries: 100,
		},
		{
			name: "more finished than seen, but they may be unread", state: at(100), fresh: EventTotals{Completed: 3},
			probe:   probe{exists: true, length: 40, entries: 106, last: "60-0", completed: 9},
			entries: 100,
		},
		{
			name: "more finished than seen and unread", state: at(100), fresh: EventTotals{Completed: 3},
			probe:   probe{exists: true, length: 40, entries: 102, last: "60-0", completed: 9},
			extra:   EventTotals{Completed: 4},
			entries: 100,
		},
		{
			name: "workers without metrics", state: at(100), fresh: EventTotals{Completed: 3},
			probe: probe{exists: true, length: 40, entries: 100, last: "50-0"}, entries: 100,
		},
		{
			name: "counters reset", state: readerState{id: "50-0", entries: 100, added: 500, completed: finished{base: 70}},
			probe: probe{exists: true, length: 40, entries: 100, last: "50-0", added: 4, completed: 3},
			extra: EventTotals{Added: 4, Completed: 3}, entries: 100,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tt.state
			got := s.settle(tt.probe, tt.fresh)
			if got.lost != tt.lost || got.extra != tt.extra {
				t.Errorf("got lost %d, extra %+v; want lost %d, extra %+v", got.lost, got.extra, tt.lost, tt.extra)
			}
			if s.entries != tt.entries {
				t.Errorf("entries is %d, want %d", s.entries, tt.entries)
			}
		})
	}
}

// TestSettleNeverCountsTwice lets the metrics run ahead of the events and the events catch up.
func TestSettleNeverCountsTwice(t *testing.T) {
	t.Parallel()
	s := readerState{id: "1-0", entries: 10}
	var total uint64
	step := func(events uint64, p probe) {
		p.exists, p.length = true, 100
		total += events + s.settle(p, EventTotals{Completed: events}).extra.Completed
	}
	step(5, probe{completed: 7, entries: 12, last: "9-0"}) // two are unread
	s.id, s.entries = "9-0", 12
	step(2, probe{completed: 7, entries: 12, last: "9-0"})
	step(0, probe{completed: 9, entries: 12, last: "9-0"}) // two were lost
	step(0, probe{completed: 9, entries: 12, last: "9-0"})
	if total != 9 {
		t.Errorf("%d completed, want 9", total)
	}
}

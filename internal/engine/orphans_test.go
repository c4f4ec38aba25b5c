package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"bullpen/internal/engine/keys"
)

// TestRemoveOrphanedJobs empties a list by hand, as a crash would, and clears up what is left of its jobs.
func TestRemoveOrphanedJobs(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx := t.Context()
	lost := addMany(t, q, 250, JobOptions{})
	if err := q.client.Del(ctx, q.Wait()).Err(); err != nil {
		t.Fatal(err)
	}
	kept := addMany(t, q, 5, JobOptions{})
	if _, err := q.RemoveOrphanedJobs(ctx, -1); !errors.Is(err, ErrInvalid) {
		t.Errorf("a negative limit: %v", err)
	}
	first, err := q.RemoveOrphanedJobs(ctx, 130)
	if err != nil || len(first) != 130 {
		t.Fatalf("removed %d of 130, %v", len(first), err)
	}
	rest, err := q.RemoveOrphanedJobs(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	removed := slices.Concat(first, rest)
	slices.Sort(removed)
	slices.Sort(lost)
	if !slices.Equal(removed, lost) {
		t.Errorf("removed %v", removed)
	}
	if c := counts(t, q); c[keys.Waiting] != int64(len(kept)) {
		t.Errorf("counts = %v", c)
	}
	if again, err := q.RemoveOrphanedJobs(ctx, 0); err != nil || len(again) > 0 {
		t.Errorf("again = %v, %v", again, err)
	}
}

func TestOrphanID(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"7": "7", "7:logs": "7", "7:lock": "7", "order-1:unsuccessful": "order-1",
		"": "", ":logs": "", "wait": "", "meta": "", "metrics:failed": "", "metrics:completed:data": "", "de:x": "", "dn:failed": "",
		"repeat:tick": "", "repeat:failed": "", "a:b:c": "", "a:b:c:logs": "", "7:other": "",
	} {
		id, ok := orphanID(name)
		if id != want || ok != (want != "") {
			t.Errorf("orphanID(%q) = %q, %t", name, id, ok)
		}
	}
	if got, want := globText(fmt.Sprintf("%s:[a]*?:", `b\`)), `b\\:\[a\]\*\?:`; got != want {
		t.Errorf("globText = %s, want %s", got, want)
	}
}

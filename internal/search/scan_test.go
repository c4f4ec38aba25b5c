package search

import (
	"context"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// ids scans once and returns the ids found.
func ids(t *testing.T, text string, lists []List, from *Cursor, l Limits) ([]string, Outcome) {
	t.Helper()
	var found []string
	out, err := parse(t, text).Scan(t.Context(), lists, from, l, func(j *Job) { found = append(found, j.Queue.Name+"/"+j.ID) })
	require.NoError(t, err)
	require.Len(t, found, int(out.Found))
	return found, out
}

// TestScanGoesOn cuts scans short everywhere and wants every job once, in order, whatever the limit.
func TestScanGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.queue("a"), r.queue("b")
	r.end(a, keys.Failed, 700, 300) // more than a page end together
	r.end(b, keys.Failed, 10, 1)
	r.end(a, keys.Completed, 20, 20)
	r.add(a, 30, engine.JobOptions{})
	r.add(b, 30, engine.JobOptions{Delay: time.Hour})
	r.add(b, 5, engine.JobOptions{Priority: 2})
	lists := func(oldest bool) []List {
		var out []List
		for _, q := range []*engine.Queue{b, a} {
			for _, st := range keys.States {
				out = append(out, List{Queue: q, State: st, Oldest: oldest})
			}
		}
		return out
	}
	for _, oldest := range []bool{false, true} {
		whole, out := ids(t, "", lists(oldest), nil, Limits{})
		require.Len(t, whole, 795)
		require.EqualValues(t, 795, out.Looked)
		require.Nil(t, out.Next)
		require.Equal(t, "b/", whole[700][:2], "failed of a, then failed of b, then the rest")
		for _, l := range []Limits{{Rows: 7}, {Rows: 250}, {Found: 11}, {Rows: 400, Found: 300}} {
			var pieces []string
			var from *Cursor
			for turns := 0; ; turns++ {
				require.Less(t, turns, 200)
				part, out := ids(t, "", lists(oldest), from, l)
				pieces = append(pieces, part...)
				if out.Next == nil {
					break
				}
				again, err := ParseCursor(out.Next.String())
				require.NoError(t, err)
				require.Equal(t, out.Next, again)
				from = again
			}
			require.Equal(t, whole, pieces, "%+v", l)
		}
	}
	first, _ := ids(t, "", []List{{Queue: a, State: keys.Failed}}, nil, Limits{Found: 2})
	require.Equal(t, []string{"a/j000699", "a/j000698"}, first, "newest first")
	first, _ = ids(t, "", []List{{Queue: a, State: keys.Failed, Oldest: true}}, nil, Limits{Found: 1})
	require.Equal(t, []string{"a/j000000"}, first)
}

// TestScanWhileJobsLeave removes what was found, as a bulk act does, and misses nothing.
func TestScanWhileJobsLeave(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := r.queue("q")
	r.end(q, keys.Failed, 1000, 400)
	n := 0
	out, err := parse(t, "").Scan(t.Context(), []List{{Queue: q, State: keys.Failed}}, nil, Limits{}, func(j *Job) {
		n++
		if n%3 > 0 {
			require.NoError(t, r.client.ZRem(t.Context(), q.Failed(), j.ID).Err())
		}
	})
	require.NoError(t, err)
	require.Nil(t, out.Next)
	require.Equal(t, 1000, n)
}

// TestScanOfMany is the bound that matters: a hundred thousand jobs, each look within its limits.
func TestScanOfMany(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := r.queue("big")
	r.end(q, keys.Failed, 100_000, 1)
	lists := []List{{Queue: q, State: keys.Failed}}

	found, out := ids(t, "error:=boom*99999", lists, nil, Limits{Rows: 20_000, Found: 100, Payload: 1 << 20, Bytes: 8 << 20})
	require.Equal(t, []string{"big/j099999"}, found)
	require.EqualValues(t, 20_000, out.Looked)
	require.Zero(t, out.Bytes, "no payload was needed")
	require.NotNil(t, out.Next)

	found, out = ids(t, "finished:2026-03-12T10:00:50..2026-03-12T10:00:51", lists, nil, Limits{})
	require.Len(t, found, 1001)
	require.EqualValues(t, 1001, out.Looked, "the time is a range of the set, not a condition on each job")

	found, _ = ids(t, "finished:>10:00:50", []List{{Queue: q, State: keys.Failed, Until: epoch.Add(50*time.Second + 4*time.Millisecond)}}, nil, Limits{})
	require.Len(t, found, 4, "what ended later is left out")

	_, out = ids(t, "data.n:1", lists, nil, Limits{Rows: 100_000, Payload: 1 << 10, Bytes: 50_000})
	require.LessOrEqual(t, out.Bytes, int64(50_000))
	require.Less(t, out.Looked, int64(5000))

	_, out = ids(t, "data.customer.id:7", lists, nil, Limits{Time: 200 * time.Millisecond})
	require.NotNil(t, out.Next)

	found, out = ids(t, "data.customer.id:7 and attempts:3", lists, nil, Limits{})
	require.Len(t, found, 1000)
	require.EqualValues(t, 100_000, out.Looked)
	require.Less(t, out.Bytes, int64(25_000*50), "only the payloads of jobs that meet the rest are read")
}

func TestScanReadsLengthsFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := r.queue("q")
	for _, size := range []int{100, 5000, 200} {
		_, err := q.Add(t.Context(), "x", map[string]string{"a": "yes", "pad": strings.Repeat("x", size)}, engine.JobOptions{})
		require.NoError(t, err)
	}
	lists := []List{{Queue: q, State: keys.Waiting}}
	found, out := ids(t, "data.a:yes", lists, nil, Limits{Payload: 1000})
	require.Equal(t, []string{"q/3", "q/1"}, found)
	require.EqualValues(t, 1, out.Unread)
	require.Less(t, out.Bytes, int64(1000))

	// A payload larger than all bytes together is read when it is the first: a scan must get on.
	found, out = ids(t, "data.a:yes opts.attempts:0", lists, nil, Limits{Payload: 10_000, Bytes: 300})
	require.Equal(t, []string{"q/3"}, found)
	found, out = ids(t, "data.a:yes opts.attempts:0", lists, out.Next, Limits{Payload: 10_000, Bytes: 300})
	require.Equal(t, []string{"q/2"}, found)
	found, out = ids(t, "data.a:yes opts.attempts:0", lists, out.Next, Limits{Payload: 10_000, Bytes: 300})
	require.Equal(t, []string{"q/1"}, found)
	if out.Next != nil {
		found, out = ids(t, "data.a:yes opts.attempts:0", lists, out.Next, Limits{Payload: 10_000, Bytes: 300})
		require.Empty(t, found)
	}
	require.Nil(t, out.Next)
}

func TestScanOfGivenIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := r.queue("q")
	all := r.add(q, 600, engine.JobOptions{})
	found, out := ids(t, "-id:5", []List{{Queue: q, State: keys.Waiting, IDs: append(all, "gone")}}, nil, Limits{Rest: true})
	require.Len(t, found, 600)
	require.EqualValues(t, 601, out.Looked)
	none, _ := ids(t, "", []List{{Queue: q, State: keys.Waiting, IDs: []string{}}}, nil, Limits{})
	require.Empty(t, none)
}

func TestScanSkipsWhatCannotMatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := r.queue("q")
	r.add(q, 5, engine.JobOptions{})
	r.end(q, keys.Failed, 5, 1)
	lists := []List{{Queue: q, State: keys.Waiting}, {Queue: q, State: keys.Failed}}
	_, out := ids(t, "state:failed", lists, nil, Limits{})
	require.EqualValues(t, 5, out.Looked)
	_, out = ids(t, "finished:2026-03-12", lists, nil, Limits{})
	require.EqualValues(t, 5, out.Looked)
}

func TestScanReadsOnlyTheQueuesAskedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.queue("mail"), r.queue("web")
	r.add(a, 20, engine.JobOptions{})
	r.add(b, 3, engine.JobOptions{})
	lists := []List{{Queue: a, State: keys.Waiting}, {Queue: b, State: keys.Waiting}}
	for text, want := range map[string]int64{"queue:web": 3, "queue:we": 3, "-queue:mail": 3, "queue:m": 20, "queue:mail queue:web": 0, "-queue:x": 23} {
		_, out := ids(t, text, lists, nil, Limits{})
		require.Equal(t, want, out.Found, text)
		require.Equal(t, want, out.Looked, text)
	}
}

// TestScanPassesBrokenLists: one unreadable list does not keep the others from being searched.
func TestScanPassesBrokenLists(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good, broken := r.queue("good"), r.queue("broken")
	r.end(good, keys.Failed, 3, 1)
	require.NoError(t, r.client.Set(t.Context(), broken.Failed(), "x", 0).Err())
	found, out := ids(t, "", []List{{Queue: broken, State: keys.Failed}, {Queue: good, State: keys.Failed}}, nil, Limits{})
	require.Len(t, found, 3)
	require.Len(t, out.Troubles, 1)
	require.Equal(t, "broken", out.Troubles[0].Queue.Name)
	require.Nil(t, out.Next)

	_, err := parse(t, "").Scan(t.Context(), []List{{Queue: broken, State: keys.Failed}}, nil, Limits{}, func(*Job) {})
	require.Error(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err = parse(t, "").Scan(ctx, []List{{Queue: good, State: keys.Failed}, {Queue: broken, State: keys.Failed}}, nil, Limits{}, func(*Job) {})
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, out.Next, "it can go on")
}

func TestListedJobsWithoutRecordAreFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := r.queue("q")
	require.NoError(t, r.client.ZAdd(t.Context(), q.Failed(), redis.Z{Score: 5, Member: "ghost"}).Err())
	found, _ := ids(t, "ghost", []List{{Queue: q, State: keys.Failed}}, nil, Limits{})
	require.Equal(t, []string{"q/ghost"}, found)
	none, _ := ids(t, "data.a:1", []List{{Queue: q, State: keys.Failed}}, nil, Limits{})
	require.Empty(t, none)
}

func TestCursorsAreChecked(t *testing.T) {
	t.Parallel()
	c, err := ParseCursor("")
	require.NoError(t, err)
	require.Nil(t, c)
	odd := Cursor{Queue: "bull:a", State: keys.Failed, At: 5, ID: "a\x00b\xff"}
	back, err := ParseCursor(odd.String())
	require.NoError(t, err)
	require.Equal(t, &odd, back)
	for _, bad := range []string{"x", "!!", Cursor{State: "nope"}.String(), Cursor{State: keys.Failed, At: -1}.String(), strings.Repeat("A", maxCursor+4)} {
		_, err := ParseCursor(bad)
		require.Error(t, err, bad)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(Cursor{Queue: "bull:a", State: keys.Failed, At: 5, ID: "x"}.String())
	f.Add("ZmFpbGVkADUAYgBj")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCursor(text)
		if err != nil || c == nil {
			return
		}
		again, err := ParseCursor(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// each runs a test on a real Redis and on the in-process store.
func each(t *testing.T, f func(t *testing.T, q *Queue, c redis.UniversalClient)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		c := srv.Client(t)
		f(t, queueOn(t, c, srv.Prefix()), c)
	})
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		c := testredis.Memory(t)
		f(t, queueOn(t, c, "bull"), c)
	})
}

func TestEnded(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, q *Queue, c redis.UniversalClient) {
		ctx := t.Context()
		at := func(ms int64) time.Time { return time.UnixMilli(ms) }
		for i, id := range []string{"a", "b", "c", "d", "e"} {
			require.NoError(t, c.ZAdd(ctx, q.Failed(), redis.Z{Score: float64(1_700_000_000_000 + min(i, 3)*10), Member: id}).Err())
		}
		ids := func(r EndedRange) string {
			r.Limit = max(r.Limit, 1)
			found, err := q.Ended(ctx, keys.Failed, r)
			require.NoError(t, err)
			var b strings.Builder
			for _, e := range found {
				fmt.Fprintf(&b, "%s%d ", e.ID, e.At-1_700_000_000_000)
			}
			return b.String()
		}
		require.Equal(t, "e30 d30 c20 b10 a0 ", ids(EndedRange{Limit: 9}))
		require.Equal(t, "a0 b10 ", ids(EndedRange{Limit: 2, Oldest: true}))
		require.Equal(t, "d30 ", ids(EndedRange{Limit: 1, Offset: 1}))
		require.Equal(t, "c20 b10 ", ids(EndedRange{Limit: 9, From: at(1_700_000_000_010), To: at(1_700_000_000_020)}))
		require.Equal(t, "b10 c20 ", ids(EndedRange{Limit: 9, From: at(1_700_000_000_010), To: at(1_700_000_000_020), Oldest: true}))

		n, err := q.CountEnded(ctx, keys.Failed, at(1_700_000_000_010), time.Time{})
		require.NoError(t, err)
		require.EqualValues(t, 4, n)
		_, err = q.Ended(ctx, keys.Waiting, EndedRange{Limit: 1})
		require.ErrorIs(t, err, ErrInvalid)
		_, err = q.CountEnded(ctx, keys.Waiting, time.Time{}, time.Time{})
		require.ErrorIs(t, err, ErrInvalid)
	})
}

func TestTextsReadLengthsFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, q *Queue, c redis.UniversalClient) {
		ctx := t.Context()
		var ids []string
		for _, size := range []int{10, 500, 20, 30, 5} {
			j, err := q.Add(ctx, "x", json.RawMessage(`"`+strings.Repeat("x", size-2)+`"`), JobOptions{})
			require.NoError(t, err)
			ids = append(ids, j.ID)
		}
		require.NoError(t, c.Set(ctx, q.JobKey("text"), "x", 0).Err())
		got, err := q.Texts(ctx, append(ids, "nobody", "text"), "data", 100, 35)
		require.NoError(t, err)
		require.Equal(t, []int64{10, 500, 20, 30, 5, 0, 0}, sizes(got))
		require.Equal(t, []bool{false, true, false, true, true, false, false}, left(got), "one too long, and all after the last that fits")
		require.Len(t, got[0].Value, 10)
		require.Empty(t, got[1].Value)
		require.Len(t, got[2].Value, 20)
		got, err = q.Texts(ctx, ids[2:], "data", 100, 0)
		require.NoError(t, err)
		require.Equal(t, []bool{false, true, true}, left(got), "one is always read")
		none, err := q.Texts(ctx, nil, "data", 1, 1)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

func sizes(texts []Text) (out []int64) {
	for _, x := range texts {
		out = append(out, x.Size)
	}
	return out
}

func left(texts []Text) (out []bool) {
	for _, x := range texts {
		out = append(out, x.Left)
	}
	return out
}

func TestHolders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, q *Queue, c redis.UniversalClient) {
		ctx := t.Context()
		other, err := NewQueue(QueueOptions{Client: c, Prefix: q.Prefix, Name: "other"})
		require.NoError(t, err)
		for _, id := range []string{"order/7 ä", "%2e%2e", "a:b:c"} {
			_, err := other.Add(ctx, "x", nil, JobOptions{ID: id})
			require.NoError(t, err)
			held, err := Holders(ctx, id, []*Queue{q, other})
			require.NoError(t, err)
			require.Equal(t, []bool{false, true}, held, id)
		}
		j, err := q.Add(ctx, "x", nil, JobOptions{})
		require.NoError(t, err)
		_, err = j.Log(ctx, "row")
		require.NoError(t, err)
		for _, id := range []string{"", "meta", "wait", "events", "nobody", j.ID + ":logs", "id"} {
			held, err := Holders(ctx, id, []*Queue{q, other})
			require.NoError(t, err)
			require.Equal(t, []bool{false, false}, held, id)
		}
		stopped, cancel := context.WithCancel(ctx)
		cancel()
		_, err = Holders(stopped, "1", []*Queue{q})
		require.Error(t, err)
	})
}

func TestPublicOptionsOfStoredText(t *testing.T) {
	t.Parallel()
	require.JSONEq(t, `{"attempts":3,"keepLogs":5}`, string(PublicOptions([]byte(`{"attempts":3,"kl":5}`))))
	require.JSONEq(t, `{}`, string(PublicOptions([]byte(`nope`))))
}

package book_test

import (
	"strconv"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"
	"bullpen/internal/web/operation"
	"bullpen/internal/web/operation/book"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var srv *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &srv)) }

// stores runs f on redis-server and on the in-process store.
func stores(t *testing.T, f func(t *testing.T, c *redis.Client, b *book.Book)) {
	for name, c := range map[string]*redis.Client{"redis-server": srv.Client(t), "memory": testredis.Memory(t)} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, c.FlushDB(t.Context()).Err())
			f(t, c, book.New(c, false))
		})
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	stores(t, func(t *testing.T, c *redis.Client, b *book.Book) {
		ctx := t.Context()
		id, err := b.Number(ctx)
		require.NoError(t, err)
		require.Equal(t, int64(1), id)
		s := operation.Status{
			ID: id, Verb: "retry", Queue: "bull:email", Who: "ada", State: operation.Running, Started: time.Unix(1, 0).UTC(), Matched: 9, Done: 4, Refused: 1,
			Reasons: []operation.Reason{{Text: "is odd", Count: 1, Sample: []string{"7"}}}, Pace: []int64{3, 2}, Every: time.Second,
			Again: &operation.Again{Path: "/queues/email/retry", Values: map[string][]string{"all": {"1"}}},
		}
		cancelled, err := b.Write(ctx, s, 0, nil)
		require.NoError(t, err)
		require.False(t, cancelled)
		found, err := b.Read(ctx)
		require.NoError(t, err)
		require.Equal(t, []operation.Kept{{Status: s}}, found)
		require.Positive(t, c.TTL(ctx, keys.Operations).Val())

		require.NoError(t, b.Cancel(ctx, id))
		cancelled, err = b.Write(ctx, s, 0, nil)
		require.NoError(t, err)
		require.True(t, cancelled)
	})
}

func TestRefusalsKeepTheirOrder(t *testing.T) {
	stores(t, func(t *testing.T, c *redis.Client, b *book.Book) {
		s := operation.Status{ID: 3, State: operation.Running}
		var all []operation.Refusal
		for i := range 30 {
			all = append(all, operation.Refusal{ID: strconv.Itoa(i), Reason: []string{"is odd", "is late"}[i/7%2]})
		}
		write := func(from, to int) {
			_, err := b.Write(t.Context(), s, from, all[from:to])
			require.NoError(t, err)
		}
		write(0, 9)
		write(9, 11)
		write(9, 30) // as after an answer that was lost
		require.NoError(t, c.HSet(t.Context(), keys.Refusals(3), "x", "not ours").Err())
		found, err := b.Refusals(t.Context(), 3)
		require.NoError(t, err)
		require.Equal(t, all, found)
		require.Positive(t, c.TTL(t.Context(), keys.Refusals(3)).Val())
		found, err = b.Refusals(t.Context(), 4)
		require.NoError(t, err)
		require.Empty(t, found)
	})
}

func TestWhoseProcessIsGoneEndsOnce(t *testing.T) {
	stores(t, func(t *testing.T, c *redis.Client, b *book.Book) {
		ctx := t.Context()
		s := operation.Status{ID: 7, State: operation.Running, Every: time.Second}
		_, err := b.Write(ctx, s, 0, nil)
		require.NoError(t, err)
		require.NoError(t, c.Del(ctx, keys.Operation(7)).Err()) // as when nobody renews it
		found, err := b.Read(ctx)
		require.NoError(t, err)
		require.True(t, found[0].Gone)
		s.State = operation.Interrupted
		first, err := book.New(c, true).End(ctx, s)
		require.NoError(t, err)
		require.False(t, first, "a read-only one leaves that to others")
		for _, want := range []bool{true, false} {
			first, err = b.End(ctx, s)
			require.NoError(t, err)
			require.Equal(t, want, first)
		}
		found, err = b.Read(ctx)
		require.NoError(t, err)
		require.Equal(t, []operation.Kept{{Status: s}}, found)
	})
}

func TestTheBookIsBounded(t *testing.T) {
	stores(t, func(t *testing.T, c *redis.Client, b *book.Book) {
		for range 230 {
			id, err := b.Number(t.Context())
			require.NoError(t, err)
			_, err = b.Write(t.Context(), operation.Status{ID: id, State: operation.Done}, 0, []operation.Refusal{{ID: "1"}})
			require.NoError(t, err)
		}
		require.EqualValues(t, 201, c.HLen(t.Context(), keys.Operations).Val(), "200 operations and the counter")
		require.Zero(t, c.Exists(t.Context(), keys.Refusals(30)).Val(), "what was refused goes with its operation")
		require.NotZero(t, c.Exists(t.Context(), keys.Refusals(31)).Val())
		require.NoError(t, c.HSet(t.Context(), keys.Operations, "230", "not ours").Err())
		found, err := b.Read(t.Context())
		require.NoError(t, err)
		require.Len(t, found, 199)
	})
}

func TestReadOnlyWritesNothing(t *testing.T) {
	stores(t, func(t *testing.T, c *redis.Client, _ *book.Book) {
		_, err := book.New(c, true).Number(t.Context())
		require.Error(t, err)
		require.Zero(t, c.DBSize(t.Context()).Val())
	})
}

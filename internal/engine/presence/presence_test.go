package presence_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/presence"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var srv *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &srv)) }

// stores runs f on redis-server and on the in-process store.
func stores(t *testing.T, f func(t *testing.T, c *redis.Client, prefix string)) {
	t.Run("redis-server", func(t *testing.T) { f(t, srv.Client(t), srv.Prefix()) })
	t.Run("memory", func(t *testing.T) { f(t, testredis.Memory(t), "bull") })
}

func TestAnnounceReadWithdraw(t *testing.T) {
	stores(t, func(t *testing.T, c *redis.Client, prefix string) {
		ctx := t.Context()
		mail, push := keys.Queue{Prefix: prefix, Name: "mail"}, keys.Queue{Prefix: prefix, Name: "push"}
		entries := []presence.Entry{
			{Queue: mail, Worker: presence.Worker{ID: "2", Host: "b", Process: 8, Name: "b:8", Concurrency: 4, Version: "1.0", Policy: "abc"}},
			{Queue: mail, Worker: presence.Worker{ID: "1", Host: "a", Process: 7, Name: "a:7", Concurrency: 2}},
			{Queue: push, Worker: presence.Worker{ID: "3", Name: "c"}},
		}
		require.NoError(t, presence.Announce(ctx, c, entries))

		got, err := presence.Read(ctx, c, mail)
		require.NoError(t, err)
		require.Len(t, got, 2)
		require.NotZero(t, got[0].Seen)
		for i := range got {
			got[i].Seen = 0
		}
		require.Equal(t, []presence.Worker{entries[1].Worker, entries[0].Worker}, got)

		ttl, err := c.PTTL(ctx, "bullpen:workers:"+prefix+":mail").Result()
		require.NoError(t, err)
		require.InDelta(t, presence.TTL.Seconds(), ttl.Seconds(), 5)

		require.NoError(t, presence.Withdraw(ctx, c, entries[:2]))
		got, err = presence.Read(ctx, c, mail)
		require.NoError(t, err)
		require.Empty(t, got)
		got, err = presence.Read(ctx, c, push)
		require.NoError(t, err)
		require.Len(t, got, 1)
	})
}

func TestAnnounceReplacesAndRemovesTheSilent(t *testing.T) {
	stores(t, func(t *testing.T, c *redis.Client, prefix string) {
		ctx := t.Context()
		q := keys.Queue{Prefix: prefix, Name: "mail"}
		silent := fmt.Sprintf(`{"name":"gone","seen":%d}`, time.Now().Add(-presence.TTL).UnixMilli())
		require.NoError(t, c.HSet(ctx, q.Presence(), "old", silent, "newer", `{"name":["a","list"]}`).Err())

		for _, n := range []int{1, 5} {
			e := presence.Entry{Queue: q, Worker: presence.Worker{ID: "1", Name: "a", Concurrency: n}}
			require.NoError(t, presence.Announce(ctx, c, []presence.Entry{e}))
		}
		fields, err := c.HKeys(ctx, q.Presence()).Result()
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"1", "newer"}, fields)

		got, err := presence.Read(ctx, c, q)
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Equal(t, 5, got[0].Concurrency)
	})
}

func TestDecodeLeavesOutTheSilent(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	field := func(age time.Duration) string {
		b, err := json.Marshal(presence.Worker{Name: age.String(), Seen: now.Add(-age).UnixMilli()})
		require.NoError(t, err)
		return string(b)
	}
	got := presence.Decode(map[string]string{
		"a": field(presence.TTL - time.Millisecond), "b": field(presence.TTL), "c": field(-time.Hour), "d": "nonsense",
	}, now)
	require.Len(t, got, 2)
	require.Equal(t, "-1h0m0s", got[0].Name)
	require.Equal(t, "14.999s", got[1].Name)
}

func TestErrorsNameTheOperation(t *testing.T) {
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: "/nonexistent", MaxRetries: -1})
	defer func() { _ = c.Close() }()
	e := []presence.Entry{{Queue: keys.Queue{Prefix: "bull", Name: "q"}}}
	require.ErrorContains(t, presence.Announce(t.Context(), c, e), "announce workers")
	require.ErrorContains(t, presence.Withdraw(t.Context(), c, e), "withdraw workers")
	_, err := presence.Read(t.Context(), c, e[0].Queue)
	require.ErrorContains(t, err, "read workers of bull:q")
	require.NoError(t, presence.Announce(t.Context(), c, nil))
	require.NoError(t, presence.Withdraw(t.Context(), c, nil))
}

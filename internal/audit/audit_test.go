package audit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"bullpen/internal/audit"
	"bullpen/internal/engine/keys"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var srv *testredis.Server

func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &srv)) }

// stores runs f on redis-server and on the in-process store, each with an empty log.
func stores(t *testing.T, f func(t *testing.T, c *redis.Client, l *audit.Log)) {
	run := func(c *redis.Client) func(*testing.T) {
		return func(t *testing.T) {
			require.NoError(t, c.Del(t.Context(), keys.Audit).Err())
			l, err := audit.New(audit.Options{Client: c})
			require.NoError(t, err)
			f(t, c, l)
		}
	}
	t.Run("redis-server", run(srv.Client(t)))
	t.Run("memory", run(testredis.Memory(t)))
}

func names(p audit.Page) string {
	var out []string
	for _, e := range p.Entries {
		out = append(out, e.Who)
	}
	return strings.Join(out, " ")
}

func TestClientIsRequired(t *testing.T) {
	_, err := audit.New(audit.Options{})
	require.ErrorContains(t, err, "Client")
}

func TestReadNewestFirstPageByPage(t *testing.T) {
	stores(t, func(t *testing.T, _ *redis.Client, l *audit.Log) {
		ctx := t.Context()
		for i := range 5 {
			l.Record(ctx, audit.Entry{At: time.UnixMilli(1), Who: fmt.Sprint(i), Action: "retry", Outcome: audit.Done, Jobs: []string{"7"}})
		}
		p, err := l.Read(ctx, audit.Query{Limit: 2})
		require.NoError(t, err)
		require.Equal(t, "4 3", names(p))
		require.Equal(t, []string{"7"}, p.Entries[0].Jobs)
		require.True(t, p.Entries[0].At.Equal(time.UnixMilli(1)))
		p, err = l.Read(ctx, audit.Query{Limit: 2, Before: p.Next})
		require.NoError(t, err)
		require.Equal(t, "2 1", names(p))
		p, err = l.Read(ctx, audit.Query{Limit: 2, Before: p.Next})
		require.NoError(t, err)
		require.Equal(t, "0", names(p))
		require.Empty(t, p.Next, "the log ends here")
		p, err = l.Read(ctx, audit.Query{Limit: 2, After: p.Entries[0].ID})
		require.NoError(t, err)
		require.Equal(t, "2 1", names(p), "a step back")
		p, err = l.Read(ctx, audit.Query{Limit: 2, Before: p.Next})
		require.NoError(t, err)
		require.Equal(t, "0", names(p))
		p, err = l.Read(ctx, audit.Query{Limit: 4, After: p.Entries[0].ID})
		require.NoError(t, err)
		require.Equal(t, "4 3 2 1", names(p))
		p, err = l.Read(ctx, audit.Query{Limit: 3, After: p.Entries[1].ID})
		require.NoError(t, err)
		require.Equal(t, "4 3 2", names(p), "fewer newer ones than fit on a page")
		_, err = l.Read(ctx, audit.Query{Limit: 2, After: "-"})
		require.ErrorIs(t, err, audit.ErrCursor)
		_, err = l.Read(ctx, audit.Query{Limit: 2, Before: "+"})
		require.ErrorIs(t, err, audit.ErrCursor)
	})
}

func TestMatchLooksAtABoundedPart(t *testing.T) {
	stores(t, func(t *testing.T, c *redis.Client, l *audit.Log) {
		ctx := t.Context()
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i := range 2300 {
				p.XAdd(ctx, &redis.XAddArgs{Stream: keys.Audit, ID: fmt.Sprintf("%d-0", i+1), Values: []any{"entry", fmt.Sprintf(`{"who":"%d"}`, i)}})
			}
			return nil
		})
		require.NoError(t, err)
		oldest := func(e audit.Entry) bool { return e.Who == "0" }
		p, err := l.Read(ctx, audit.Query{Limit: 10, Match: oldest})
		require.NoError(t, err)
		require.Empty(t, p.Entries)
		require.Equal(t, 2000, p.Read)
		p, err = l.Read(ctx, audit.Query{Limit: 10, Match: oldest, Before: p.Next})
		require.NoError(t, err)
		require.Equal(t, "0", names(p))
		require.Empty(t, p.Next)
	})
}

func TestTheLogIsBounded(t *testing.T) {
	c := srv.Client(t)
	require.NoError(t, c.Del(t.Context(), keys.Audit).Err())
	l, err := audit.New(audit.Options{Client: c})
	require.NoError(t, err)
	_, err = c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range audit.Kept + 500 {
			p.XAdd(t.Context(), &redis.XAddArgs{Stream: keys.Audit, ID: fmt.Sprintf("%d-0", i+1), Values: []any{"entry", "{}"}})
		}
		return nil
	})
	require.NoError(t, err)
	many := make([]string, 500)
	for i := range many {
		many[i] = strings.Repeat("j", 1000)
	}
	l.Record(t.Context(), audit.Entry{Who: strings.Repeat("é", 4000), Message: strings.Repeat("m", 1<<20), Outcome: audit.Failed, Jobs: many})
	n, err := c.XLen(t.Context(), keys.Audit).Result()
	require.NoError(t, err)
	require.Less(t, n, int64(audit.Kept+200), "old entries go, in the steps that Redis finds cheap")
	p, err := l.Read(t.Context(), audit.Query{Limit: 1})
	require.NoError(t, err)
	e := p.Entries[0]
	require.Len(t, e.Jobs, 20)
	require.Less(t, len(e.Who)+len(e.Message)+len(strings.Join(e.Jobs, "")), 6000)
}

func TestWhatIsNotKept(t *testing.T) {
	stores(t, func(t *testing.T, c *redis.Client, l *audit.Log) {
		l.Record(t.Context(), audit.Entry{Who: "ada", Outcome: audit.Asked})
		reader, err := audit.New(audit.Options{Client: c, ReadOnly: true})
		require.NoError(t, err)
		reader.Record(t.Context(), audit.Entry{Who: "eve", Outcome: audit.Refused})
		n, err := c.Exists(t.Context(), keys.Audit).Result()
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

func TestAnActIsRecordedAlthoughNobodyWaits(t *testing.T) {
	stores(t, func(t *testing.T, _ *redis.Client, l *audit.Log) {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		l.Record(gone, audit.Entry{Who: "ada", Outcome: audit.Done})
		p, err := l.Read(t.Context(), audit.Query{Limit: 9})
		require.NoError(t, err)
		require.Equal(t, "ada", names(p))
	})
}

func TestForeignEntriesAreShown(t *testing.T) {
	stores(t, func(t *testing.T, c *redis.Client, l *audit.Log) {
		require.NoError(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: keys.Audit, ID: "1700000000000-0", Values: []any{"other", "x"}}).Err())
		p, err := l.Read(t.Context(), audit.Query{Limit: 9})
		require.NoError(t, err)
		require.Equal(t, "This entry cannot be read.", p.Entries[0].Message)
		require.Equal(t, int64(1700000000000), p.Entries[0].At.UnixMilli())
	})
}

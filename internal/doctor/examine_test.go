package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"bullpen/internal/config"
	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// examine runs the doctor on a server and returns the findings that are not fine.
func examine(t *testing.T, c redis.UniversalClient, cfg config.Config) []Finding {
	t.Helper()
	return examineWith(t, c, cfg, nil)
}

func examineWith(t *testing.T, c redis.UniversalClient, cfg config.Config, live func(keys.Queue, policy.Policy) (policy.Policy, bool)) []Finding {
	t.Helper()
	if len(cfg.Redis.Prefixes) == 0 {
		cfg.Redis.Prefixes = []string{"bull"}
	}
	cfg.Tick = 100 * time.Millisecond
	found, err := Examine(t.Context(), Options{
		Live:   live,
		Config: &cfg, Client: c, Store: "a Redis", Sample: 300 * time.Millisecond,
		Queue: func(id keys.Queue) (*engine.Queue, error) {
			return engine.NewQueue(engine.QueueOptions{Client: c, Prefix: id.Prefix, Name: id.Name})
		},
	})
	require.NoError(t, err)
	require.Contains(t, found, Finding{OK, "store", "", "a Redis"})
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Level == OK })
}

func TestHealthyServer(t *testing.T) {
	t.Parallel()
	c := testredis.Start(t).Client(t)
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "1gb").Err())
	before := dump(t, c)
	require.Empty(t, examine(t, c, config.Default()))
	require.Equal(t, before, dump(t, c), "an examination leaves no keys")
}

func dump(t *testing.T, c *redis.Client) []string {
	t.Helper()
	all, err := c.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	return all
}

func TestUnhealthyServer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := testredis.Start(t).Client(t)
	require.NoError(t, c.ConfigSet(ctx, "maxmemory", "100mb").Err())
	require.NoError(t, c.ConfigSet(ctx, "maxmemory-policy", "allkeys-lru").Err())
	require.NoError(t, c.ConfigSet(ctx, "appendonly", "no").Err())
	q, err := engine.NewQueue(engine.QueueOptions{Client: c, Name: "emials"})
	require.NoError(t, err)
	_, err = q.Add(ctx, "hello", map[string]any{}, engine.JobOptions{})
	require.NoError(t, err)
	cfg := config.Default()
	cfg.Warnings = []config.Problem{{Source: "b.yaml", Line: 3, Key: "x", Text: "odd"}}
	cfg.Queues = map[keys.Queue]config.Queue{
		{Prefix: "bull", Name: "emails"}: {Worker: &config.Worker{}, Policy: policy.Policy{}},
	}
	require.Equal(t, []Finding{
		{Warning, "configuration", "", "b.yaml:3: x: odd"},
		{Error, "eviction policy", "", "allkeys-lru: when memory is full, jobs disappear; set maxmemory-policy noeviction"},
		{Error, "persistence", "", "neither append-only file nor snapshots: a restart loses every job; set appendonly yes"},
		{Warning, "workers", "bull:emials", "1\u00a0job waits and no worker is connected; is it a misspelt \"emails\"?"},
	}, examine(t, c, cfg))
}

func TestLongRuns(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := testredis.Start(t).Client(t)
	require.NoError(t, c.ConfigSet(ctx, "maxmemory", "1gb").Err())
	q := keys.Queue{Prefix: "bull", Name: "slow"}
	require.NoError(t, c.HSet(ctx, q.Meta(), "version", "bullmq:6.7.0").Err())
	require.NoError(t, c.HSet(ctx, q.Job("1"), "name", "n", "data", "{}", "opts", "{}", "timestamp", 1, "processedOn", 1000, "finishedOn", 41000).Err())
	require.NoError(t, c.ZAdd(ctx, q.Completed(), redis.Z{Score: 41000, Member: "1"}).Err())
	require.Equal(t, []Finding{{
		Warning, "run times", "bull:slow",
		"a job ran for 40s, longer than the lock of 30s: a worker that cannot renew it in time, because it is busy, loses the job to another",
	}}, examine(t, c, config.Default()))

	patient := config.Default()
	patient.Defaults.LockDuration = time.Minute
	require.Empty(t, examine(t, c, patient))

	found := examineWith(t, c, patient, func(id keys.Queue, file policy.Policy) (policy.Policy, bool) {
		require.Equal(t, time.Minute, file.LockDuration)
		file.LockDuration = 10 * time.Second
		return file, id == q
	})
	require.Len(t, found, 1, "what was changed live is judged, not the file")
	require.Contains(t, found[0].Text, "longer than the lock of 10s")
}

func TestRestrictedUser(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := testredis.Start(t)
	admin := srv.Client(t)
	require.NoError(t, admin.Do(ctx, "ACL", "SETUSER", "few", "on", ">x", "~*", "+@all", "-xadd", "-client|list", "-config").Err())
	o := srv.Options()
	o.Username, o.Password = "few", "x"
	c := redis.NewClient(o)
	defer func() { require.NoError(t, c.Close()) }()
	levels := map[string]Level{}
	for _, f := range examine(t, c, config.Default()) {
		if f.Check == "permissions" {
			what, _, _ := strings.Cut(f.Text, " is refused")
			levels[what] = f.Level
			require.Contains(t, f.Text, "NOPERM")
		}
	}
	require.Equal(t, map[string]Level{"XADD": Error, "CLIENT LIST": Warning, "CONFIG GET": Warning}, levels)
}

// TestEveryPrefix finds what a user may not do under a prefix that is not the first, and on our own keys.
func TestEveryPrefix(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	require.NoError(t, srv.Client(t).Do(t.Context(), "ACL", "SETUSER", "few", "on", ">x", "~bull:*", "%R~other:*", "+@all").Err())
	o := srv.Options()
	o.Username, o.Password = "few", "x"
	c := redis.NewClient(o)
	defer func() { require.NoError(t, c.Close()) }()
	cfg := config.Default()
	cfg.Redis.Prefixes = []string{"bull", "other"}
	levels := map[string]Level{}
	for _, f := range examine(t, c, cfg) {
		if f.Check == "permissions" {
			what, _, _ := strings.Cut(f.Text, ", so ")
			levels[what] = f.Level
		}
	}
	require.Equal(t, map[string]Level{
		"EVAL is refused under the prefix other": Error, "SET is refused under the prefix other": Error, "LPUSHX is refused under the prefix other": Error,
		"ZADD is refused under the prefix other": Error, "DEL is refused under the prefix other": Error, "XADD is refused under the prefix other": Error,
		"BZPOPMIN is refused under the prefix other": Error,
		"GET is refused on bullpen:*":                Warning, "SET is refused on bullpen:*": Warning,
	}, levels)
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	srv.Kill()
	cfg := config.Default()
	_, err := Examine(t.Context(), Options{Config: &cfg, Client: c})
	require.ErrorContains(t, err, "redis does not answer: dial unix")
}

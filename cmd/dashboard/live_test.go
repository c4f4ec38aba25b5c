package main

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// changeLive brings values into force over what the file says of a queue.
func changeLive(t *testing.T, c redis.UniversalClient, id keys.Queue, file policy.Policy, values livepolicy.Values) {
	t.Helper()
	store, err := livepolicy.New(livepolicy.Options{
		Client: c, File: func(keys.Queue) (policy.Policy, string) { return file, "bullpen.yaml" },
		Queue: func(q keys.Queue) (*engine.Queue, error) {
			return engine.NewQueue(engine.QueueOptions{Client: c, Prefix: q.Prefix, Name: q.Name})
		},
	})
	require.NoError(t, err)
	p, err := store.Propose(t.Context(), id, livepolicy.Change{By: "ada", Why: "flaky partner", Values: values})
	require.NoError(t, err)
	_, err = store.Approve(t.Context(), id, p.Number, "ada")
	require.NoError(t, err)
}

// TestCheckJudgesTheLivePolicy has a limiter that is out of reach only as it was changed live, and then one that may
// not be read.
func TestCheckJudgesTheLivePolicy(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	srv := testredis.Start(t)
	c := srv.Client(t)
	require.NoError(t, c.ConfigSet(ctx, "maxmemory", "1gb").Err())
	id := keys.Queue{Prefix: "bull", Name: "mail"}
	require.NoError(t, c.HSet(ctx, id.Meta(), "version", "bullmq:6.7.0").Err())
	require.NoError(t, c.HSet(ctx, id.Job("1"), "name", "n", "data", "{}", "opts", "{}", "timestamp", 1, "processedOn", 1000, "finishedOn", 2000).Err())
	require.NoError(t, c.ZAdd(ctx, id.Completed(), redis.Z{Score: 2000, Member: "1"}).Err())
	o := srv.Options()
	o.ClientName = "bull:" + base64.StdEncoding.EncodeToString([]byte("mail"))
	worker := redis.NewClient(o)
	defer func() { require.NoError(t, worker.Close()) }()
	require.NoError(t, worker.Ping(ctx).Err())
	config := file(t, "queues: {mail: {policy: {worker_concurrency: 2}}}")
	check := func(url string) result {
		return run(t, testbullpen.Environ(t), "", "check", "-config", config, "-redis", url, "-sample", "100ms")
	}
	require.NotContains(t, check("unix://"+srv.Socket).out, "limiter of bull:mail")

	changeLive(t, c, id, policy.Policy{}, livepolicy.Values{Limiter: &livepolicy.Limiter{Max: 50, Duration: livepolicy.Span(time.Second)}})
	require.Contains(t, check("unix://"+srv.Socket).out, "warning  limiter of bull:mail: ")

	require.NoError(t, c.ACLSetUser(ctx, "limited", "on", ">secret", "~bull:*", "&*", "+@all").Err())
	said := check("unix://limited:secret@" + srv.Socket)
	require.Equal(t, exitFine, said.code, said.out+said.err)
	require.Contains(t, said.out, "warning  permissions: GET is refused on bullpen:*, so policies that were changed live are not known; grant this user ~bullpen:*: ")
	require.Contains(t, said.out, "warning  live policies: cannot be read, so those of the file were judged: ")
}

// TestAddObeysTheLivePolicy gives a job the attempts that are in force and not those of the file.
func TestAddObeysTheLivePolicy(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	id := keys.Queue{Prefix: "bull", Name: "mail"}
	nine := 9
	changeLive(t, c, id, policy.Policy{Attempts: 3}, livepolicy.Values{Attempts: &nine})
	config := file(t, "queues: {mail: {policy: {attempts: 3}}}")
	r := run(t, testbullpen.Environ(t), "", "add", "mail", "hi", "-id", "x", "-config", config, "-redis", "unix://"+srv.Socket)
	require.Equal(t, exitFine, r.code, r.err)
	require.JSONEq(t, `{"attempts":9,"jobId":"x"}`, withoutTimestamp(t, c.HGet(t.Context(), "bull:mail:x", "opts").Val()))
}

// TestWorkersWithoutPermissionForPolicies runs workers as a user who may touch the queues' keys and nothing else.
func TestWorkersWithoutPermissionForPolicies(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	require.NoError(t, c.ACLSetUser(t.Context(), "limited", "on", ">secret", "~bull:*", "&*", "+@all").Err())
	p := start(t, testbullpen.Environ(t), "-config", file(t, `
redis: {url: "unix://`+srv.Socket+`", username: limited, password: secret}
queues: {mail: {worker: {command: {argv: ["true"]}}}}`))
	p.awaitReady(http.StatusOK)
	added := run(t, testbullpen.Environ(t), "", "add", "mail", "hi", "-redis", "unix://limited:secret@"+srv.Socket)
	require.Equal(t, exitFine, added.code, added.err)
	eventually(t, func() (bool, string) {
		n := c.ZCard(t.Context(), "bull:mail:completed").Val()
		return n == 1, "the job has not run"
	})
	require.Contains(t, p.Said(), "policies cannot be changed live")
	p.terminate()
}

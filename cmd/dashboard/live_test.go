package main

import (
	"net/http"
	"testing"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/livepolicy"
	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

// TestAddObeysTheLivePolicy gives a job the attempts that are in force and not those of the file.
func TestAddObeysTheLivePolicy(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	id := keys.Queue{Prefix: "bull", Name: "mail"}
	store, err := livepolicy.New(livepolicy.Options{
		Client: c, File: func(keys.Queue) (policy.Policy, string) { return policy.Policy{Attempts: 3}, "bullpen.yaml" },
		Queue: func(q keys.Queue) (*engine.Queue, error) {
			return engine.NewQueue(engine.QueueOptions{Client: c, Prefix: q.Prefix, Name: q.Name})
		},
	})
	require.NoError(t, err)
	nine := 9
	p, err := store.Propose(t.Context(), id, livepolicy.Change{By: "ada", Why: "flaky partner", Values: livepolicy.Values{Attempts: &nine}})
	require.NoError(t, err)
	_, err = store.Approve(t.Context(), id, p.Number, "ada")
	require.NoError(t, err)
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

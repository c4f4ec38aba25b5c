package main

import (
	"fmt"
	"testing"

	"bullpen/internal/testbullpen"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

// TestNothingIsWrittenToQueuesOfBull leaves what Bull 3 or 4 would have left and lets every command that writes try.
func TestNothingIsWrittenToQueuesOfBull(t *testing.T) {
	t.Parallel()
	srv := testredis.Start(t)
	c := srv.Client(t)
	ctx := t.Context()
	require.NoError(t, c.LPush(ctx, "bull:old:wait", "1").Err())
	require.NoError(t, c.HSet(ctx, "bull:old:1", "name", "__default__", "data", "{}", "opts", "{}", "timestamp", 1, "attemptsMade", 0).Err())
	require.NoError(t, c.Set(ctx, "bull:old:id", 1, 0).Err())
	before, err := c.Keys(ctx, "*").Result()
	require.NoError(t, err)
	redis := "unix://" + srv.Socket

	for _, args := range [][]string{{"add", "old", "hello"}, {"replay", "old"}} {
		r := run(t, testbullpen.Environ(t), "", append(args, "-redis", redis)...)
		require.Equal(t, exitFailed, r.code, args)
		require.Contains(t, r.err, "old: queue was written by Bull 3 or 4", args)
	}
	for name, queue := range map[string]string{
		"worker":       `old: {worker: {command: {argv: [/bin/true]}}}`,
		"policy":       `old: {policy: {global_concurrency: 3}}`,
		"dead letters": `new: {policy: {dead_letter: old}, worker: {command: {argv: [/bin/true]}}}`,
	} {
		r := run(t, testbullpen.Environ(t), "", "-listen", "127.0.0.1:0", "-config", file(t, fmt.Sprintf("redis: {url: %q}\nqueues:\n  %s\n", redis, queue)))
		require.Equal(t, exitFailed, r.code, name)
		require.Contains(t, r.err, "queue was written by Bull 3 or 4", name)
	}
	after, err := c.Keys(ctx, "bull:*").Result()
	require.NoError(t, err)
	require.ElementsMatch(t, before, after)
	require.Equal(t, "1", c.LIndex(ctx, "bull:old:wait", 0).Val())
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// reply is an error reply of Redis.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

var _ redis.Error = reply("")

func TestWhatAnErrorMeans(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	tests := []struct {
		err             error
		refusal, mayRun bool
	}{
		{nil, false, false},
		{io.EOF, false, true},
		{&net.OpError{Op: "read", Err: errors.New("connection reset")}, false, true},
		{context.DeadlineExceeded, false, true},
		{dial, false, false},
		{reply("LOADING Redis is loading the dataset in memory"), false, false},
		{reply("OOM command not allowed when used memory > 'maxmemory'. script: 1, on @user_script:1."), false, false},
		{reply("ERR NOREPLICAS Not enough good replicas to write. script: 1, on @user_script:198."), false, false},
		{reply("ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write"), false, false},
		{reply("ERR max number of clients reached"), false, false},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value"), true, true},
		{reply("ERR value is not an integer or out of range"), true, true},
	}
	for _, tt := range tests {
		err := tt.err
		if err != nil {
			err = fmt.Errorf("wrapped: %w", err)
		}
		if got := isRefusal(err); got != tt.refusal {
			t.Errorf("isRefusal(%v) = %t", tt.err, got)
		}
		if got := mayHaveRun(err); got != tt.mayRun {
			t.Errorf("mayHaveRun(%v) = %t", tt.err, got)
		}
	}
	if isReply(redis.Nil) {
		t.Error("nothing found counts as an error reply")
	}
}

// TestTroubleIsPaced spends an hour without Redis, in virtual time.
func TestTroubleIsPaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs := &logLines{}
		tr := trouble{log: logs.logger(), level: slog.LevelWarn}
		began, tries := time.Now(), 0
		for time.Since(began) < time.Hour {
			time.Sleep(tr.failed(t.Context(), "talking", io.EOF))
			tries++
		}
		if tries < 500 || tries > 2000 {
			t.Errorf("%d tries in an hour, want one every few seconds", tries)
		}
		if n := logs.count("talking failed"); n < 100 || n > 121 {
			t.Errorf("%d lines in an hour, want one every half minute", n)
		}
		tr.ok(t.Context(), "talking")
		tr.ok(t.Context(), "talking")
		if n := logs.count("works again"); n != 1 {
			t.Errorf("%d lines about the recovery, want 1", n)
		}
		if pause := tr.failed(t.Context(), "talking", io.EOF); pause > 2*shortestPause {
			t.Errorf("first pause after a recovery is %s", pause)
		}
	})
}

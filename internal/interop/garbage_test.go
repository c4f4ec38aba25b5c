package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// junk are values that no client writes.
var junk = []string{
	"", "not json", "{", "[]", "null", "NaN", "-1", "1e400", "99999999999999999999", "1.5", "\xff\xfe\x00",
	`{"queueKey":"bull:q","id":null}`, `{"queueKey":"bull:q","id":{}}`,
	`{"attempts":"many","backoff":{"type":7,"delay":"soon"},"removeOnComplete":"yes","delay":{}}`,
	`"` + strings.Repeat("x", 1<<16) + `"`,
}

// jobFields are all fields a job's hash can have.
var jobFields = []string{
	"name", "data", "opts", "timestamp", "delay", "priority", "parentKey", "parent", "rjk", "deid", "processedOn", "pb",
	"ats", "atm", "attemptsMade", "stc", "stalledCounter", "defa", "progress", "returnvalue", "failedReason", "stacktrace", "finishedOn", "tm",
}

// TestGarbageInFields puts junk into every field of a waiting job. Whatever it says, the job ends, and those around it
// are not touched.
func TestGarbageInFields(t *testing.T) {
	for _, field := range jobFields {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t)
			var spoilt []string
			for i, value := range junk {
				id := fmt.Sprint("spoilt-", i)
				f.addJob(id, "flaky", `{"failures":1}`, `{"attempts":2,"backoff":{"type":"fixed","delay":10}}`)
				require.NoError(t, f.direct.HSet(t.Context(), f.q.JobKey(id), field, value).Err())
				f.addSound()
				spoilt = append(spoilt, id)
			}
			f.worker("w1", time.Now)
			f.settleWithout(spoilt)
			f.lines.calm(t)
		})
	}
}

// TestGarbageInKeys damages the queue's own keys.
func TestGarbageInKeys(t *testing.T) {
	damage := map[string][][]any{
		"ids without jobs in every list": {
			{"RPUSH", "wait", "ghost-1", "", "0:0", "0:7", "ghost 2"},
			{"LPUSH", "active", "ghost-3", "", "0:9"},
			{"ZADD", "delayed", "1", "ghost-4", "-5", "ghost-5", "inf", "ghost-6"},
			{"ZADD", "prioritized", "-7", "ghost-7", "1e300", "ghost-8"},
			{"SADD", "stalled", "ghost-3", "ghost-9", ""},
		},
		"settings": {{
			"HSET", "meta", "concurrency", "many", "max", "some", "duration", "soon", "opts.maxLenEvents", "lots",
			"version", "\xff",
		}},
		"limits of nothing":       {{"HSET", "meta", "max", "5"}},
		"counters":                {{"SET", "pc", "abc"}, {"SET", "limiter", "abc"}},
		"counters in use":         {{"SET", "pc", "abc"}, {"HSET", "sound-1", "priority", "2"}, {"HSET", "meta", "max", "5", "duration", "50"}, {"SET", "limiter", "abc"}},
		"length of events":        {{"HSET", "meta", "opts.maxLenEvents", "-5"}},
		"markers":                 {{"ZADD", "marker", "nan-is-refused-by-redis", "0"}, {"ZADD", "marker", "1e300", "1", "-1", "x"}},
		"hash is a text":          {{"DEL", "sound-1"}, {"SET", "sound-1", "text"}},
		"lock is a list":          {{"RPUSH", "sound-1:lock", "x"}},
		"logs are a text":         {{"SET", "sound-1:logs", "x"}},
		"dependencies are a key":  {{"SET", "sound-1:dependencies", "x"}},
		"parent that never was":   {{"HSET", "sound-1", "parentKey", "bull:nowhere:1", "parent", `{"id":"1","queueKey":"bull:nowhere"}`}},
		"dedup of another":        {{"HSET", "sound-1", "deid", "d"}, {"SET", "de:d", "sound-2"}},
		"dedup is a list":         {{"HSET", "sound-1", "deid", "d"}, {"RPUSH", "de:d", "x"}},
		"what follows is nothing": {{"HSET", "sound-1", "deid", "d"}, {"SET", "de:d", "sound-1"}, {"HSET", "dn:d", "name", "ok", "jid", "next"}},
		"what follows is junk": {
			{"HSET", "sound-1", "deid", "d"},
			{"SET", "de:d", "sound-1"},
			{"HSET", "dn:d", "name", "n", "data", "{", "opts", `{"delay":"soon","priority":"nan","de":7}`, "jid", "next"},
		},
		"parent is a text":    {{"HSET", "sound-1", "parentKey", "bull:q:p", "parent", `{"id":"p","queueKey":"bull:q","fpof":true}`}, {"SET", "p", "x"}},
		"values are a text":   {{"SET", "sound-1:processed", "x"}, {"SET", "sound-1:failed", "x"}, {"SET", "sound-1:unsuccessful", "x"}},
		"minutes are a text":  {{"SET", "metrics:completed", "x"}, {"SET", "metrics:failed:data", "x"}},
		"schedulers are junk": {{"ZADD", "repeat", "inf", "nobody", "-5", "odd"}, {"SET", "repeat:odd", "x"}, {"HSET", "sound-1", "rjk", "odd"}},
		"scheduler is junk": {
			{"ZADD", "repeat", "1", "tick"},
			{"HSET", "sound-1", "rjk", "tick"},
			{"HSET", "repeat:tick", "ic", "many", "every", "soon", "pattern", "{", "tz", "Nowhere/At All", "data", "{", "opts", "["},
		},
	}
	for name, commands := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFaulty(t)
			for range 6 {
				f.addSound()
			}
			for _, words := range commands {
				words = slices.Clone(words)
				words[1] = f.q.Key(words[1].(string))
				_ = f.direct.Do(t.Context(), words...).Err() // Redis refuses some of it
			}
			f.worker("w1", time.Now)
			f.settleWithout([]string{"sound-1"})
			f.lines.calm(t)
		})
	}
}

// TestDeletedHashes deletes jobs' hashes in every state; the rest goes on as if they had never been.
func TestDeletedHashes(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	f.worker("w1", time.Now)
	var gone []string
	for i, tt := range []struct {
		name, data, opts string
		state            keys.State
	}{
		{"slow", `{"ms":3000}`, "", keys.Active},
		{"slow", `{"ms":3000}`, `{"attempts":2}`, keys.Active},
		{"ok", `{}`, `{"delay":3000}`, keys.Delayed},
		{"flaky", `{"failures":1}`, `{"attempts":2,"backoff":{"type":"fixed","delay":3000}}`, keys.Delayed},
	} {
		id := fmt.Sprint("gone-", i)
		f.addJob(id, tt.name, tt.data, tt.opts)
		f.awaitState(id, tt.state)
		require.NoError(t, f.direct.Del(t.Context(), f.q.JobKey(id)).Err())
		gone = append(gone, id)
	}
	for range 20 {
		f.addSound()
	}
	f.settleWithout(gone)
	f.lines.calm(t)
}

// TestClockSkew has clients whose clocks are twenty minutes apart.
func TestClockSkew(t *testing.T) {
	skewed := func(d time.Duration) func() time.Time { return func() time.Time { return time.Now().Add(d) } }
	f := newFaulty(t)
	queues := []func() time.Time{skewed(-10 * time.Minute), time.Now, skewed(10 * time.Minute)}
	for i, clock := range queues {
		f.worker(fmt.Sprint("w", i), clock)
	}
	for i := range 150 {
		f.q = f.queue(f.direct, queues[i%len(queues)])
		f.addSound()
	}
	f.settle()
	f.lines.calm(t)
}

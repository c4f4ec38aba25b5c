package scripts_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// t0 is the time of every call that a test does not date otherwise: 1700000000000 ms.
var t0 = time.UnixMilli(1_700_000_000_000)

// after is t0 + ms as text.
func after(ms int64) string { return strconv.FormatInt(t0.UnixMilli()+ms, 10) }

// due is the score of the n-th job that becomes due at t0 + ms.
func due(ms, n int64) string { return strconv.FormatInt((t0.UnixMilli()+ms)*4096+n, 10) }

// space is a prefix of its own with the queue "q" in it, and a runner on it.
type space struct {
	t      *testing.T
	client redis.UniversalClient
	run    *scripts.Runner
	q      scripts.Target
}

func newSpace(t *testing.T) *space { return spaceOn(t, server.Client(t), server.Prefix()) }

func spaceOn(t *testing.T, c redis.UniversalClient, prefix string) *space {
	return &space{t: t, client: c, run: scripts.New(c), q: scripts.Target{Queue: keys.Queue{Prefix: prefix, Name: "q"}}}
}

// queue returns another queue of the same prefix.
func (s *space) queue(name string) scripts.Target {
	q := s.q
	q.Name = name
	return q
}

// seed runs commands such as "LPUSH q:wait 2 1". Keys come without the prefix; a value "P" stands for the prefix
// wherever it begins a key in an argument.
func (s *space) seed(commands ...string) {
	s.t.Helper()
	for _, line := range commands {
		words := strings.Fields(line)
		args := []any{words[0], s.q.Prefix + ":" + words[1]}
		for _, w := range words[2:] {
			args = append(args, s.full(w))
		}
		require.NoError(s.t, s.client.Do(s.t.Context(), args...).Err(), line)
	}
}

// job writes hashes of plain jobs of the queue "q".
func (s *space) job(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		s.seed("HSET q:" + id + " name n data {} opts {} timestamp " + after(0) + " delay 0 priority 0")
	}
}

// active writes jobs that a worker has taken with the token "tok".
func (s *space) active(ids ...string) {
	s.t.Helper()
	s.job(ids...)
	for _, id := range ids {
		s.seed("LPUSH q:active "+id, "SET q:"+id+":lock tok PX 60000")
	}
}

// full replaces the prefix that tests write as P: by the real one; short undoes it.
func (s *space) full(text string) string  { return strings.ReplaceAll(text, "P:", s.q.Prefix+":") }
func (s *space) short(text string) string { return strings.ReplaceAll(text, s.q.Prefix+":", "P:") }

// plain is the hash of a job as job writes it, with fields added or replaced.
func plain(fields ...string) string {
	all := map[string]string{
		"name": "n", "data": "{}", "opts": "{}", "timestamp": after(0), "delay": "0", "priority": "0",
	}
	for _, f := range fields {
		k, v, _ := strings.Cut(f, "=")
		all[k] = v
	}
	return render(all)
}

func render(fields map[string]string) string {
	var words []string
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		words = append(words, k+"="+fields[k])
	}
	return strings.Join(words, " ")
}

// keyspace is every key of a space: lists and sets as words, sorted sets and hashes as member=value, streams as one
// event per line, strings as they are, and "~" behind the value of a key that expires.
type keyspace map[string]string

func (s *space) dump() keyspace {
	s.t.Helper()
	all, err := s.client.Keys(s.t.Context(), s.q.Prefix+":*").Result()
	require.NoError(s.t, err)
	got := keyspace{}
	for _, key := range all {
		value := s.short(s.render(key))
		if s.client.PTTL(s.t.Context(), key).Val() > 0 {
			value += "~"
		}
		got[strings.TrimPrefix(key, s.q.Prefix+":")] = value
	}
	return got
}

func (s *space) render(key string) string {
	s.t.Helper()
	ctx := s.t.Context()
	switch kind := s.client.Type(ctx, key).Val(); kind {
	case "string":
		return s.client.Get(ctx, key).Val()
	case "list":
		return strings.Join(s.client.LRange(ctx, key, 0, -1).Val(), " ")
	case "set":
		return strings.Join(slices.Sorted(slices.Values(s.client.SMembers(ctx, key).Val())), " ")
	case "hash":
		return render(s.client.HGetAll(ctx, key).Val())
	case "zset":
		var words []string
		for _, z := range s.client.ZRangeWithScores(ctx, key, 0, -1).Val() {
			words = append(words, fmt.Sprintf("%s=%s", z.Member, strconv.FormatFloat(z.Score, 'f', -1, 64)))
		}
		return strings.Join(words, " ")
	case "stream":
		return strings.Join(s.eventsOf(key), "\n")
	default:
		s.t.Fatalf("key %s has type %q", key, kind)
		return ""
	}
}

// eventsOf renders a stream: the name of each event, then its fields in order.
func (s *space) eventsOf(key string) []string {
	s.t.Helper()
	// Typed commands lose the order of an entry's fields.
	entries, err := s.client.Do(s.t.Context(), "XRANGE", key, "-", "+").Slice()
	require.NoError(s.t, err)
	var lines []string
	for _, e := range entries {
		fields := e.([]any)[1].([]any)
		words := []string{fields[1].(string)}
		for i := 2; i < len(fields); i += 2 {
			words = append(words, fmt.Sprintf("%s=%s", fields[i], fields[i+1]))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// want compares every key of the space.
func (s *space) want(want keyspace) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.dump()); diff != "" {
		s.t.Errorf("keys differ (-want +got):\n%s", diff)
	}
}

// events joins the lines of a stream.
func events(lines ...string) string { return strings.Join(lines, "\n") }

// meta is the settings hash of a queue that has written events.
const meta = "opts.maxLenEvents=10000"

// with returns k with other entries added or replaced; an empty value takes one away.
func (k keyspace) with(other keyspace) keyspace {
	out := maps.Clone(k)
	for key, value := range other {
		if value == "" {
			delete(out, key)
		} else {
			out[key] = value
		}
	}
	return out
}

func locks(ids ...string) []scripts.Lock {
	var out []scripts.Lock
	for _, id := range ids {
		out = append(out, scripts.Lock{ID: id, Token: "tok"})
	}
	return out
}

// wait bounds how long a test waits for a condition, poll is how often it looks.
const (
	wait = 10 * time.Second
	poll = 5 * time.Millisecond
)

func ptr[T any](v T) *T { return &v }

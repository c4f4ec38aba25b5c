package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// dump is everything a database holds, flat: path → value, where a path is a key and, after a bar, what is in it.
type dump map[string]string

// Normalised are only ids of stream entries (left out, the order stays), TTLs (their order of magnitude) and JSON that
// the reference encodes inside Redis (decoded: its key order and number format are arbitrary).
func takeDump(ctx context.Context, c *redis.Client) (dump, error) {
	keys, err := allKeys(ctx, c)
	if err != nil {
		return nil, err
	}
	types, ttls := make([]*redis.StatusCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
	if _, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			types[i], ttls[i] = p.Type(ctx, k), p.PTTL(ctx, k)
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read types: %w", err)
	}
	d := dump{}
	reads := make([]func(), 0, len(keys))
	if _, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			if types[i].Val() == "none" {
				continue // expired since the scan
			}
			d[k] = types[i].Val() + ", ttl " + ttlClass(ttls[i].Val())
			reads = append(reads, d.read(ctx, p, k, types[i].Val()))
		}
		return nil
	}); err != nil && err != redis.Nil { //nolint:errorlint // a key that expired in between reads as nil
		return nil, fmt.Errorf("read keys: %w", err)
	}
	for _, add := range reads {
		add()
	}
	return d, nil
}

// ownToken is a lock token that our worker made for itself; the scenarios call theirs t.
var ownToken = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:-?\d+$`)

func allKeys(ctx context.Context, c *redis.Client) ([]string, error) {
	var keys []string
	it := c.Scan(ctx, 0, "*", 1000).Iterator()
	for it.Next(ctx) {
		keys = append(keys, it.Val())
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("scan: %w", err)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// read queues the command that reads key and returns what adds its content to the dump.
func (d dump) read(ctx context.Context, p redis.Pipeliner, key, kind string) func() {
	switch kind {
	case "string":
		r := p.Get(ctx, key)
		return func() { d[key+"|"] = ownToken.ReplaceAllString(r.Val(), "t") }
	case "list":
		r := p.LRange(ctx, key, 0, -1)
		return func() {
			for i, v := range r.Val() {
				d[fmt.Sprintf("%s|%d", key, i)] = v
			}
		}
	case "set":
		r := p.SMembers(ctx, key)
		return func() {
			for _, v := range r.Val() {
				d[key+"|"+v] = "member"
			}
		}
	case "zset":
		r := p.ZRangeWithScores(ctx, key, 0, -1)
		return func() {
			for i, z := range r.Val() {
				d[key+"|"+fmt.Sprint(z.Member)] = fmt.Sprintf("rank %d, score %s", i, strconv.FormatFloat(z.Score, 'f', -1, 64))
			}
		}
	case "hash":
		r := p.HGetAll(ctx, key)
		return func() {
			for f, v := range r.Val() {
				d[key+"|"+f] = normalField(f, v)
			}
		}
	default:
		r := p.Do(ctx, "XRANGE", key, "-", "+") // the typed command loses the order of the fields
		return func() {
			entries, _ := r.Slice()
			for i, e := range entries {
				d[fmt.Sprintf("%s|%d", key, i)] = eventText(e)
			}
		}
	}
}

// normalField decodes the one kind of field that the reference encodes inside Redis.
func normalField(field, value string) string {
	if field != "opts" {
		return value
	}
	var v any
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		return "not JSON: " + value
	}
	text, _ := json.Marshal(withoutNulls(v))
	return string(text)
}

// withoutNulls drops null members and writes empty arrays as {}, as the reference stores them.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, m := range v {
			if m == nil {
				delete(v, k)
			} else {
				v[k] = withoutNulls(m)
			}
		}
	case []any:
		if len(v) == 0 {
			return map[string]any{}
		}
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

// eventText writes the fields of a stream entry in their order, without the entry's id.
func eventText(entry any) string {
	pair, ok := entry.([]any)
	if !ok || len(pair) != 2 {
		return fmt.Sprintf("unreadable: %v", entry)
	}
	fields, _ := pair[1].([]any)
	var b strings.Builder
	for i := 0; i+1 < len(fields); i += 2 {
		fmt.Fprintf(&b, "%v=%v ", fields[i], fields[i+1])
	}
	return strings.TrimSuffix(b.String(), " ")
}

// ttlClass is the power of ten at or above a time to live: far apart enough that running slowly changes nothing.
func ttlClass(d time.Duration) string {
	if d < 0 {
		return "none"
	}
	limit := 100 * time.Millisecond
	for d > limit {
		limit *= 10
	}
	return "≤" + limit.String()
}

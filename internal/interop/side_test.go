package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bullpen/internal/testredis"

	"github.com/redis/go-redis/v9"
)

// side executes steps on a database of its own.
type side interface {
	// do runs one step at the scenario's time. A *stepError is an answer to be compared; another error ends the test.
	do(ctx context.Context, now time.Time, s step) (json.RawMessage, error)
	// reset forgets what the side remembers of a scenario: jobs taken.
	reset(ctx context.Context) error
	redis() *redis.Client
}

// nodeSide is the real package.
type nodeSide struct {
	node   *nodeProcess
	name   string
	client *redis.Client
}

func (s *nodeSide) redis() *redis.Client { return s.client }

func (s *nodeSide) do(_ context.Context, now time.Time, st step) (json.RawMessage, error) {
	return s.node.call(request{Side: s.name, Op: st.Op, Args: st.Args, Now: now.UnixMilli()})
}

func (s *nodeSide) reset(context.Context) error {
	_, err := s.node.call(request{Side: s.name, Op: "reset"})
	return err
}

// lane is what one scenario at a time runs on: a Redis of its own and a Node process.
type lane struct {
	server *testredis.Server
	node   *nodeProcess
	sides  map[string]side
}

// The sides of a lane and the databases they have.
const (
	reference = "bullmq 6.7.0"
	previous  = "bullmq 5.81.5"
	ours      = "engine"
	fleet5    = "engine in a fleet of BullMQ 5"
)

// scratch is the database in which the engine's side decodes options.
const scratch = 9

var databases = map[string]int{reference: 0, previous: 1, ours: 2, fleet5: 3}

// newLane starts a lane whose sides are on databases of their own or, if shared, all on the first.
func newLane(t testing.TB, shared bool) *lane {
	t.Helper()
	l := &lane{server: testredis.Start(t), node: startNode(t), sides: map[string]side{}}
	for name, db := range databases {
		if shared {
			db = 0
		}
		client := clientOf(t, l.server, db)
		if name == ours || name == fleet5 {
			side := newEngineSide(client, clientOf(t, l.server, scratch))
			side.legacyPause = name == fleet5
			l.sides[name] = side
			continue
		}
		version := 6
		if name == previous {
			version = 5
		}
		args, err := json.Marshal(map[string]any{"side": name, "socket": l.server.Socket, "db": db, "version": version})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.node.call(request{Op: "open", Args: args}); err != nil {
			t.Fatal(err)
		}
		l.sides[name] = &nodeSide{node: l.node, name: name, client: client}
	}
	return l
}

func clientOf(t testing.TB, server *testredis.Server, db int) *redis.Client {
	t.Helper()
	o := server.Options()
	o.DB = db
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// clear empties every database and forgets taken jobs.
func (l *lane) clear(ctx context.Context) error {
	if err := l.sides[reference].redis().FlushAll(ctx).Err(); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	for _, s := range l.sides {
		if err := s.reset(ctx); err != nil {
			return err
		}
	}
	return nil
}

// epoch is when every scenario starts, and stepTime how far each step moves the clock.
var (
	epoch    = time.UnixMilli(1_700_000_000_000)
	stepTime = 10 * time.Millisecond
)

// player plays steps on one side and collects the results.
type player struct {
	side    side
	now     time.Time
	count   int
	results dump
	last    json.RawMessage // what the last step answered
}

func newPlayer(s side) *player { return &player{side: s, now: epoch, results: dump{}} }

// play runs one step and records what it answered.
func (p *player) play(ctx context.Context, s step) error {
	p.count++
	p.now = p.now.Add(stepTime)
	var result json.RawMessage
	var err error
	switch s.Op {
	case "tick":
		var ms int64
		err = json.Unmarshal(s.Args, &ms)
		p.now = p.now.Add(time.Duration(ms) * time.Millisecond)
	case "redisEach":
		err = redisEach(ctx, p.side.redis(), s.Args)
	case "redis":
		var words []any
		if err = json.Unmarshal(s.Args, &words); err == nil {
			err = p.side.redis().Do(ctx, words...).Err()
		}
		if errors.Is(err, redis.Nil) {
			err = nil
		}
	default:
		result, err = p.side.do(ctx, p.now, s)
	}
	p.last = result
	path := fmt.Sprintf("step %d %s", p.count, s.Op)
	var refused *stepError
	switch {
	case errors.As(err, &refused) && refused.Code != 0:
		p.results[path] = strings.TrimSuffix(fmt.Sprintf("error %d: %s", refused.Code, refused.Message), ": ")
	case errors.As(err, &refused):
		p.results[path] = "refused"
	case err != nil:
		return fmt.Errorf("%s (%s): %w", path, s, err)
	default:
		p.results[path] = canonical(result)
	}
	return nil
}

// redisEach runs a command on a key once with each word.
func redisEach(ctx context.Context, c *redis.Client, args json.RawMessage) error {
	var a struct {
		Command, Key string
		Words        []string
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return err
	}
	for _, w := range a.Words {
		if err := c.Do(ctx, a.Command, a.Key, w).Err(); err != nil {
			return err
		}
	}
	return nil
}

// state is the database as it is now, with all results so far.
func (p *player) state(ctx context.Context) (dump, error) {
	d, err := takeDump(ctx, p.side.redis())
	if err != nil {
		return nil, err
	}
	for k, v := range p.results {
		d[k] = v
	}
	return d, nil
}

// canonical writes JSON with sorted members; nothing and null are the same.
func canonical(text json.RawMessage) string {
	var v any
	if len(text) == 0 || json.Unmarshal(text, &v) != nil || v == nil {
		return "null"
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// outcome is what playing a scenario on one side gave.
type outcome struct {
	dump dump
	keys int
}

// run plays a scenario on one side.
func run(ctx context.Context, s side, sc scenario) (outcome, error) {
	p := newPlayer(s)
	for _, st := range sc.Steps {
		if err := p.play(ctx, st); err != nil {
			return outcome{}, err
		}
	}
	keys, err := allKeys(ctx, s.redis())
	if err != nil {
		return outcome{}, err
	}
	d, err := p.state(ctx)
	return outcome{d, len(keys)}, err
}

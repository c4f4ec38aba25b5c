package monitor

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/keys"

	"github.com/redis/go-redis/v9"
)

// clients is what CLIENT LIST says of the workers.
type clients struct {
	part  Part
	at    time.Time // of the last answer
	known bool      // it answers, or nobody else can be connected
	// refused says why it does not, naming the permission.
	refused string
	db      int // our database, -1 when there is only one
	// workers is the last answer, for queues that are found later.
	workers map[keys.Queue][]Worker
}

func newClients(o Options) clients {
	c := clients{part: Part{Name: "clients"}, known: o.Embedded, db: -1}
	if single, ok := o.Client.(*redis.Client); ok {
		c.db = single.Options().DB
	}
	return c
}

// readClients lists all connections once and shares the workers out among the queues.
func (c *collector) readClients(ctx context.Context, now time.Time) error {
	l := &c.clients
	l.at = now
	if c.o.Embedded {
		l.part.LastSuccess = c.o.Clock()
		return nil
	}
	began := time.Now()
	workers, refused, err := c.listWorkers(ctx)
	l.part.Took, l.part.Err = time.Since(began), err
	if err != nil {
		return err
	}
	l.known, l.refused = refused == nil, ""
	if refused != nil {
		l.part.Err, l.refused = refused, refusedText("CLIENT LIST", "client|list", refused)
	} else {
		l.part.LastSuccess = c.o.Clock()
	}
	l.workers = workers
	for _, t := range c.order {
		t.fleet.known, t.fleet.listed = l.known, workers[t.q]
	}
	for q := range workers {
		if c.tracks[q] == nil {
			c.finds.offer(find{queue: q})
		}
	}
	return nil
}

// listWorkers asks every server. A client of a Cluster may be named on every node, so of each queue the node that knows
// most counts.
func (c *collector) listWorkers(ctx context.Context) (workers map[keys.Queue][]Worker, refused, err error) {
	nodes, err := masters(ctx, c.o.Client)
	if err != nil {
		return nil, nil, err
	}
	workers = map[keys.Queue][]Worker{}
	for _, n := range nodes {
		text, err := n.client.ClientList(ctx).Result()
		if fatal(err) {
			return nil, nil, fmt.Errorf("client list: %w", err)
		}
		if err != nil {
			return nil, err, nil
		}
		here := map[keys.Queue][]Worker{}
		for _, w := range parseClients(text, c.o.Prefixes, c.clients.db) {
			here[w.Queue] = append(here[w.Queue], w)
		}
		for q, list := range here {
			if len(list) > len(workers[q]) {
				workers[q] = list
			}
		}
	}
	return workers, nil, nil
}

// parseClients picks the workers of the given prefixes out of a CLIENT LIST reply (features 5). db is our database
// number, -1 when it is not known: a worker of an equally named queue in another database is not ours.
func parseClients(list string, prefixes []string, db int) []Worker {
	var found []Worker
	for line := range strings.Lines(list) {
		fields := clientFields(line)
		q, name, ok := parseWorkerName(fields["name"], prefixes)
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(fields["db"]); err == nil && db >= 0 && n != db {
			continue
		}
		found = append(found, Worker{
			Queue: q, Name: name, Addr: fields["addr"],
			Connected: seconds(fields["age"]), Idle: seconds(fields["idle"]),
		})
	}
	return found
}

func clientFields(line string) map[string]string {
	fields := make(map[string]string, 8)
	for _, f := range strings.Fields(line) {
		k, v, _ := strings.Cut(f, "=")
		switch k {
		case "name", "addr", "age", "idle", "db":
			fields[k] = v
		}
	}
	return fields
}

func seconds(s string) time.Duration {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// parseWorkerName decodes the name of a worker's blocking connection: "prefix:base64(queue)", with ":w:name" behind it
// when the worker has a name. Readers of events (":qe") and everybody else are not workers.
func parseWorkerName(connection string, prefixes []string) (q keys.Queue, worker string, ok bool) {
	for _, prefix := range prefixes {
		rest, found := strings.CutPrefix(connection, prefix+":")
		if !found {
			continue
		}
		encoded, tail, _ := strings.Cut(rest, ":")
		worker, named := strings.CutPrefix(tail, "w:")
		if tail != "" && !named {
			continue
		}
		name, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(name) == 0 || strings.ContainsRune(string(name), ':') {
			continue
		}
		return keys.Queue{Prefix: prefix, Name: string(name)}, worker, true
	}
	return keys.Queue{}, "", false
}

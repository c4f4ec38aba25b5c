package monitor

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"bullpen/internal/engine/keys"
)

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

package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// probe asks the server who it is and returns the line that describes the store. Only a server that answered and
// cannot be used is an error.
func (s *Store) probe(ctx context.Context) (string, error) {
	if s.kind == KindMemory {
		return "in-process store for a first look: nothing survives a restart " +
			"(apt-get install redis-server gives you a durable one)", nil
	}
	if err := s.client.Ping(ctx).Err(); isRefusal(err) {
		return "", fmt.Errorf("redis %s refuses: %w%s", s.place(), err, hint(err))
	} else if err != nil {
		return fmt.Sprintf("Redis %s, which does not answer yet (%v)", s.place(), err), nil
	}
	info, err := s.client.Info(ctx).Result()
	if err != nil {
		return fmt.Sprintf("Redis %s: it does not say what survives its restart (%v)", s.place(), err), nil
	}
	fields := parseInfo(info)
	if err := s.checkMode(fields); err != nil {
		return "", err
	}
	name := "Redis " + fields["redis_version"]
	if v := fields["valkey_version"]; v != "" {
		name = "Valkey " + v
	}
	return fmt.Sprintf("%s %s: %s", name, s.place(), s.survives(ctx, fields)), nil
}

// isRefusal reports an answer that will not change by itself. A user without permission for PING may still be allowed
// what matters.
func isRefusal(err error) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return false
	}
	for _, code := range []string{
		"LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY", "TRYAGAIN", "ERR max number of clients", "NOPERM",
	} {
		if strings.HasPrefix(answer.Error(), code) {
			return false
		}
	}
	return true
}

func hint(err error) string {
	if strings.Contains(err.Error(), "cluster support disabled") {
		return " (it is not a Cluster: give one server as redis.url, or redis.master_name with its Sentinels)"
	}
	return ""
}

func (s *Store) place() string {
	if s.kind == KindChild {
		return "as a private child, data in " + s.dir
	}
	return "at " + s.target.name
}

// checkMode refuses a node of a Cluster that is addressed as a single server: it would answer for its own slots only.
func (s *Store) checkMode(fields map[string]string) error {
	if fields["cluster_enabled"] == "1" && s.target.mode != cluster {
		return fmt.Errorf("redis %s is a node of a Cluster: list its nodes under redis.addrs or add ?cluster=true to the URL",
			s.place())
	}
	return nil
}

// survives says what a restart of the server costs.
func (s *Store) survives(ctx context.Context, fields map[string]string) string {
	if s.kind == KindChild {
		return "jobs survive restarts and crashes, but for the last second"
	}
	if fields["aof_enabled"] == "1" {
		return "append-only file on, jobs survive its restart"
	}
	save, err := s.client.ConfigGet(ctx, "save").Result()
	switch {
	case err != nil:
		return "append-only file off, whether jobs survive its restart is unknown"
	case save["save"] == "":
		return "no persistence, nothing survives its restart"
	}
	return "snapshots only, the newest jobs do not survive its restart"
}

func parseInfo(info string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[key] = value
		}
	}
	return fields
}

package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"bullpen/docs/runbooks"
	"bullpen/internal/audit"
	"bullpen/internal/monitor"

	"github.com/labstack/echo/v4"
)

type workersJSON struct {
	// Trouble names the permission that is missing to list the workers that do not announce themselves.
	Trouble string       `json:"trouble,omitempty" doc:"why only workers that announce themselves are here"`
	Workers []workerJSON `json:"workers"`
}

type workerJSON struct {
	Queue       string     `json:"queue"`
	Name        string     `json:"name,omitempty"`
	Addr        string     `json:"addr,omitempty"`
	Connected   float64    `json:"connectedSeconds,omitempty"`
	Idle        float64    `json:"idleSeconds,omitempty"`
	Bullpen     bool       `json:"bullpen" doc:"it announced itself; what follows is only known then"`
	Host        string     `json:"host,omitempty"`
	Process     int        `json:"process,omitempty"`
	Concurrency int        `json:"concurrency,omitempty"`
	Version     string     `json:"version,omitempty"`
	PolicyHash  string     `json:"policyHash,omitempty"`
	Revision    int64      `json:"revision,omitempty"`
	Announced   *time.Time `json:"announced,omitempty"`
}

// apiWorkers lists workers whose queue, name or host has a text.
func (s *Server) apiWorkers(_ context.Context, r viewRequest) (any, error) {
	out := workersJSON{Trouble: r.snap.WorkersErr, Workers: []workerJSON{}}
	shown := s.visibleWorkers(r, strings.TrimSpace(r.query.Get("q")))
	for _, q := range queuesOf(shown) {
		for _, w := range shown[q] {
			out.Workers = append(out.Workers, workerJSON{
				Queue: q.Qualified(), Name: w.Name, Addr: w.Addr, Connected: w.Connected.Seconds(), Idle: w.Idle.Seconds(), Bullpen: w.Bullpen, Host: w.Host,
				Process: w.PID, Concurrency: w.Concurrency, Version: w.Version, PolicyHash: w.PolicyHash, Revision: w.Revision, Announced: known(w.AnnouncedLast),
			})
		}
	}
	return out, nil
}

// redisJSON is the Redis behind the queues; what it did not tell is left out.
type redisJSON struct {
	Alias    string         `json:"alias"`
	Up       bool           `json:"up"`
	Embedded bool           `json:"embedded" doc:"the store runs inside Bullpen and tells nothing of itself"`
	Trouble  string         `json:"trouble,omitempty" doc:"why it tells nothing of itself"`
	Refusing string         `json:"refusing,omitempty" doc:"why it refuses writes now"`
	Latency  float64        `json:"latencySeconds"`
	Clock    float64        `json:"clockOffsetSeconds" doc:"how far its clock is ahead of Bullpen's"`
	Info     *redisInfoJSON `json:"info,omitempty"`
	Nodes    []nodeJSON     `json:"nodes,omitempty" doc:"masters of a Cluster; the figures above are their sum"`
}

type nodeJSON struct {
	Node string        `json:"node"`
	Info redisInfoJSON `json:"info"`
}

type redisInfoJSON struct {
	Version             string           `json:"version"`
	Mode                string           `json:"mode"`
	Role                string           `json:"role"`
	Started             *time.Time       `json:"started,omitempty"`
	Loading             bool             `json:"loading"`
	UsedMemory          int64            `json:"usedMemoryBytes"`
	MaxMemory           int64            `json:"maxMemoryBytes" doc:"0 is no bound"`
	PeakMemory          int64            `json:"peakMemoryBytes"`
	Fragmentation       float64          `json:"fragmentation"`
	Forecast            string           `json:"forecast"`
	EvictionPolicy      string           `json:"evictionPolicy,omitempty"`
	EvictedKeys         int64            `json:"evictedKeys"`
	AppendOnly          bool             `json:"appendOnly"`
	AppendFsync         string           `json:"appendFsync,omitempty"`
	AppendOnlyFine      bool             `json:"appendOnlyLastWriteOk"`
	LastSave            *time.Time       `json:"lastSave,omitempty"`
	LastSaveFine        bool             `json:"lastSaveOk"`
	ChangesSinceSave    int64            `json:"changesSinceSave"`
	Clients             int64            `json:"clients"`
	BlockedClients      int64            `json:"blockedClients"`
	MaxClients          int64            `json:"maxClients,omitempty"`
	RejectedConnections int64            `json:"rejectedConnections"`
	Commands            int64            `json:"commands"`
	CommandsPerSecond   float64          `json:"commandsPerSecond"`
	Errors              map[string]int64 `json:"errors,omitempty" doc:"replies with an error, by code"`
}

func toRedisInfoJSON(d monitor.Redis) redisInfoJSON {
	return redisInfoJSON{
		Version: d.Version, Mode: d.Mode, Role: d.Role, Started: known(d.StartTime), Loading: d.Loading, UsedMemory: d.UsedMemory, MaxMemory: d.MaxMemory,
		PeakMemory: d.PeakMemory, Fragmentation: d.Fragmentation, Forecast: d.Forecast.Text, EvictionPolicy: d.MaxMemoryPolicy, EvictedKeys: d.EvictedKeys,
		AppendOnly: d.AOFEnabled, AppendFsync: d.AppendFsync, AppendOnlyFine: d.AOFLastWriteOK, LastSave: known(d.RDBLastSave), LastSaveFine: d.RDBLastSaveOK,
		ChangesSinceSave: d.RDBChanges, Clients: d.ConnectedClients, BlockedClients: d.BlockedClients, MaxClients: d.MaxClients,
		RejectedConnections: d.RejectedConnections, Commands: d.Commands, CommandsPerSecond: d.OpsPerSecond, Errors: d.Errors,
	}
}

func (s *Server) apiRedis(_ context.Context, r viewRequest) (any, error) {
	d := r.snap.Redis
	out := redisJSON{Alias: s.o.Alias, Up: d.Up, Embedded: d.Embedded, Trouble: d.Err, Refusing: d.Refusing, Latency: d.Latency.Seconds(), Clock: d.ClockOffset.Seconds()}
	if d.Known && !d.Embedded {
		out.Info = ptr(toRedisInfoJSON(d))
	}
	for _, n := range r.snap.Nodes {
		out.Nodes = append(out.Nodes, nodeJSON{n.Node, toRedisInfoJSON(n)})
	}
	return out, nil
}

type memoryJSON struct {
	Queues []queueMemoryJSON `json:"queues"`
	// Unsampled counts queues that were left out.
	Unsampled int    `json:"unsampled" doc:"queues that were left out"`
	Trouble   string `json:"trouble,omitempty" doc:"what kept the others from being sampled"`
}

type queueMemoryJSON struct {
	Queue    string `json:"queue"`
	Bytes    int64  `json:"bytes"`
	Jobs     int64  `json:"jobs"`
	Measured int64  `json:"measured"`
	Largest  int64  `json:"largestBytes"`
}

func (s *Server) apiMemory(ctx context.Context, r viewRequest) (any, error) {
	found, left, err := s.sampleMemory(ctx, r)
	out := memoryJSON{Queues: []queueMemoryJSON{}, Unsampled: left}
	if err != nil {
		out.Trouble = oneLine(err)
	}
	for _, f := range found {
		m := f.memory
		out.Queues = append(out.Queues, queueMemoryJSON{f.queue.Qualified(), m.Total, m.Jobs, m.Measured, m.Largest})
	}
	return out, nil
}

// apiRunbook is a runbook as it is written.
func (s *Server) apiRunbook(c echo.Context) error {
	if _, err := s.identify(c.Request()); err != nil {
		return err
	}
	source, ok := runbooks.Page(param(c.Param("alert")))
	if !ok {
		return problem(http.StatusNotFound, "No such runbook", "There is no page named %s.", clip(c.Param("alert"), 100))
	}
	return c.Blob(http.StatusOK, "text/markdown; charset=utf-8", []byte(source))
}

type activityJSON struct {
	Entries []Entry `json:"entries"`
	Next    string  `json:"next,omitempty" doc:"goes into before to go on; absent at the end"`
	Read    int     `json:"read" doc:"how many entries were looked at"`
}

func (s *Server) apiActivity(ctx context.Context, r viewRequest) (any, error) {
	match := s.activityMatch(r.who, strings.TrimSpace(r.query.Get("q")), r.query.Get("result"))
	p, err := s.readActivity(ctx, r.who, audit.Query{Before: r.query.Get("before"), Match: match})
	if errors.Is(err, audit.ErrCursor) {
		return nil, &Problem{Status: http.StatusBadRequest, Title: "No such page", Detail: "before: this is not a place in the activity log.", Field: "before", cause: err}
	}
	if err != nil {
		return nil, err
	}
	if p.Entries == nil {
		p.Entries = []Entry{}
	}
	return activityJSON{p.Entries, p.Next, p.Read}, nil
}

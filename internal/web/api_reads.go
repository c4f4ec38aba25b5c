package web

import (
	"context"

	"bullpen/internal/web/openapi"

	"github.com/labstack/echo/v4"
)

// apiFunc answers a read with a value that becomes JSON.
type apiFunc func(ctx context.Context, r viewRequest) (any, error)

// apiRead is one read of the API: its route, and its part of the OpenAPI document.
type apiRead struct {
	// path is the route below apiVersion, about what is answered in a sentence, query what may be asked for.
	path, about string
	query       []openapi.Field
	// body has the type of what do answers.
	body any
	do   apiFunc
	// kind is the content type of what raw answers, where that is not JSON of ours.
	kind string
	raw  echo.HandlerFunc
}

// Parameters that several reads have.
var (
	askSearch = openapi.Field{Name: "q", Type: "string", About: "terms in the search language"}
	askText   = openapi.Field{Name: "q", Type: "string", About: "text that must be in it"}
	askPage   = openapi.Field{Name: "page", Type: "integer", About: "from 1"}
	askSize   = openapi.Field{Name: "size", Type: "integer", About: "how many, at most 100; default 25"}
	askOrder  = openapi.Field{Name: "order", Type: "string", About: "by time; default as on the page", Enum: []string{"asc", "desc"}}
	askFrom   = openapi.Field{Name: "from", Type: "string", About: "where to go on: next of the answer before"}
	askState  = openapi.Field{Name: "state", Type: "string", About: "default waiting", Enum: []string{
		"waiting", "prioritized", "active", "delayed", "waiting-children", "completed", "failed", "paused",
	}}
	askWithin = openapi.Field{Name: "within", Type: "string", About: "seen in this time", Enum: []string{"1h", "24h"}}
)

// apiReads are the reads of the API. An act has its place in the table of acts.
func (s *Server) apiReads() []apiRead {
	reads := []apiRead{
		{
			path: "/queues", about: "All queues with health, counts and rates.", body: queuesJSON{}, do: s.apiQueues,
			query: []openapi.Field{
				{Name: "q", Type: "string", About: "part of the name"},
				{Name: "sort", Type: "string", About: "health, name, or a figure of the overview; default health"},
			},
		},
		{path: "/queues/:queue", about: "One queue, with its last hour minute by minute.", body: queueDetailJSON{}, do: s.apiQueue},
		{
			path: "/queues/:queue/jobs", about: "Jobs of one state, without payloads; with q those that match, as far as one look reaches.",
			query: []openapi.Field{askState, askOrder, askPage, askSize, askSearch, askFrom}, body: openapi.AnyOf{jobListJSON{}, matchListJSON{}}, do: s.apiJobs,
		},
		{path: "/queues/:queue/jobs/:id", about: "One job with its payloads, masked; one over 256 KB is left out, sizes tell.", body: jobJSON{}, do: s.apiJob},
		{
			path: "/queues/:queue/jobs/:id/logs", about: "Log rows of a job, newest first unless order says asc.",
			query: []openapi.Field{askOrder, askPage, askSize}, body: logsJSON{}, do: s.apiLogs,
		},
		{
			path: "/queues/:queue/jobs/:id/steps", body: stepsJSON{}, do: s.apiSteps,
			about: "What a job did and waited for, from the queue's event stream as far as it reaches back, else from its record.",
		},
		{path: "/queues/:queue/policy", about: "The policy in force, where it comes from, how it holds, and its history.", body: policyJSON{}, do: s.apiPolicy},
		{
			path: "/queues/:queue/export", about: "Jobs with payloads as JSON lines, masked; the last line says how far it got.",
			kind: ndjson, body: openapi.AnyOf{exportedJob{}, exportEnd{}}, raw: s.export,
			query: []openapi.Field{askState, askSearch, askFrom, {Name: "id", Type: "[]string", About: "only these jobs"}},
		},
		{
			path: "/search", about: "Jobs of all queues: by id, else by a look that says how far it got.", body: lookJSON{}, do: s.apiSearch,
			query: []openapi.Field{
				askSearch, askFrom,
				{Name: "scan", Type: "string", About: "1 looks for the text of an id elsewhere too"},
			},
		},
		{
			path: "/failures", about: "Failed jobs of all queues by name and folded error.", body: groupsJSON{}, do: s.apiFailures,
			query: []openapi.Field{askText, askWithin, {Name: "sort", Type: "string", About: "default count", Enum: []string{"newest", "rising"}}},
		},
		{
			path: "/failures/letters", about: "Dead letters of all queues likewise.", body: groupsJSON{}, do: s.apiLetters,
			query: []openapi.Field{askText, askWithin, {Name: "sort", Type: "string", About: "default count", Enum: []string{"newest", "rising"}}},
		},
		{path: "/workers", about: "Connected workers, as far as Redis tells.", query: []openapi.Field{askText}, body: workersJSON{}, do: s.apiWorkers},
		{path: "/redis", about: "The state of the Redis behind the queues.", body: redisJSON{}, do: s.apiRedis},
		{path: "/redis/memory", about: "An estimate of the memory of the fullest queues, sampled now.", body: memoryJSON{}, do: s.apiMemory},
		{path: "/alerts", about: "Every alert rule that is shipped, with its state now, here and where Prometheus and the Alertmanager are asked.", body: alertsJSON{}, do: s.apiAlerts},
		{path: "/runbooks/:alert", about: "What an alert means and what to do, as Markdown.", kind: "text/markdown", raw: s.apiRunbook},
		{path: "/operations", about: "Running and past bulk acts, newest first.", body: operationsJSON{}, do: s.apiOperations},
		{path: "/operations/:op", about: "One bulk act.", body: operationJSON{}, do: s.apiOperation},
		{path: "/operations/:op/refusals", about: "The jobs it left alone, and why.", body: refusalsJSON{}, do: s.apiRefusals},
		{path: "/openapi.json", about: "This document.", body: map[string]any{}, do: s.apiDocument},
	}
	reads = append(append(reads, s.schedulerReads()...), apiRead{
		path: "/queues/:queue/jobs/:id/flow", about: "The flow a job belongs to, at most 200 of its jobs, without payloads.", body: flowJSON{}, do: s.apiFlow,
		query: []openapi.Field{{Name: "from", Type: "string", About: "below begins with the job instead of the root of its flow", Enum: []string{flowBelow}}},
	})
	if s.o.Audit != nil {
		reads = append(reads, apiRead{
			path: "/activity", about: "Who did and tried what, newest first.", body: activityJSON{}, do: s.apiActivity,
			query: []openapi.Field{
				askText,
				{Name: "result", Type: "string", About: "only entries that ended so", Enum: outcomes},
				{Name: "before", Type: "string", About: "where to go on: next of the answer before"},
			},
		})
	}
	for _, field := range jobFiles {
		reads = append(reads, apiRead{
			path: "/queues/:queue/jobs/:id/" + field, kind: openapi.JSON, raw: s.jobFile(field),
			about: "The whole " + field + " of a job, byte for byte but for masked values.",
		})
	}
	return reads
}

func (s *Server) serveAPI(f apiFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := s.identify(c.Request())
		if err != nil {
			return err
		}
		v, err := f(c.Request().Context(), s.viewRequest(c, who))
		if err != nil {
			return err
		}
		s.answer(c, 200, openapi.JSON, v)
		return nil
	}
}

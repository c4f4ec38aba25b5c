package web

import (
	"context"

	"bullpen/internal/web/operation"
)

type operationsJSON struct {
	Operations []operationJSON `json:"operations"`
}

// operationJSON is a bulk act as the API tells it.
type operationJSON struct {
	operation.Status
	// Hidden counts the queues that the caller may not see.
	Hidden int64   `json:"hiddenQueues,omitempty" doc:"queues it is on that the caller may not see; with any, reasons and again are left out"`
	Left   int64   `json:"left" doc:"jobs that have not had their turn"`
	Rate   float64 `json:"jobsPerSecond"`
}

type refusalsJSON struct {
	Refusals []operation.Refusal `json:"refusals"`
}

func (s *Server) apiOperations(_ context.Context, r viewRequest) (any, error) {
	out := operationsJSON{[]operationJSON{}}
	for _, st := range s.ops.List() {
		if s.mayOperation(r.who, Viewer, st) {
			out.Operations = append(out.Operations, s.operationJSON(r, st))
		}
	}
	return out, nil
}

func (s *Server) apiOperation(_ context.Context, r viewRequest) (any, error) {
	st, err := s.findOperation(r.who, r.params["op"])
	if err != nil {
		return nil, err
	}
	return s.operationJSON(r, st), nil
}

func (s *Server) operationJSON(r viewRequest, st operation.Status) operationJSON {
	st, hidden := s.seenBy(r.who, st)
	return operationJSON{st, hidden, st.Left(), st.Rate(r.now)}
}

func (s *Server) apiRefusals(ctx context.Context, r viewRequest) (any, error) {
	st, err := s.findOperation(r.who, r.params["op"])
	if err != nil {
		return nil, err
	}
	refusals, err := s.refusalsOf(ctx, r.who, st)
	if err != nil {
		return nil, err
	}
	if refusals == nil {
		refusals = []operation.Refusal{}
	}
	return refusalsJSON{refusals}, nil
}

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
	Left int64   `json:"left" doc:"jobs that have not had their turn"`
	Rate float64 `json:"jobsPerSecond"`
}

type refusalsJSON struct {
	Refusals []operation.Refusal `json:"refusals"`
}

func (s *Server) apiOperations(_ context.Context, r viewRequest) (any, error) {
	out := operationsJSON{[]operationJSON{}}
	for _, st := range s.ops.List() {
		if s.mayOperation(r.who, Viewer, st) {
			out.Operations = append(out.Operations, operationJSON{st, st.Left(), st.Rate(r.now)})
		}
	}
	return out, nil
}

func (s *Server) apiOperation(_ context.Context, r viewRequest) (any, error) {
	st, err := s.findOperation(r.who, r.params["op"])
	if err != nil {
		return nil, err
	}
	return operationJSON{st, st.Left(), st.Rate(r.now)}, nil
}

func (s *Server) apiRefusals(ctx context.Context, r viewRequest) (any, error) {
	st, err := s.findOperation(r.who, r.params["op"])
	if err != nil {
		return nil, err
	}
	refusals, err := s.refusalsOf(ctx, st)
	if err != nil {
		return nil, err
	}
	if refusals == nil {
		refusals = []operation.Refusal{}
	}
	return refusalsJSON{refusals}, nil
}

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

// operationOf finds an operation the caller may see.
func (s *Server) operationOf(r viewRequest) (*operation.Operation, error) {
	op, err := s.findOperation(r.params["op"])
	if err == nil && !s.mayOperation(r.who, Viewer, op.Status()) {
		return nil, s.noOperation(r.params["op"])
	}
	return op, err
}

func (s *Server) apiOperation(_ context.Context, r viewRequest) (any, error) {
	op, err := s.operationOf(r)
	if err != nil {
		return nil, err
	}
	st := op.Status()
	return operationJSON{st, st.Left(), st.Rate(r.now)}, nil
}

func (s *Server) apiRefusals(_ context.Context, r viewRequest) (any, error) {
	op, err := s.operationOf(r)
	if err != nil {
		return nil, err
	}
	out := refusalsJSON{op.Refusals()}
	if out.Refusals == nil {
		out.Refusals = []operation.Refusal{}
	}
	return out, nil
}

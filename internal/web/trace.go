package web

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"

	"bullpen/internal/engine"
)

// traceparent is the W3C header of that name.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// maxTraceState bounds what is passed on of the header tracestate, as its standard does.
const maxTraceState = 512

// traced is the context of a request with the trace it came with: jobs that are added carry it on.
func traced(r *http.Request) context.Context {
	parent := r.Header.Get("Traceparent")
	if !traceparent.MatchString(parent) {
		return r.Context()
	}
	carrier := map[string]string{"traceparent": parent}
	if state := r.Header.Get("Tracestate"); state != "" && len(state) <= maxTraceState {
		carrier["tracestate"] = state
	}
	metadata, err := json.Marshal(carrier)
	if err != nil {
		return r.Context() // texts always encode
	}
	return engine.WithTraceContext(r.Context(), string(metadata))
}

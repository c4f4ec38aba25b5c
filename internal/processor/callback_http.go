package processor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"bullpen/internal/engine"
)

// callbackLimit is the longest body of a callback in bytes.
const callbackLimit = 4 << 20

// badCallback is a request that the caller can put right.
type badCallback struct {
	status int
	text   string
}

func (b badCallback) Error() string { return b.text }

// ServeHTTP answers the callbacks of running attempts; see the package comment for what they take.
func (c *Callbacks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	result, err := c.serve(w, r)
	switch bad := (badCallback{}); {
	case err == nil && result == nil:
		w.WriteHeader(http.StatusNoContent)
	case err == nil:
		writeJSON(w, http.StatusOK, result)
	case errors.As(err, &bad):
		writeJSON(w, bad.status, map[string]string{"error": bad.text})
	case errors.Is(err, errForged):
		writeJSON(w, http.StatusForbidden, map[string]string{"error": errForged.Error()})
	case errors.Is(err, errAttemptOver), errors.Is(err, engine.ErrJobNotFound):
		writeJSON(w, http.StatusGone, map[string]string{"error": errAttemptOver.Error()})
	default:
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": "the queue cannot be reached now"})
	}
}

func (c *Callbacks) serve(w http.ResponseWriter, r *http.Request) (result any, err error) {
	_, path, _ := strings.Cut(r.URL.Path, callbackPath)
	sealed, tail, _ := strings.Cut(path, "/")
	token, err := c.open(sealed)
	if err != nil {
		return nil, err
	}
	switch {
	case tail == "" && r.Method == http.MethodPost:
		u, err := readUpdate(http.MaxBytesReader(w, r.Body, callbackLimit))
		if err != nil {
			return nil, err
		}
		return nil, c.with(r.Context(), token, func(j attemptJob) error { return u.apply(r.Context(), j) })
	case (tail == "" || tail == "children") && r.Method == http.MethodGet:
		err = c.with(r.Context(), token, func(j attemptJob) (err error) {
			result, err = children(r.Context(), j)
			return err
		})
		return result, err
	}
	return nil, badCallback{http.StatusMethodNotAllowed, "POST an update here, or GET children below"}
}

// children are the results of a job's children; one that is not JSON becomes a JSON string.
func children(ctx context.Context, j attemptJob) (map[string]json.RawMessage, error) {
	values, err := j.ChildrenValues(ctx)
	if err != nil {
		return nil, err
	}
	for key, value := range values {
		if !json.Valid(value) {
			values[key] = quote(string(value))
		}
	}
	return values, nil
}

// update is the body of a callback.
type update struct {
	progress, data json.RawMessage
	log            *string
}

func readUpdate(r io.Reader) (u update, err error) {
	body, err := io.ReadAll(r)
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return u, badCallback{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", callbackLimit)}
	case err != nil:
		return u, badCallback{http.StatusBadRequest, "the body could not be read"}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || len(object) == 0 {
		return u, badCallback{http.StatusBadRequest, "the body is not a JSON object with progress, log or data"}
	}
	for name, value := range object {
		switch name {
		case "progress":
			u.progress = value
		case "data":
			u.data = value
		case "log":
			if json.Unmarshal(value, &u.log) != nil || u.log == nil {
				return u, badCallback{http.StatusBadRequest, "log is not a string"}
			}
		default:
			return u, badCallback{http.StatusBadRequest, fmt.Sprintf("unknown member %q; known are progress, log and data", name)}
		}
	}
	return u, nil
}

// apply writes what the update holds; the values keep their bytes.
func (u update) apply(ctx context.Context, j attemptJob) error {
	if u.data != nil {
		if err := j.UpdateData(ctx, u.data); err != nil {
			return err
		}
	}
	if u.log != nil {
		if _, err := j.Log(ctx, *u.log); err != nil {
			return err
		}
	}
	if u.progress != nil {
		return j.UpdateProgress(ctx, u.progress)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the caller is gone; nobody is left to be told
}

package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"bullpen/internal/engine/keys"
)

// MaxPriority is the largest priority a job can have.
const MaxPriority = 1<<21 - 1

// validate refuses what BullMQ's producer refuses, with its texts, and what would damage the queue (lifecycle 3.2).
// bulk adds allow the ids that only a single add refuses.
func (o JobOptions) validate(bulk bool) error {
	checks := []func() *FieldError{
		func() *FieldError { return checkID(o.ID, bulk) },
		o.checkPriority,
		o.checkBackoff,
		o.checkOnFailure,
		o.checkDeduplication,
		o.checkParent,
		o.checkExtra,
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func invalid(field, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

func checkID(id string, bulk bool) *FieldError {
	const field = "jobId"
	switch {
	case id == "":
		return nil
	case !bulk && (id == "0" || strings.HasPrefix(id, "0:")):
		return invalid(field, "JobId cannot be '0' or start with '0:'")
	case isInteger(id):
		return invalid(field, "Custom Id cannot be integers")
	case strings.Contains(id, ":") && strings.Count(id, ":") != 2:
		return invalid(field, "Custom Id cannot contain :")
	case keys.Reserved(id):
		return invalid(field, "%q is the name of one of the queue's own keys", id)
	case strings.HasPrefix(id, "de:"), strings.HasPrefix(id, "dn:"):
		return invalid(field, "%q could be the key of a deduplication id", id)
	}
	return nil
}

// isInteger reports whether JavaScript's parseInt gives id back unchanged, which also holds for its "NaN".
func isInteger(id string) bool {
	v, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return id == "NaN" || isBeyondInt64(id)
	}
	if v > -1<<53 && v < 1<<53 {
		return strconv.FormatInt(v, 10) == id
	}
	return strconv.FormatFloat(float64(v), 'f', -1, 64) == id
}

// isBeyondInt64 is isInteger between the range of int64 and 1e21, where JavaScript goes over to exponents.
func isBeyondInt64(id string) bool {
	v, ok := decimal(id)
	return ok && math.Abs(v) < 1e21 && strconv.FormatFloat(v, 'f', -1, 64) == id && !strings.Contains(id, ".")
}

func (o JobOptions) checkPriority() *FieldError { return checkPriority(o.Priority) }

func checkPriority(p int) *FieldError {
	if p < 0 || p > MaxPriority {
		return invalid("priority", "Priority should be between 0 and %d", MaxPriority)
	}
	return nil
}

func (o JobOptions) checkBackoff() *FieldError {
	b := o.Backoff
	switch {
	case b == nil:
		return nil
	case math.IsNaN(b.Jitter) || b.Jitter < 0 || b.Jitter > 1:
		return invalid("backoff", "Jitter should be between 0 and 1")
	case b.Type == "":
		return invalid("backoff", "the type is missing: fixed, exponential or the name of a custom strategy")
	case b.Delay < 0:
		return invalid("backoff", "the delay is negative")
	}
	return nil
}

func (o JobOptions) checkOnFailure() *FieldError {
	order := []string{RemoveDependencyOnFailure, FailParentOnFailure, ContinueParentOnFailure, IgnoreDependencyOnFailure}
	known := o.OnFailure == ""
	var used []string
	for _, name := range order {
		set, _ := jsonBool(o.Extra[name])
		known = known || name == o.OnFailure
		if set || name == o.OnFailure {
			used = append(used, name)
		}
	}
	switch {
	case !known:
		return invalid("onFailure", "%q is none of %s", o.OnFailure, strings.Join(order, ", "))
	case len(used) > 1:
		return invalid(used[1], "The following options cannot be used together: %s", strings.Join(used, ", "))
	}
	return nil
}

func (o JobOptions) checkDeduplication() *FieldError {
	d := o.Deduplication
	switch {
	case d == nil:
		return nil
	case d.ID == "":
		return invalid("deduplication", "Deduplication id must be provided")
	case o.Parent != nil:
		return invalid("deduplication", "Deduplication and parent options cannot be used together")
	case d.TTL < 0:
		return invalid("deduplication", "the ttl is negative")
	}
	return nil
}

func (o JobOptions) checkParent() *FieldError {
	p := o.Parent
	switch {
	case p == nil:
		return nil
	case p.ID == "":
		return invalid("parent", "the id is missing")
	case !strings.Contains(p.Queue, ":"):
		return invalid("parent", "the queue %q is not a qualified name, prefix:queue", p.Queue)
	}
	return nil
}

func (o JobOptions) checkExtra() *FieldError {
	if _, ok := o.Extra["debounce"]; ok {
		return invalid("debounce", "Debounce option has been removed. Use deduplication option instead")
	}
	for name, value := range o.Extra {
		if !isNull(value) && !json.Valid(value) {
			return invalid(name, "the value is not JSON")
		}
	}
	return nil
}

// encodeData gives the JSON text of a job's data: {} for nil, a json.RawMessage as it is.
func encodeData(v any) (json.RawMessage, error) {
	return encodeValue(v, "data", "{}")
}

// encodeValue gives the JSON text of v, empty for nil, a json.RawMessage as it is. field names it in errors.
func encodeValue(v any, field, empty string) (json.RawMessage, error) {
	raw, isRaw := v.(json.RawMessage)
	switch {
	case v == nil || isRaw && len(raw) == 0:
		return json.RawMessage(empty), nil
	case !isRaw:
		text, err := encodeJSON(v)
		if err != nil {
			return nil, invalid(field, "cannot be encoded as JSON: %v", err)
		}
		return text, nil
	case !json.Valid(raw):
		return nil, invalid(field, "is not valid JSON")
	case !utf8.Valid(raw):
		return nil, invalid(field, "is not valid UTF-8")
	}
	return raw, nil
}

// checkSize enforces sizeLimit on the data of a new job.
func (o JobOptions) checkSize(name string, data json.RawMessage) error {
	if o.SizeLimit != 0 && len(data) > o.SizeLimit {
		return invalid("data", "The size of job %s exceeds the limit %d bytes", name, o.SizeLimit)
	}
	return nil
}

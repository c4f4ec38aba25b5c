package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// longName gives the public name of a stored option (lifecycle 3).
func longName(stored string) string {
	switch stored {
	case "de":
		return "deduplication"
	case "fpof":
		return FailParentOnFailure
	case "cpof":
		return ContinueParentOnFailure
	case "idof":
		return IgnoreDependencyOnFailure
	case "rdof":
		return RemoveDependencyOnFailure
	case "kl":
		return "keepLogs"
	case "tm":
		return telemetryMetadata
	case "omc":
		return telemetryOmitContext
	}
	return stored
}

// The two members of the public option telemetry.
const (
	telemetryMetadata    = "telemetry.metadata"
	telemetryOmitContext = "telemetry.omitContext"
)

// decodeOptions reads stored options. It fails only for text that is not a JSON object; a known option with a value
// that makes no sense is kept in Extra and otherwise not given.
func decodeOptions(stored []byte) (JobOptions, error) {
	var o JobOptions
	if len(bytes.TrimSpace(stored)) == 0 {
		return o, nil
	}
	members, err := objectMembers(stored)
	if err != nil {
		return o, fmt.Errorf("options are not a JSON object: %w", err)
	}
	for _, m := range members {
		o.set(longName(m.name), m.value)
	}
	return o, nil
}

// set gives one option by its public name.
func (o *JobOptions) set(name string, value json.RawMessage) {
	if name == "telemetry" {
		if members, err := objectMembers(value); err == nil {
			for _, m := range members {
				o.set("telemetry."+m.name, m.value)
			}
			return
		}
	}
	delete(o.Extra, name)
	if isNull(value) {
		return
	}
	if !o.setKnown(name, value) {
		if o.Extra == nil {
			o.Extra = map[string]json.RawMessage{}
		}
		o.Extra[name] = value
	}
}

// setKnown reports whether name is an option with a field of its own and value one that the field can hold.
func (o *JobOptions) setKnown(name string, value json.RawMessage) bool {
	switch name {
	case "attempts":
		return o.setCount(&o.Attempts, GivenAttempts, value)
	case "priority":
		return o.setCount(&o.Priority, GivenPriority, value)
	case "keepLogs":
		return o.setCount(&o.KeepLogs, GivenKeepLogs, value)
	case "sizeLimit":
		return o.setCount(&o.SizeLimit, GivenSizeLimit, value)
	case "lifo":
		return o.setFlag(&o.LIFO, GivenLIFO, value)
	case telemetryOmitContext:
		return o.setFlag(&o.OmitContext, GivenOmitContext, value)
	case telemetryMetadata:
		return setText(&o.TelemetryContext, value)
	case "jobId":
		return setText(&o.ID, value)
	case FailParentOnFailure, ContinueParentOnFailure, IgnoreDependencyOnFailure, RemoveDependencyOnFailure:
		return o.setOnFailure(name, value)
	}
	return o.setStructured(name, value)
}

// setStructured is setKnown for options that are times or made of parts.
func (o *JobOptions) setStructured(name string, value json.RawMessage) bool {
	switch name {
	case "delay":
		ms, ok := jsonNumber(value)
		if ok {
			o.Delay = millis(ms)
			o.mark(GivenDelay, o.Delay == 0)
		}
		return ok
	case "timestamp":
		ms, ok := jsonNumber(value)
		if ok = ok && clamp(ms) != 0; ok {
			o.Timestamp = instant(ms)
		}
		return ok
	case "stackTraceLimit":
		var n int
		if !setNumber(&n, value) {
			return false
		}
		o.StackTraceLimit = &n
		return true
	case "backoff":
		return setPart(&o.Backoff, value, decodeBackoff)
	case "removeOnComplete":
		return setPart(&o.KeepCompleted, value, decodeKeep)
	case "removeOnFail":
		return setPart(&o.KeepFailed, value, decodeKeep)
	case "deduplication":
		return setPart(&o.Deduplication, value, decodeDeduplication)
	case "parent":
		return setPart(&o.Parent, value, decodeParent)
	}
	return false
}

func (o *JobOptions) mark(g Given, zero bool) {
	o.Given &^= g
	if zero {
		o.Given |= g
	}
}

func (o *JobOptions) setCount(field *int, g Given, value json.RawMessage) bool {
	if !setNumber(field, value) {
		return false
	}
	o.mark(g, *field == 0)
	return true
}

func (o *JobOptions) setFlag(field *bool, g Given, value json.RawMessage) bool {
	v, ok := jsonBool(value)
	if ok {
		*field = v
		o.mark(g, !v)
	}
	return ok
}

func (o *JobOptions) setOnFailure(name string, value json.RawMessage) bool {
	v, ok := jsonBool(value)
	if !ok || !v || (o.OnFailure != "" && o.OnFailure != name) {
		return false
	}
	o.OnFailure = name
	return true
}

func setText(field *string, value json.RawMessage) bool {
	v, ok := jsonText(value)
	if ok = ok && v != ""; ok {
		*field = v
	}
	return ok
}

// setNumber rounds fractions up: 1.5 attempts allow a second one, as the comparison with 1 says.
func setNumber(field *int, value json.RawMessage) bool {
	v, ok := jsonNumber(value)
	if ok {
		*field = int(max(min(clamp(math.Ceil(v)), math.MaxInt32), math.MinInt32))
	}
	return ok
}

func setPart[T any](field **T, value json.RawMessage, decode func(json.RawMessage) (T, bool)) bool {
	part, ok := decode(value)
	if ok {
		*field = &part
	}
	return ok
}

func decodeBackoff(value json.RawMessage) (b Backoff, ok bool) {
	if ms, ok := decimal(string(value)); ok {
		return Backoff{Type: "fixed", Delay: millis(ms)}, true
	}
	members, err := objectMembers(value)
	if err != nil {
		return b, false
	}
	for _, m := range members {
		switch m.name {
		case "type":
			b.Type, _ = jsonText(m.value)
		case "delay":
			ms, _ := jsonNumber(m.value)
			b.Delay = millis(ms)
		case "jitter":
			b.Jitter, _ = jsonNumber(m.value)
		}
	}
	return b, true
}

func decodeKeep(value json.RawMessage) (k Keep, ok bool) {
	switch string(value) {
	case "true":
		return *KeepCount(0), true
	case "false":
		return *KeepCount(-1), true
	}
	if n, ok := jsonNumber(value); ok {
		return *KeepCount(clamp(n)), true
	}
	members, err := objectMembers(value)
	if err != nil {
		return k, false
	}
	for _, m := range members {
		v, ok := jsonNumber(m.value)
		if !ok {
			continue
		}
		n := clamp(v)
		switch m.name {
		case "count":
			k.Count = &n
		case "limit":
			k.Limit = &n
		case "age":
			age := millis(v * 1000)
			k.Age = &age
		}
	}
	return k, true
}

func decodeDeduplication(value json.RawMessage) (d Deduplication, ok bool) {
	members, err := objectMembers(value)
	if err != nil {
		return d, false
	}
	for _, m := range members {
		switch m.name {
		case "id":
			d.ID, _ = jsonText(m.value)
		case "ttl":
			ms, _ := jsonNumber(m.value)
			d.TTL = millis(ms)
		case "extend":
			d.Extend, _ = jsonBool(m.value)
		case "replace":
			d.Replace, _ = jsonBool(m.value)
		case "reschedule":
			d.Reschedule, _ = jsonBool(m.value)
		case "keepLastIfActive":
			d.KeepLastIfActive, _ = jsonBool(m.value)
		}
	}
	return d, d.ID != ""
}

func decodeParent(value json.RawMessage) (p ParentRef, ok bool) {
	members, err := objectMembers(value)
	if err != nil {
		return p, false
	}
	for _, m := range members {
		switch m.name {
		case "id":
			p.ID, _ = jsonText(m.value)
		case "queue":
			p.Queue, _ = jsonText(m.value)
		}
	}
	return p, p.ID != "" && p.Queue != ""
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// objectMembers lists the members of a JSON object as they are stored. Order matters: of two spellings of an option the
// later one counts. An empty array stands for an empty object, which Redis' Lua cannot tell apart.
func objectMembers(text []byte) ([]member, error) {
	if !json.Valid(text) {
		return nil, errors.New("invalid JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open == json.Delim('[') && !dec.More() {
		return nil, nil
	}
	if open != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: name.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

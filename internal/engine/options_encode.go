package engine

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// shortName is the inverse of longName.
func shortName(public string) string {
	switch public {
	case "deduplication":
		return "de"
	case FailParentOnFailure:
		return "fpof"
	case ContinueParentOnFailure:
		return "cpof"
	case IgnoreDependencyOnFailure:
		return "idof"
	case RemoveDependencyOnFailure:
		return "rdof"
	case "keepLogs":
		return "kl"
	case telemetryMetadata:
		return "tm"
	case telemetryOmitContext:
		return "omc"
	}
	return public
}

// object builds a JSON object member by member.
type object struct {
	buf  bytes.Buffer
	seen map[string]bool
}

func (j *object) put(name string, value json.RawMessage) {
	if j.seen == nil {
		j.seen = map[string]bool{}
	}
	j.seen[name] = true
	if j.buf.Len() > 0 {
		j.buf.WriteByte(',')
	}
	j.buf.Write(quote(name))
	j.buf.WriteByte(':')
	j.buf.Write(value)
}

func (j *object) number(name string, n int64) { j.put(name, strconv.AppendInt(nil, n, 10)) }

func (j *object) flag(name string, v bool) { j.put(name, strconv.AppendBool(nil, v)) }

func (j *object) text(name, v string) { j.put(name, quote(v)) }

func (j *object) json() json.RawMessage {
	return slices.Concat([]byte{'{'}, j.buf.Bytes(), []byte{'}'})
}

// quote encodes a text as JSON; what is not UTF-8 is replaced.
func quote(s string) json.RawMessage {
	text, _ := encodeJSON(s) // texts always encode
	return text
}

// encodeJSON is json.Marshal without the escaping of HTML, so that texts are stored as other clients store them.
func encodeJSON(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// encode gives the options as they are stored, with short names.
func (o JobOptions) encode() json.RawMessage {
	var j object
	j.number("attempts", int64(o.Attempts))
	o.encodeRest(&j)
	return j.json()
}

// encodeTemplate is encode for a scheduler's template, which holds only what is given (features 1.5).
func (o JobOptions) encodeTemplate() json.RawMessage {
	var j object
	if o.Attempts != 0 || o.Given&GivenAttempts != 0 {
		j.number("attempts", int64(o.Attempts))
	}
	o.encodeRest(&j)
	return j.json()
}

func (o JobOptions) encodeRest(j *object) {
	given := func(mark Given) bool { return o.Given&mark != 0 }
	if o.ID != "" {
		j.text("jobId", o.ID)
	}
	if o.Backoff != nil {
		j.put("backoff", o.Backoff.encode())
	}
	if o.Delay != 0 || given(GivenDelay) {
		j.put("delay", inMillis(o.Delay))
	}
	if o.Priority != 0 || given(GivenPriority) {
		j.number("priority", int64(o.Priority))
	}
	if o.LIFO || given(GivenLIFO) {
		j.flag("lifo", o.LIFO)
	}
	if !o.Timestamp.IsZero() {
		j.number("timestamp", o.Timestamp.UnixMilli())
	}
	if o.KeepCompleted != nil {
		j.put("removeOnComplete", o.KeepCompleted.encode())
	}
	if o.KeepFailed != nil {
		j.put("removeOnFail", o.KeepFailed.encode())
	}
	if o.KeepLogs != 0 || given(GivenKeepLogs) {
		j.number("kl", int64(o.KeepLogs))
	}
	if o.StackTraceLimit != nil {
		j.number("stackTraceLimit", int64(*o.StackTraceLimit))
	}
	if o.SizeLimit != 0 || given(GivenSizeLimit) {
		j.number("sizeLimit", int64(o.SizeLimit))
	}
	o.encodeRelations(j)
	o.encodeExtra(j)
}

func (o JobOptions) encodeRelations(j *object) {
	if o.Parent != nil {
		var p object
		p.text("id", o.Parent.ID)
		p.text("queue", o.Parent.Queue)
		j.put("parent", p.json())
	}
	if o.Deduplication != nil {
		j.put("de", o.Deduplication.encode())
	}
	if o.OnFailure != "" {
		j.flag(shortName(o.OnFailure), true)
	}
	if o.TelemetryContext != "" {
		j.text("tm", o.TelemetryContext)
	}
	if o.OmitContext || o.Given&GivenOmitContext != 0 {
		j.flag("omc", o.OmitContext)
	}
}

// encodeExtra adds the options without a field, in the order of their names.
func (o JobOptions) encodeExtra(j *object) {
	for _, name := range slices.Sorted(maps.Keys(o.Extra)) {
		short, value := shortName(name), o.Extra[name]
		if !j.seen[short] && !isNull(value) {
			j.put(short, value)
		}
	}
}

func (b Backoff) encode() json.RawMessage {
	var j object
	j.text("type", b.Type)
	j.put("delay", inMillis(b.Delay))
	if b.Jitter != 0 {
		j.put("jitter", json.RawMessage(strconv.FormatFloat(b.Jitter, 'f', -1, 64)))
	}
	return j.json()
}

func (k Keep) encode() json.RawMessage {
	if k.Count != nil && k.Age == nil && k.Limit == nil {
		switch n := *k.Count; n {
		case 0:
			return json.RawMessage("true")
		case -1:
			return json.RawMessage("false")
		default:
			return strconv.AppendInt(nil, n, 10)
		}
	}
	var j object
	if k.Age != nil {
		j.put("age", inSeconds(*k.Age))
	}
	if k.Count != nil {
		j.number("count", *k.Count)
	}
	if k.Limit != nil {
		j.number("limit", *k.Limit)
	}
	return j.json()
}

func (d Deduplication) encode() json.RawMessage {
	var j object
	j.text("id", d.ID)
	if d.TTL != 0 {
		j.put("ttl", inMillis(d.TTL))
	}
	flags := []struct {
		name string
		set  bool
	}{
		{"extend", d.Extend},
		{"replace", d.Replace},
		{"reschedule", d.Reschedule},
		{"keepLastIfActive", d.KeepLastIfActive},
	}
	for _, f := range flags {
		if f.set {
			j.flag(f.name, true)
		}
	}
	return j.json()
}

// parentField is the job's field parent: what a finishing worker must know of the parent (features 2.1).
func (o JobOptions) parentField() string {
	var j object
	j.text("id", o.Parent.ID)
	j.text("queueKey", o.Parent.Queue)
	if o.OnFailure != "" {
		j.flag(shortName(o.OnFailure), true)
	}
	return string(j.json())
}

// publicOptions gives stored options under their public names, values and order untouched.
func publicOptions(stored []byte) (json.RawMessage, error) {
	members, err := objectMembers(stored)
	if err != nil {
		return nil, err
	}
	var j, telemetry object
	for i, m := range members {
		name := longName(m.name)
		if slices.ContainsFunc(members[i+1:], func(later member) bool { return longName(later.name) == name }) {
			continue
		}
		if part, ok := strings.CutPrefix(name, "telemetry."); ok {
			telemetry.put(part, m.value)
			continue
		}
		j.put(name, m.value)
	}
	if len(telemetry.seen) > 0 && !j.seen["telemetry"] {
		j.put("telemetry", telemetry.json())
	}
	return j.json(), nil
}

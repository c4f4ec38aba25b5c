package processor

import (
	"bytes"
	"encoding/json"
	"strconv"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
)

// payload writes the job as the JSON object that handlers outside this process get. It is put together by hand because
// encoding/json would compact and escape the stored texts, which must arrive byte for byte.
func payload(q keys.Queue, j *engine.Job) []byte {
	opts := j.PublicOptions()
	var b bytes.Buffer
	b.Grow(len(j.Data) + len(opts) + 512)
	b.WriteByte('{')
	field(&b, "queue", quote(q.Name))
	field(&b, "id", quote(j.ID))
	field(&b, "name", quote(j.Name))
	field(&b, "data", j.Data) // valid: a worker fails other jobs itself
	field(&b, "opts", opts)
	field(&b, "attempt", number(int64(attempt(j))))
	field(&b, "attempts", number(int64(j.AttemptsAllowed())))
	field(&b, "attemptsStarted", number(int64(j.AttemptsStarted)))
	field(&b, "timestamp", number(j.Timestamp.UnixMilli()))
	field(&b, "priority", number(j.Priority))
	field(&b, "progress", validOr(j.Progress, "0"))
	field(&b, "parent", validOr(j.Parent, "null"))
	b.WriteByte('}')
	return b.Bytes()
}

// attempt is the number of the running attempt, counted from 1.
func attempt(j *engine.Job) int { return j.AttemptsMade + 1 }

// field appends "name":value, with a comma where something is before it.
func field(b *bytes.Buffer, name string, value []byte) {
	if b.Len() > 1 {
		b.WriteByte(',')
	}
	b.Write(quote(name))
	b.WriteByte(':')
	b.Write(value)
}

// quote writes s as a JSON string without the escapes that only matter inside HTML.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func number(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// validOr is the stored value, or the fallback where there is none that JSON could carry.
func validOr(value json.RawMessage, fallback string) []byte {
	if !json.Valid(value) {
		return []byte(fallback)
	}
	return value
}

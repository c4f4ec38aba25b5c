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
	member(&b, "queue", quote(q.Name))
	member(&b, "id", quote(j.ID))
	member(&b, "name", quote(j.Name))
	member(&b, "data", j.Data) // valid: a worker fails other jobs itself
	member(&b, "opts", opts)
	member(&b, "attempt", number(int64(attempt(j))))
	member(&b, "attempts", number(int64(j.AttemptsAllowed())))
	member(&b, "attemptsStarted", number(int64(j.AttemptsStarted)))
	member(&b, "timestamp", number(j.Timestamp.UnixMilli()))
	member(&b, "priority", number(j.Priority))
	member(&b, "progress", validOr(j.Progress, "0"))
	member(&b, "parent", validOr(j.Parent, "null"))
	b.WriteByte('}')
	return b.Bytes()
}

// attempt is the number of the running attempt, counted from 1.
func attempt(j *engine.Job) int { return j.AttemptsMade + 1 }

// member appends "name":value, with a comma where something is before it.
func member(b *bytes.Buffer, name string, value []byte) {
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

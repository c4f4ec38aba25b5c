package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/policy"
	"bullpen/internal/monitor"
	"bullpen/internal/web/jsonview"
	"bullpen/internal/words"
	"bullpen/templates"
)

const (
	showLimit = 64 << 10 // a longer payload is shown on request
	openLimit = 1 << 20  // and cut here
	logWindow = 1000     // newest log rows that are looked at
	logShown  = 200
	logWidth  = 2000 // bytes of one row
	traceSize = 16 << 10
)

// payloads are the JSON texts of a job.
func (s *Server) payloads(r viewRequest, q *monitor.Queue, j *engine.Peek) []templates.Payload {
	out := []templates.Payload{s.payload(r, q, j, "data", "Data", "None.")}
	none := "None. A job gets a result when it completes."
	if j.State == keys.Completed {
		none = "None."
	}
	out = append(out, s.payload(r, q, j, "returnvalue", "Result", none))
	if _, ok := j.Fields["progress"]; ok {
		out = append(out, s.payload(r, q, j, "progress", "Progress", ""))
	}
	return out
}

func (s *Server) payload(r viewRequest, q *monitor.Queue, j *engine.Peek, field, title, none string) templates.Payload {
	raw, ok := j.Fields[field]
	p := templates.Payload{ID: "p-" + field, Title: title}
	if !ok {
		p.None = none
		return p
	}
	size := j.Sizes[field]
	p.Size = words.Bytes(size)
	p.FileURL = s.links.job(q.Queue, j.ID, field)
	if size > showLimit && r.query.Get("open") != field {
		p.Notice = "Longer than " + words.Bytes(showLimit) + ", so it is not shown at once."
		p.OpenURL = r.with(s.o.BasePath, "open", field)
		return p
	}
	v := jsonview.Render([]byte(raw), jsonview.Options{MaxBytes: openLimit, Cut: int64(len(raw)) < size, Masked: s.o.Mask})
	p.Code = codeTokens(v)
	switch {
	case v.Truncated:
		p.Notice = "Cut here. The download has all of it."
	case !v.Valid:
		p.Notice = "This is not valid JSON; it is shown as it is stored."
	}
	return p
}

func codeTokens(v jsonview.View) []templates.CodeToken {
	classes := map[jsonview.Kind]string{jsonview.Key: "k", jsonview.String: "v-s", jsonview.Number: "v-n", jsonview.Word: "v-b", jsonview.Mask: "mask"}
	out := make([]templates.CodeToken, len(v.Tokens))
	for i, t := range v.Tokens {
		out[i] = templates.CodeToken{Class: classes[t.Kind], Text: t.Text}
	}
	return out
}

// jobTraces are the stack traces, newest first, the newest one open.
func jobTraces(j *engine.Peek) templates.Traces {
	list := stacktrace(j.Fields["stacktrace"])
	t := templates.Traces{None: "None. An attempt that fails leaves its trace here."}
	if len(list) == 0 && j.FailedReason != "" {
		t.List = []templates.Trace{{Label: "Last error", Open: true, First: jsonview.Visible(firstLineOf(j.FailedReason, 200)), Lines: traceLines(j.FailedReason)}}
		t.Note = "No trace was stored with it."
		return t
	}
	for i, text := range slices.Backward(list) {
		t.List = append(t.List, templates.Trace{
			Label: fmt.Sprintf("Failure %d of %d", i+1, len(list)), First: jsonview.Visible(firstLineOf(text, 160)),
			Lines: traceLines(text), Open: i == len(list)-1,
		})
	}
	if j.Sizes["stacktrace"] > int64(len(j.Fields["stacktrace"])) {
		t.Note = "The traces are " + words.Bytes(j.Sizes["stacktrace"]) + "; only their beginning is shown."
	}
	return t
}

// stacktrace reads as many texts as an array, possibly cut, holds.
func stacktrace(raw string) (out []string) {
	d := json.NewDecoder(strings.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil
	}
	for d.More() {
		var text string
		if d.Decode(&text) != nil {
			break
		}
		out = append(out, text)
	}
	return out
}

// traceLines marks the message and the frames of libraries.
func traceLines(text string) []templates.CodeToken {
	note := ""
	if len(text) > traceSize {
		text, note = strings.ToValidUTF8(text[:traceSize], ""), "… cut at "+words.Bytes(traceSize)
	}
	var out []templates.CodeToken
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		class := ""
		switch {
		case i == 0:
			class = "err"
		case strings.Contains(line, "node_modules/") || strings.Contains(line, "(node:") || strings.Contains(line, "/go/src/"):
			class = "lib"
		}
		out = append(out, templates.CodeToken{Class: class, Text: jsonview.Visible(line) + "\n"})
	}
	if note != "" {
		out = append(out, templates.CodeToken{Class: "lib", Text: note})
	}
	return out
}

// jobLogs reads the newest log rows, filtered by plain text.
func (s *Server) jobLogs(ctx context.Context, r viewRequest, j *engine.Peek) templates.Logs {
	l := templates.Logs{Filter: r.query.Get("log"), URL: s.o.BasePath + r.path, None: "No log rows."}
	if open := r.query.Get("open"); open != "" {
		l.Fields = []templates.Field{{Name: "open", Value: open}}
	}
	if j.Logs == 0 {
		return l
	}
	rows, total, err := j.Queue().PeekLogs(ctx, j.ID, 0, logWindow-1, false)
	if err != nil {
		l.None = "The logs cannot be read: " + oneLine(err) + "."
		return l
	}
	for _, row := range rows {
		if len(l.Rows) == logShown {
			break
		}
		text := s.maskedRow(row)
		if l.Filter == "" || strings.Contains(strings.ToLower(text), strings.ToLower(l.Filter)) {
			l.Rows = append(l.Rows, logRow(text, row.Size))
		}
	}
	slices.Reverse(l.Rows)
	l.Count = words.Count(int64(len(l.Rows))) + " of " + words.Plural(total, "row", "rows")
	if n := int64(len(rows)); n < min(total, logWindow) && len(l.Rows) < logShown {
		l.Count += ": the newest " + words.Count(n) + " fill the " + words.Bytes(engine.PeekedLogs) + " read here, /api/v1 has the others page by page"
	}
	if len(l.Rows) == 0 {
		l.None = "None of the newest " + words.Count(int64(len(rows))) + " rows has this text."
	}
	return l
}

// maskedRow is what was read of a log row, as people may see it.
func (s *Server) maskedRow(row engine.Text) string {
	return s.masked(row.Value, int64(len(row.Value)) < row.Size)
}

// logRow cuts a row that is masked already: a part of it could not be masked. size is how long it is in Redis.
func logRow(row string, size int64) string {
	if len(row) > logWidth {
		row = strings.ToValidUTF8(row[:logWidth], "") + "… (" + words.Bytes(size) + ")"
	}
	return jsonview.Visible(row)
}

// masked is a stored text, or with cut the beginning of one, as people may see it.
func (s *Server) masked(text string, cut bool) string {
	switch {
	case s.o.Mask == nil:
		return text
	case cut:
		return string(jsonview.RedactPart([]byte(text), s.o.Mask))
	}
	return string(jsonview.Redact([]byte(text), s.o.Mask))
}

// jobOptions say what governs the job, in words.
func (s *Server) jobOptions(r viewRequest, q *monitor.Queue, j *engine.Peek) []templates.Fact {
	p := s.o.Monitor.Policy(q.Queue)
	attempts := templates.Fact{Label: "Attempts", Value: fmt.Sprintf("%d of %d made", j.AttemptsMade, j.AttemptsAllowed())}
	if p.Attempts > 0 && p.Attempts != j.AttemptsAllowed() {
		attempts.Small = fmt.Sprintf("set by the job, the queue's policy says %d", p.Attempts)
	}
	out := []templates.Fact{attempts, {Label: "Backoff", Value: jobBackoff(j.Opts.Backoff)}}
	out = append(out, templates.Fact{Label: "Priority", Value: words.Count(j.Priority)})
	if j.Delay > 0 {
		out = append(out, templates.Fact{Label: "Delay", Value: words.Exact(j.Delay)})
	}
	if !j.Timestamp.IsZero() {
		out = append(out, templates.Fact{Label: "Added", Value: s.exact(j.Timestamp)})
	}
	if j.ProcessedBy != "" {
		out = append(out, templates.Fact{Label: "Processed by", Value: jsonview.Visible(j.ProcessedBy)})
	}
	if j.SchedulerID != "" {
		out = append(out, templates.Fact{Label: "Scheduler", Value: jsonview.Visible(j.SchedulerID), URL: s.links.queue(q.Queue, "schedulers", j.SchedulerID)})
	}
	if j.DeduplicationID != "" {
		out = append(out, templates.Fact{Label: "Deduplication", Value: jsonview.Visible(j.DeduplicationID)})
	}
	idempotency := q.Name + ":" + j.ID
	if q.Prefix != keys.DefaultPrefix {
		idempotency = q.Prefix + ":" + idempotency
	}
	return append(out, templates.Fact{Label: "Idempotency-Key", Value: jsonview.Visible(idempotency)})
}

func jobBackoff(b *engine.Backoff) string {
	if b == nil {
		return "none: a failed attempt is retried at once"
	}
	out := jsonview.Visible(b.Type)
	if b.Delay > 0 {
		out += ", " + words.Exact(b.Delay)
	}
	if b.Jitter > 0 {
		out += ", jitter " + strconv.FormatFloat(b.Jitter, 'g', 3, 64)
	}
	return out
}

// retentionWords say how long finished jobs are kept.
func retentionWords(p policy.Policy) string {
	say := func(what string, k policy.Keep) string {
		switch {
		case !k.Set || k.Count < 0 && k.Age == 0:
			return what + " jobs are kept"
		case k.Count == 0 && k.Age == 0:
			return what + " jobs are removed at once"
		}
		var limits []string
		if k.Count > 0 {
			limits = append(limits, "the last "+words.Count(k.Count))
		}
		if k.Age > 0 {
			limits = append(limits, words.Roughly(k.Age))
		}
		return what + " jobs are kept for " + strings.Join(limits, ", at most ")
	}
	return say("completed", p.KeepCompleted) + ", " + say("failed", p.KeepFailed)
}

// rawFields is the record as Redis holds it, long fields by their size alone, masked like everything else.
func (s *Server) rawFields(r viewRequest, j *engine.Peek) []templates.RawField {
	out := s.rawHash(j.Fields, j.Sizes, "data", "returnvalue", "progress", "stacktrace")
	for i, f := range out {
		if s.namesHidden(r.who, j, f.Name) {
			out[i].Text = elsewhere
		}
	}
	return out
}

// namesHidden reports whether a field of a job names a queue that is hidden, or is too long to tell.
func (s *Server) namesHidden(who Identity, j *engine.Peek, field string) bool {
	switch field {
	case "parent":
		var parent struct{ QueueKey string }
		_ = json.Unmarshal([]byte(j.Fields[field]), &parent) // what is no parent names no queue
		key := parent.QueueKey + ":"
		return visibleKey(who, key) != key || s.namesHidden(who, j, "parentKey")
	case "parentKey":
		return visibleKey(who, j.ParentKey) != j.ParentKey
	case "opts":
		raw := json.RawMessage(j.Fields[field])
		return who.bounded() && int64(len(raw)) < j.Sizes[field] || visibleKey(who, j.ParentKey) != j.ParentKey ||
			!bytes.Equal(visibleOptions(who, j.Queue().Prefix, raw), raw)
	case "replayedFrom":
		from := j.ReplayedFrom()
		return from != nil && !who.May(Viewer, keys.Queue{Prefix: j.Queue().Prefix, Name: from.Queue})
	}
	return false
}

// plainFields are texts of their own, shown as they are wherever there is a job; they hold no members to mask.
var plainFields = []string{"name", "failedReason", "defa", "pb", "parentKey", "rjk", "deid", "nrjid"}

// rawHash are the fields of a hash; above are those the page shows anyway, sizes those of fields that were cut.
func (s *Server) rawHash(fields map[string]string, sizes map[string]int64, above ...string) []templates.RawField {
	const short = 300
	var out []templates.RawField
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text := fields[name]
		f := templates.RawField{Name: jsonview.Visible(name), Size: words.Bytes(max(sizes[name], int64(len(text))))}
		if slices.Contains(above, name) {
			text = "shown above"
		} else if !slices.Contains(plainFields, name) {
			text = s.masked(text, int64(len(text)) < sizes[name])
		}
		if len(text) > short {
			text = firstLineOf(text, short)
		}
		f.Text = jsonview.Visible(text)
		out = append(out, f)
	}
	return out
}

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/search"
	"bullpen/internal/web/jsonview"

	"github.com/labstack/echo/v4"
)

// The limits of one download. Its last line says whether it has all, and where to go on.
const (
	exportJobs  = 10_000
	exportBytes = 64 << 20
	exportTime  = 8 * time.Second
	// exportBatch is how many jobs are looked for in one go at most, firstBatch how many at first, while nobody knows how
	// long they are; batchBytes is about how much is held of their texts.
	exportBatch = 100
	firstBatch  = 10
	batchBytes  = 8 << 20
	// ndjson is one JSON object a line.
	ndjson = "application/x-ndjson"
)

// exportedJob is one line of a download.
type exportedJob struct {
	Queue string `json:"queue"`
	State string `json:"state"`
	rowJSON
	ParentKey   string          `json:"parentKey,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
	Options     json.RawMessage `json:"opts,omitempty"`
	ReturnValue json.RawMessage `json:"returnvalue,omitempty"`
	Stacktrace  json.RawMessage `json:"stacktrace,omitempty"`
	// LeftOut names the fields that are too large for a line.
	LeftOut []string `json:"leftOut,omitempty"`
}

// exportEnd is the last line of a download.
type exportEnd struct {
	End struct {
		Complete bool  `json:"complete"`
		Jobs     int64 `json:"jobs"`
		Looked   int64 `json:"looked"`
		// Next goes into "from" to go on.
		Next string `json:"next,omitempty"`
		// Error says why it ended early.
		Error string `json:"error,omitempty"`
	} `json:"export"`
}

// exported are the fields of a job that are downloaded beside its row.
var exported = []string{"data", "opts", "returnvalue", "stacktrace"}

// exporter writes jobs as JSON lines.
type exporter struct {
	s     *Server
	who   Identity
	queue *engine.Queue
	out   *json.Encoder
	flush func()
	// allow gives the reader time for so many bytes.
	allow func(bytes int64)
	bytes int64
	gone  bool // the reader went away
}

// export downloads the jobs of a state that match, one JSON object a line, masked like everything else: ?state=, ?q=,
// ?from=, or ?id= for some jobs. Lines are written as they are read.
func (s *Server) export(c echo.Context) error {
	who, err := s.identify(c.Request())
	if err != nil {
		return err
	}
	r := s.viewRequest(c, who)
	q, err := s.queueOf(r)
	if err != nil {
		return err
	}
	t, err := tabOf(r, q)
	if err != nil {
		return err
	}
	query, err := s.parseQuery(r.query, r.now)
	if err != nil {
		return err
	}
	from, err := cursor(r.query)
	if err != nil {
		return err
	}
	queue, err := s.engineOf(q.Queue)
	if err != nil {
		return err
	}
	list := t.list(queue, q, false)
	list.Until = r.now
	lists := []search.List{list}
	if ids := r.query["id"]; len(ids) > 0 {
		if lists, err = listsByState(c.Request().Context(), queue, slices.DeleteFunc(slices.Clone(ids), keys.Reserved)); err != nil {
			return err
		}
	}
	res := c.Response()
	res.Header().Set(echo.HeaderContentType, ndjson)
	res.Header().Set("Cache-Control", "no-store")
	res.Header().Set("Content-Disposition", `attachment; filename="`+escapeSegment(q.Name)+"-"+t.name+`.jsonl"`)
	res.WriteHeader(http.StatusOK)
	e := &exporter{s: s, who: who, queue: queue, out: json.NewEncoder(res), flush: res.Flush, allow: func(n int64) { allow(c, n) }}
	e.out.SetEscapeHTML(false)
	e.run(c.Request().Context(), query, lists, from)
	return nil
}

// listsByState are the jobs named, each among those of the state it is in now.
func listsByState(ctx context.Context, q *engine.Queue, ids []string) ([]search.List, error) {
	byState := map[keys.State][]string{}
	for some := range slices.Chunk(ids, exportBatch) {
		states, err := q.States(ctx, some)
		if err != nil {
			return nil, err
		}
		for i, st := range states {
			byState[st] = append(byState[st], some[i])
		}
	}
	var lists []search.List
	for st, ids := range byState {
		lists = append(lists, search.List{Queue: q, State: st, IDs: ids})
	}
	return lists, nil
}

// run scans and writes batch by batch until a limit is reached.
func (e *exporter) run(ctx context.Context, query *search.Query, lists []search.List, from *search.Cursor) {
	start := time.Now()
	var end exportEnd
	batch := int64(firstBatch)
	for {
		before := e.bytes
		left := exportTime - time.Since(start)
		limits := search.Limits{Found: min(batch, exportJobs-end.End.Jobs), Payload: payloadLimit, Bytes: batchBytes, Time: left}
		found, err := e.s.scans.look(ctx, query, lists, from, limits)
		if err == nil {
			err = e.write(ctx, found.jobs)
		}
		if e.gone {
			return
		}
		end.End.Looked += found.Looked
		if err != nil {
			end.End.Error = oneLine(err)
			break
		}
		end.End.Jobs += int64(len(found.jobs))
		from = found.Next
		batch = nextBatch(batch, int64(len(found.jobs)), e.bytes-before)
		if end.End.Complete = from == nil; from == nil || end.End.Jobs >= exportJobs || e.bytes >= exportBytes || time.Since(start) >= exportTime {
			break
		}
	}
	if from != nil {
		end.End.Next = from.String()
	}
	e.allow(0)
	_ = e.out.Encode(end) // a reader that is gone needs no end
	e.flush()
}

// nextBatch is how many jobs to look for next, so that they fill batchBytes.
func nextBatch(batch, jobs, bytes int64) int64 {
	batch = min(2*batch, exportBatch)
	if bytes > 0 {
		batch = min(batch, jobs*batchBytes/bytes)
	}
	return max(batch, 1)
}

// write reads what rows do not have and writes a line for each job. A reader that is slow holds up no other: nothing is
// reserved while lines are written.
func (e *exporter) write(ctx context.Context, jobs []*search.Job) error {
	for len(jobs) > 0 && !e.gone {
		var texts map[string][]engine.Text
		err := e.s.scans.turn(ctx, func() (err error) {
			texts, err = e.texts(ctx, jobs)
			return err
		})
		if err != nil {
			return err
		}
		n := len(texts[exported[0]])
		e.lines(jobs[:n], texts)
		jobs = jobs[n:]
	}
	return nil
}

// texts reads the exported fields of the first jobs, as many as fit, at least one. Each field has its share.
func (e *exporter) texts(ctx context.Context, jobs []*search.Job) (map[string][]engine.Text, error) {
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	texts, n, sum := map[string][]engine.Text{}, len(ids), int64(0)
	for _, field := range exported {
		found, err := e.queue.Texts(ctx, ids[:n], field, payloadLimit, batchBytes/int64(len(exported)))
		if err != nil {
			return nil, err
		}
		for i, text := range found {
			if text.Left && text.Size <= payloadLimit {
				n = i // its share is full
				break
			}
			sum += int64(len(text.Value))
		}
		texts[field] = found
	}
	for _, field := range exported {
		texts[field] = texts[field][:n]
	}
	e.allow(2 * sum)
	return texts, nil
}

// lines writes a line for each job.
func (e *exporter) lines(jobs []*search.Job, texts map[string][]engine.Text) {
	for i, j := range jobs {
		line := exportedJob{Queue: j.Queue.Qualified(), State: string(j.State), rowJSON: toRowJSON(j.Row), ParentKey: visibleKey(e.who, j.ParentKey)}
		into := map[string]*json.RawMessage{"data": &line.Data, "opts": &line.Options, "returnvalue": &line.ReturnValue, "stacktrace": &line.Stacktrace}
		for _, field := range exported {
			text := texts[field][i]
			if text.Left {
				line.LeftOut = append(line.LeftOut, field)
				continue
			}
			e.bytes += text.Size
			raw := []byte(text.Value)
			if field == "opts" && text.Size > 0 {
				raw = visibleOptions(e.who, e.queue.Prefix, engine.PublicOptions(raw))
			}
			*into[field] = e.s.asJSON(raw)
		}
		if e.out.Encode(line) != nil {
			e.gone = true
			return
		}
	}
	e.flush()
}

// asJSON is a stored text as JSON, masked; a string when it is not JSON, nothing when it is empty.
func (s *Server) asJSON(raw []byte) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if s.o.Mask != nil {
		raw = jsonview.Redact(raw, s.o.Mask)
	}
	if json.Valid(raw) {
		return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	quoted, err := json.Marshal(string(raw))
	if err != nil {
		return nil
	}
	return quoted
}

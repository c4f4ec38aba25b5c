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
	// exportBatch is how many jobs are read in one go.
	exportBatch = 100
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
	queue *engine.Queue
	out   *json.Encoder
	flush func()
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
	list := search.List{Queue: queue, State: t.state, Until: r.now, IDs: slices.DeleteFunc(slices.Clone(r.query["id"]), keys.Reserved)}
	res := c.Response()
	res.Header().Set(echo.HeaderContentType, ndjson)
	res.Header().Set("Cache-Control", "no-store")
	res.Header().Set("Content-Disposition", `attachment; filename="`+escapeSegment(q.Name)+"-"+t.name+`.jsonl"`)
	res.WriteHeader(http.StatusOK)
	e := &exporter{s: s, queue: queue, out: json.NewEncoder(res), flush: res.Flush}
	e.out.SetEscapeHTML(false)
	e.run(c.Request().Context(), query, list, from)
	return nil
}

// run scans and writes batch by batch until a limit is reached.
func (e *exporter) run(ctx context.Context, query *search.Query, list search.List, from *search.Cursor) {
	start := time.Now()
	var end exportEnd
	for {
		var jobs []*search.Job
		left := exportTime - time.Since(start)
		limits := search.Limits{Found: exportBatch, Payload: payloadLimit, Time: left}
		out, err := query.Scan(ctx, []search.List{list}, from, limits, func(j *search.Job) { jobs = append(jobs, j) })
		if err == nil {
			err = e.write(ctx, jobs)
		}
		if e.gone {
			return
		}
		end.End.Looked += out.Looked
		if err != nil {
			end.End.Error = oneLine(err)
			break
		}
		end.End.Jobs += int64(len(jobs))
		from = out.Next
		if end.End.Complete = from == nil; from == nil || end.End.Jobs >= exportJobs || e.bytes >= exportBytes || time.Since(start) >= exportTime {
			break
		}
	}
	if from != nil {
		end.End.Next = from.String()
	}
	_ = e.out.Encode(end) // a reader that is gone needs no end
	e.flush()
}

// write reads what rows do not have and writes a line for each job.
func (e *exporter) write(ctx context.Context, jobs []*search.Job) error {
	ids := make([]string, len(jobs))
	for i, j := range jobs {
		ids[i] = j.ID
	}
	texts := map[string][]engine.Text{}
	for _, field := range exported {
		var err error
		if texts[field], err = e.queue.Texts(ctx, ids, field, payloadLimit, exportBytes); err != nil {
			return err
		}
	}
	for i, j := range jobs {
		line := exportedJob{Queue: j.Queue.Qualified(), State: string(j.State), rowJSON: toRowJSON(j.Row), ParentKey: j.ParentKey}
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
				raw = engine.PublicOptions(raw)
			}
			*into[field] = e.s.asJSON(raw)
		}
		if e.out.Encode(line) != nil {
			e.gone = true
			return nil
		}
	}
	e.flush()
	return nil
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

package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
	"bullpen/internal/search"

	"github.com/stretchr/testify/require"
)

// exportLines are the lines of a download, the last one apart.
func exportLines(t *testing.T, body string) (jobs []exportedJob, end exportEnd) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(body), "\n")
	for _, line := range lines[:len(lines)-1] {
		var j exportedJob
		require.NoError(t, json.Unmarshal([]byte(line), &j), line)
		jobs = append(jobs, j)
	}
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &end), body)
	return jobs, end
}

func TestExport(t *testing.T) {
	b := newBench(t, secrets)
	ids := b.ended(b.queue, keys.Failed, 120, "send", "boom #", `{"n":#,"big":12345678901234567890,"password":"hunter2"}`)
	require.NoError(t, b.client.HSet(t.Context(), b.queue.JobKey(ids[1]), "data", `"`+strings.Repeat("x", payloadLimit)+`"`, "stacktrace", `["a","b"]`).Err())
	for _, path := range []string{"/queues/email/export?state=failed", "/api/v1/queues/email/export?state=failed"} {
		a := b.get(path)
		require.Equal(t, http.StatusOK, a.status)
		require.Contains(t, a.header.Get("Content-Disposition"), `filename="email-failed.jsonl"`)
		hasNot(t, a.body, "hunter2")
		jobs, end := exportLines(t, a.body)
		require.Len(t, jobs, 120)
		require.True(t, end.End.Complete)
		require.EqualValues(t, 120, end.End.Jobs)
		require.Equal(t, ids[119], jobs[0].ID, "newest first")
		require.Equal(t, `{"n":119,"big":12345678901234567890,"password":"masked"}`, string(jobs[0].Data))
		require.Equal(t, []string{"data"}, jobs[118].LeftOut)
		require.Equal(t, `["a","b"]`, string(jobs[118].Stacktrace))
		require.Equal(t, "boom 119", jobs[0].FailedReason)
	}
	some, end := exportLines(t, b.get("/queues/email/export?state=failed&q=data.n:%3C3").body)
	require.Len(t, some, 2, "the one whose payload is too large is not looked into")
	require.EqualValues(t, 120, end.End.Looked)
	ticked, _ := exportLines(t, b.get("/queues/email/export?state=failed&seen=failed&back=/&id="+ids[5]+"&id=meta&id="+ids[7]).body)
	require.Len(t, ticked, 2)
	require.Equal(t, http.StatusUnprocessableEntity, b.get("/queues/email/export?state=failed&q=colour:red").status)
	require.Equal(t, http.StatusNotFound, b.get("/queues/nope/export").status)
}

// TestExportIsBounded: a download ends in time and says where to go on.
func TestExportIsBounded(t *testing.T) {
	b := newBench(t)
	b.ended(b.queue, keys.Failed, exportJobs+500, "send", "boom", `{}`)
	jobs, end := exportLines(t, b.get("/queues/email/export?state=failed").body)
	require.False(t, end.End.Complete)
	require.Equal(t, exportJobs, len(jobs))
	rest, last := exportLines(t, b.get("/queues/email/export?state=failed&from="+end.End.Next).body)
	require.True(t, last.End.Complete)
	require.Len(t, rest, 500)
	require.NotEqual(t, jobs[len(jobs)-1].ID, rest[0].ID)
}

// TestExportHoldsLittle: of long payloads few are held at a time, and all are written.
func TestExportHoldsLittle(t *testing.T) {
	b := newBench(t)
	ids := b.ended(b.queue, keys.Failed, 30, "send", "boom", `{}`)
	long := `"` + strings.Repeat("x", payloadLimit-2) + `"`
	for _, id := range ids[:8] {
		require.NoError(t, b.client.HSet(t.Context(), b.queue.JobKey(id), "data", long, "returnvalue", long, "stacktrace", long).Err())
	}
	found := make([]*search.Job, len(ids))
	for i, id := range ids {
		found[i] = &search.Job{Row: engine.Row{ID: id}}
	}
	e := &exporter{s: b.Server, queue: b.queue, allow: func(int64) {}}
	texts, err := e.texts(t.Context(), found)
	require.NoError(t, err)
	require.Len(t, texts["data"], 2, "a field has a quarter of 8 MB")
	jobs, end := exportLines(t, b.get("/queues/email/export?state=failed").body)
	require.True(t, end.End.Complete)
	require.Len(t, jobs, 30)
	for _, j := range jobs {
		require.Empty(t, j.LeftOut)
	}
	require.EqualValues(t, 20, nextBatch(10, 10, 0))
	require.EqualValues(t, 8, nextBatch(10, 10, 10<<20))
	require.EqualValues(t, 1, nextBatch(10, 1, 64<<20))
	require.EqualValues(t, exportBatch, nextBatch(80, 80, 1000))
}

// TestDownloadsWaitForTheirTurn: what reads much shares its turns with the searches.
func TestDownloadsWaitForTheirTurn(t *testing.T) {
	b := newBench(t)
	id := b.add(1, engine.JobOptions{})[0]
	for range scansAtOnce {
		b.scans.slots <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	jobs, end := exportLines(t, b.do(httptest.NewRequestWithContext(ctx, http.MethodGet, "/queues/email/export?state=waiting", nil)).body)
	require.Empty(t, jobs)
	require.Contains(t, end.End.Error, "deadline")
	require.NotEqual(t, http.StatusOK, b.do(httptest.NewRequestWithContext(ctx, http.MethodGet, "/queues/email/jobs/"+id+"/data", nil)).status)
	for range scansAtOnce {
		<-b.scans.slots
	}
	require.Equal(t, http.StatusOK, b.get("/queues/email/jobs/"+id+"/data").status)
}

// TestExportByIDTellsTheState: the jobs named are exported with the state they are in, whatever list the address names.
func TestExportByIDTellsTheState(t *testing.T) {
	b := newBench(t)
	failed := b.ended(b.queue, keys.Failed, 1, "send", "boom", `{}`)[0]
	waiting := b.add(1, engine.JobOptions{})[0]
	jobs, end := exportLines(t, b.get("/queues/email/export?id="+waiting+"&id="+failed).body)
	require.True(t, end.End.Complete)
	require.Len(t, jobs, 2)
	states := map[string]string{jobs[0].ID: jobs[0].State, jobs[1].ID: jobs[1].State}
	require.Equal(t, map[string]string{failed: "failed", waiting: "waiting"}, states)
	jobs, _ = exportLines(t, b.get("/queues/email/export?id="+waiting+"&id="+failed+"&q=state:waiting").body)
	require.Len(t, jobs, 1)
	none, end := exportLines(t, b.get("/queues/email/export?id=meta").body)
	require.Empty(t, none)
	require.True(t, end.End.Complete)
}

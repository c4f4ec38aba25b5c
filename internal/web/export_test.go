package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"bullpen/internal/engine/keys"

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
	require.Len(t, jobs, exportJobs)
	rest, last := exportLines(t, b.get("/queues/email/export?state=failed&from="+end.End.Next).body)
	require.True(t, last.End.Complete)
	require.Len(t, rest, 500)
	require.NotEqual(t, jobs[len(jobs)-1].ID, rest[0].ID)
}

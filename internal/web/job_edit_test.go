package web

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// textarea is what stands in the form's field for data.
func textarea(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`(?s)<textarea[^>]*name="data"[^>]*>\n?(.*?)</textarea>`).FindStringSubmatch(page)
	require.NotNil(t, m, "no field for data")
	return strings.TrimPrefix(html.UnescapeString(m[1]), "\n")
}

func hiddenField(t *testing.T, page, name string) string {
	t.Helper()
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	require.NotNil(t, m, name)
	return html.UnescapeString(m[1])
}

func TestEditAndRetry(t *testing.T) {
	b := newBench(t, secrets)
	id := b.ended(b.queue, keys.Failed, 1, "send", "boom", `{"n":12345678901234567890,"password":"hunter2","to":"ada"}`)[0]
	path := "/queues/email/jobs/" + id + "/edit"
	has(t, b.get("/queues/email/jobs/"+id).body, "Edit and retry…")
	page := b.get(path).body
	hasNot(t, page, "hunter2")
	text := textarea(t, page)
	require.Contains(t, text, `"password": "masked 1"`)
	form := url.Values{"confirm": {"yes"}, "version": {hiddenField(t, page, "version")}, "retry": {"1"}, "back": {"/queues/email/jobs/" + id}}

	form.Set("data", "{\n  nope")
	wrong := b.post(path, form)
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	has(t, wrong.body, "This is not JSON: line 2", "beside the field")
	require.Equal(t, "{\n  nope", textarea(t, wrong.body), "nothing typed is lost")
	has(t, wrong.body, `name="retry" value="1" checked`)

	form.Set("data", strings.Replace(text, `"to"`, `"password2"`, 1)+" ")
	moved := url.Values{"confirm": {"yes"}, "data": {`{"to":"masked 1"}`}, "back": {"/"}}
	has(t, b.post(path, moved).body, "can only stay there")
	job, err := b.queue.Job(t.Context(), id)
	require.NoError(t, err)
	require.Contains(t, string(job.Data), `"to":"ada"`, "nothing was written")

	form.Set("data", strings.Replace(text, `"ada"`, `"eve"`, 1))
	a := b.post(path, form)
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	has(t, b.notice(a), "Saved the data of job "+id+".")
	job, err = b.queue.Job(t.Context(), id)
	require.NoError(t, err)
	require.Contains(t, string(job.Data), `"password": "hunter2"`, "what was masked is as it was")
	require.Contains(t, string(job.Data), `12345678901234567890`)
	require.Contains(t, string(job.Data), `"to": "eve"`)
	require.EqualValues(t, 1, b.count(keys.Waiting))
	require.Equal(t, "edit", b.audit.take()[2].Action)
}

func TestEditWithoutChangeKeepsTheBytes(t *testing.T) {
	b := newBench(t, secrets)
	raw := `{ "b":1.10,"a":[1 ,2],"password":"x", "b":2 }`
	id := b.ended(b.queue, keys.Failed, 1, "send", "boom", raw)[0]
	path := "/queues/email/jobs/" + id + "/edit"
	page := b.get(path).body
	a := b.post(path, url.Values{"confirm": {"yes"}, "data": {strings.ReplaceAll(textarea(t, page), "\n", "\r\n")}, "back": {"/"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	job, err := b.queue.Job(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, raw, string(job.Data))
	require.EqualValues(t, 1, b.count(keys.Failed), "it was not to run again")
}

func TestEditTellsOfOthersChanges(t *testing.T) {
	b := newBench(t)
	id := b.add(1, engine.JobOptions{Delay: time.Hour})[0]
	b.recountAll()
	path := "/queues/email/jobs/" + id + "/edit"
	page := b.get(path).body
	require.NoError(t, b.queue.UpdateData(t.Context(), id, []byte(`{"n":7}`)))
	form := url.Values{"confirm": {"yes"}, "version": {hiddenField(t, page, "version")}, "data": {`{"n":8}`}, "back": {"/"}}
	a := b.post(path, form)
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
	has(t, a.body, "changed by somebody else meanwhile")
	form.Set("version", hiddenField(t, a.body, "version"))
	require.Equal(t, http.StatusSeeOther, b.post(path, form).status)
	job, err := b.queue.Job(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, `{"n":8}`, string(job.Data))
}

func TestEditHasThresholds(t *testing.T) {
	b := newBench(t)
	long := b.ended(b.queue, keys.Failed, 1, "long", "boom", `"`+strings.Repeat("x", showLimit)+`"`)[0]
	huge := b.ended(b.queue, keys.Failed, 1, "huge", "boom", `"`+strings.Repeat("x", openLimit)+`"`)[0]
	broken := b.ended(b.queue, keys.Failed, 1, "broken", "boom", `{nope`)[0]
	page := b.get("/queues/email/jobs/" + long + "/edit").body
	hasNot(t, page, "<textarea")
	has(t, page, "Show it")
	has(t, b.post("/queues/email/jobs/"+long+"/edit", url.Values{"open": {"1"}}).body, "<textarea")
	a := b.get("/queues/email/jobs/" + huge + "/edit")
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
	has(t, a.body, "Too large to be edited here")
	has(t, b.get("/queues/email/jobs/"+broken+"/edit").body, "It is not JSON that can be edited here.")
	require.Equal(t, http.StatusNotFound, b.get("/queues/email/jobs/nope/edit").status)
	require.Equal(t, http.StatusNotFound, b.get("/queues/email/jobs/meta/edit").status)
}

func TestEditOfAnActiveJobIsRefused(t *testing.T) {
	b := newBench(t)
	id := b.add(1, engine.JobOptions{})[0]
	require.NoError(t, b.client.LMove(t.Context(), b.queue.Wait(), b.queue.Active(), "RIGHT", "LEFT").Err())
	b.recountAll()
	a := b.call("/api/v1/queues/email/jobs/"+id+"/edit", `{"data":{"n":1}}`)
	require.Equal(t, http.StatusConflict, a.status, a.body)
	has(t, a.body, "is active; only")
}

func TestEditByProgram(t *testing.T) {
	b := newBench(t, secrets)
	id := b.ended(b.queue, keys.Failed, 1, "send", "boom", secretData)[0]
	path := "/api/v1/queues/email/jobs/" + id + "/edit"
	q := b.call(path, `{}`)
	require.Equal(t, http.StatusUnprocessableEntity, q.status)
	has(t, q.body, `"password": "masked 1"`)
	hasNot(t, q.body, "hunter2")
	array := b.call(path, `{"data":["a","b"]}`)
	require.Equal(t, http.StatusOK, array.status, array.body)
	job, err := b.queue.Job(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, `["a","b"]`, string(job.Data))
	wrong := b.call(path, `{"data":"{nope"}`)
	require.Equal(t, http.StatusUnprocessableEntity, wrong.status)
	has(t, wrong.body, `"field": "data"`)
	again := b.ended(b.queue, keys.Failed, 1, "send", "boom", secretData)[0]
	ambiguous := b.call("/api/v1/queues/email/jobs/"+again+"/edit", `{"data":{"token":"masked"}}`)
	require.Equal(t, http.StatusUnprocessableEntity, ambiguous.status)
	has(t, ambiguous.body, "not clear which value is meant")
	ok := b.call("/api/v1/queues/email/jobs/"+again+"/edit", `{"data":{"password":"masked","n":2},"retry":true}`)
	require.Equal(t, http.StatusOK, ok.status, ok.body)
	job, err = b.queue.Job(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, `{"password":"hunter2","n":2}`, string(job.Data))
	require.EqualValues(t, 1, b.count(keys.Waiting))
}

func TestDuplicate(t *testing.T) {
	b := newBench(t, secrets)
	raw := `{"password":"hunter2", "n":1.10}`
	src, err := b.queue.Add(t.Context(), "send", json.RawMessage(raw), engine.JobOptions{
		Attempts: 4, Backoff: &engine.Backoff{Type: "fixed", Delay: time.Second}, Deduplication: &engine.Deduplication{ID: "d"}, Delay: time.Hour,
		Extra: map[string]json.RawMessage{"custom": json.RawMessage(`{"x":1}`)},
	})
	require.NoError(t, err)
	b.recountAll()
	path := "/queues/email/jobs/" + src.ID + "/duplicate"
	page := b.get(path).body
	hasNot(t, page, "hunter2")
	has(t, page, `name="name" value="send"`)
	has(t, page, `name="attempts" value="4"`)
	a := b.post(path, url.Values{"confirm": {"yes"}, "name": {"again"}, "data": {textarea(t, page)}, "attempts": {"2"}, "priority": {"7"}, "delay": {""}, "id": {"copy"}})
	require.Equal(t, http.StatusSeeOther, a.status, a.body)
	require.Equal(t, "/queues/email/jobs/copy", a.header.Get("Location"))
	j, err := b.queue.Job(t.Context(), "copy")
	require.NoError(t, err)
	require.Equal(t, raw, string(j.Data), "byte for byte, with what is masked")
	require.Equal(t, "again", j.Name)
	require.Equal(t, 2, j.Opts.Attempts)
	require.EqualValues(t, 7, j.Priority)
	require.Equal(t, "fixed", j.Opts.Backoff.Type)
	require.Zero(t, j.Delay)
	require.Empty(t, j.DeduplicationID)
	require.Equal(t, `{"x":1}`, string(j.Opts.Extra["custom"]))

	twice := b.post(path, url.Values{"confirm": {"yes"}, "name": {"again"}, "data": {raw}, "id": {"copy"}})
	require.Equal(t, http.StatusUnprocessableEntity, twice.status)
	has(t, twice.body, "There is a job with this id already.")
	wrong := b.post(path, url.Values{"confirm": {"yes"}, "name": {""}, "data": {`{"a":"masked 1"}`}, "attempts": {"x"}})
	for _, want := range []string{"A job needs a name.", "A whole number from 1", "can only stay there"} {
		has(t, wrong.body, want)
	}
	byProgram := b.call("/api/v1"+path, `{}`)
	require.Equal(t, http.StatusOK, byProgram.status, byProgram.body)
	has(t, byProgram.body, `"jobId": "`)
	require.EqualValues(t, 1, b.count(keys.Waiting))
}

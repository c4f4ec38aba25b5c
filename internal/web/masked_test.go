package web

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"bullpen/internal/engine"

	"github.com/stretchr/testify/require"
)

// TestLongFieldsAreMaskedBeforeTheyAreCut: a part of a text cannot be masked.
func TestLongFieldsAreMaskedBeforeTheyAreCut(t *testing.T) {
	b := newBench(t, secrets)
	id := b.add(1, engine.JobOptions{})[0]
	long := strings.Repeat("x", 400)
	require.NoError(t, b.client.HSet(t.Context(), b.queue.Queue.Job(id),
		"opts", `{"token":"s3cret","more":"`+long+`"}`,
		"note", "token=s3cret "+long,
		"huge", `{"token":"s3cret","more":"`+strings.Repeat("x", peekLimit)+`"}`,
		"failedReason", "token expired",
	).Err())
	page := b.get("/queues/email/jobs/" + id).body
	hasNot(t, page, "s3cret")
	has(t, page, "&#34;masked&#34;")
	has(t, page, "token expired", "an error is shown as it is")
}

func TestLogRowsAreMaskedBeforeTheyAreCut(t *testing.T) {
	b := newBench(t, secrets)
	id := b.add(1, engine.JobOptions{})[0]
	require.NoError(t, b.client.RPush(t.Context(), b.queue.Queue.Logs(id),
		`{"token":"s3cret","more":"`+strings.Repeat("x", logWidth)+`"}`,
		`answered {"token":"s3cret"}`,
		"nothing to hide",
	).Err())
	for _, path := range []string{"/queues/email/jobs/" + id, "/api/v1/queues/email/jobs/" + id + "/logs"} {
		page := b.get(path).body
		hasNot(t, page, "s3cret", path)
		has(t, page, "nothing to hide", path)
	}
}

// TestLogsAreSearchedAsTheyAreShown: a filter over what is hidden tells it letter by letter.
func TestLogsAreSearchedAsTheyAreShown(t *testing.T) {
	b := newBench(t, secrets)
	id := b.add(1, engine.JobOptions{})[0]
	require.NoError(t, b.client.RPush(t.Context(), b.queue.Queue.Logs(id), `{"token":"s3cret","user":"ada"}`).Err())
	search := func(text string) string {
		return b.get("/queues/email/jobs/" + id + "?log=" + url.QueryEscape(text)).body
	}
	has(t, search("s3"), "None of the newest 1 rows has this text.")
	has(t, search("ADA"), "1 of 1")
}

// TestLongLogsAreReadInPart: what is read of them is bounded, and a row of which only a part was read is hidden when it
// mentions a masked name.
func TestLongLogsAreReadInPart(t *testing.T) {
	b := newBench(t, secrets)
	id := b.add(1, engine.JobOptions{})[0]
	long := strings.Repeat("x", 1<<20)
	logs := b.queue.Queue.Logs(id)
	for i := range 8 {
		require.NoError(t, b.client.RPush(t.Context(), logs, fmt.Sprintf("row-%d ", i)+long).Err())
	}
	require.NoError(t, b.client.RPush(t.Context(), logs, `{"token":"s3cret","more":"`+long+`"}`).Err())
	path := "/queues/email/jobs/" + id
	page := b.get(path).body
	hasNot(t, page, "s3cret")
	has(t, page, "… (1")
	has(t, page, "4 of 9\u00a0rows: the newest 4 fill the")
	hasNot(t, page, "row-4 ")
	api := b.get("/api/v1" + path + "/logs?size=5").body
	hasNot(t, api, "s3cret")
	has(t, api, `"leftOut": 1`)
	has(t, b.get("/api/v1"+path+"/logs?size=1&page=5").body, "row-4 ", "a smaller page reaches it")
}

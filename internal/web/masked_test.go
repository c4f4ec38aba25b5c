package web

import (
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

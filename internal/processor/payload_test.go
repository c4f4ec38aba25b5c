package processor

import (
	"encoding/json"
	"testing"
	"time"

	"bullpen/internal/engine"

	"github.com/stretchr/testify/require"
)

func TestPayloadIsTheJobAsStored(t *testing.T) {
	j := &engine.Job{
		ID: "é<1>", Name: `say "hi" & <go>`,
		Data:    json.RawMessage("{ \"n\": 12345678901234567890, \"f\": 1.10,\n \"a\":1, \"a\":2, \"u\":\"\\u00e9<&>\" }"),
		RawOpts: json.RawMessage(`{"attempts":3,"mine":{"x": 1e400},"kl":10,"tm":"{\"traceparent\":\"t\"}","omc":true,"de":{"id":"d"},"fpof":true}`),
		Opts:    engine.JobOptions{Attempts: 3}, AttemptsMade: 1, AttemptsStarted: 4,
		Timestamp: time.UnixMilli(1764500000123), Priority: 7,
		Progress: json.RawMessage(`{"step": 2}`), Parent: json.RawMessage(`{"id":"9","queueKey":"bull:flows"}`),
	}
	require.Equal(t, `{"queue":"hooks","id":"é<1>","name":"say \"hi\" & <go>","data":`+string(j.Data)+
		`,"opts":{"attempts":3,"mine":{"x": 1e400},"keepLogs":10,"deduplication":{"id":"d"},"failParentOnFailure":true,`+
		`"telemetry":{"metadata":"{\"traceparent\":\"t\"}","omitContext":true}}`+
		`,"attempt":2,"attempts":3,"attemptsStarted":4,"timestamp":1764500000123,"priority":7,"progress":{"step": 2}`+
		`,"parent":{"id":"9","queueKey":"bull:flows"}}`, string(payload(hooks, j)))
}

func TestPayloadOfABareJob(t *testing.T) {
	j := &engine.Job{ID: "1", Data: json.RawMessage(`{}`), Timestamp: time.UnixMilli(5), Progress: json.RawMessage("half")}
	require.Equal(t, `{"queue":"hooks","id":"1","name":"","data":{},"opts":{},"attempt":1,"attempts":1,`+
		`"attemptsStarted":0,"timestamp":5,"priority":0,"progress":0,"parent":null}`, string(payload(hooks, j)))
}

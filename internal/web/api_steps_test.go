package web

import (
	"encoding/json"
	"testing"
	"time"

	"bullpen/internal/engine"

	"github.com/stretchr/testify/require"
)

// TestStepsOfAJob tells a program what the job's page tells a reader.
func TestStepsOfAJob(t *testing.T) {
	b := newBench(t)
	// kinds are those of the steps of a job, after checking what every one has.
	kinds := func(id string) (out []string, told stepsJSON) {
		require.NoError(t, json.Unmarshal([]byte(b.get("/api/v1/queues/email/jobs/"+id+"/steps").body), &told))
		for i, x := range told.Steps {
			out = append(out, x.Kind)
			require.False(t, x.At.IsZero())
			if x.Until != nil {
				require.Equal(t, told.Steps[i+1].At, *x.Until, "one begins where the one before ends")
			}
		}
		return out, told
	}
	id := b.fail(1)[0]
	found, told := kinds(id)
	require.Equal(t, []string{"added", "waiting", "attempt", "failed"}, found)
	require.True(t, told.Whole)
	require.NotNil(t, told.Since)
	require.Equal(t, 1, told.Steps[2].Attempt)
	require.Equal(t, "no such <b>host</b>", told.Steps[3].Note)

	found, _ = kinds(b.add(1, engine.JobOptions{Delay: time.Minute})[0])
	require.Equal(t, []string{"added", "delayed"}, found)

	// Without events the record tells.
	require.NoError(t, b.client.Del(t.Context(), b.queue.Key("events")).Err())
	found, told = kinds(id)
	require.Equal(t, []string{"added", "attempt", "failed"}, found)
	require.Nil(t, told.Since)
	require.Equal(t, 404, b.get("/api/v1/queues/email/jobs/none/steps").status)
}

package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSampleMemory(t *testing.T) {
	q := newQueue(t)
	empty, err := q.SampleMemory(t.Context())
	require.NoError(t, err)
	require.Zero(t, empty.Jobs)
	require.Zero(t, empty.Measured)
	body := json.RawMessage(`"` + strings.Repeat("x", 10_000) + `"`)
	specs := make([]JobSpec, 100)
	for i := range specs {
		specs[i] = JobSpec{Name: "big", Data: body}
	}
	specs[99] = JobSpec{Name: "small", Data: json.RawMessage(`1`), Options: JobOptions{Delay: time.Hour}}
	_, err = q.AddBulk(t.Context(), specs)
	require.NoError(t, err)
	m, err := q.SampleMemory(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(100), m.Jobs)
	require.Equal(t, int64(21), m.Measured, "20 waiting ones and the delayed one")
	require.Greater(t, m.Largest, int64(10_000))
	require.InDelta(t, 99*11_500, m.Total, 300_000)
}

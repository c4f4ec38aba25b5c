package monitor

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// usedMemory is one point a minute up to noon, oldest first.
func usedMemory(minutes int, used func(i int) int64) []MemoryPoint {
	points := make([]MemoryPoint, minutes+1)
	for i := range points {
		points[i] = MemoryPoint{noon.Add(time.Duration(i-minutes) * time.Minute), used(i)}
	}
	return points
}

func TestForecast(t *testing.T) {
	t.Parallel()
	const mb = 1_000_000
	rising := func(i int) int64 { return 1000*mb + int64(i)*12*mb }
	tests := []struct {
		name          string
		points        []MemoryPoint
		limit, system int64
		text          string
	}{
		// 60 minutes at 12 MB use 1,720 MB; 200 minutes more are 2,400 MB.
		{"rises", usedMemory(60, rising), 4120 * mb, 0, "full in about 3_h 20_min at +12_MB/min"},
		{"ten minutes are enough", usedMemory(10, rising), 1240 * mb, 0, "full in about 10_min at +12_MB/min"},
		{"nine are not", usedMemory(9, rising), 1240 * mb, 0, "no trend"},
		{"two points are not", usedMemory(60, rising)[:2], 4120 * mb, 0, "no trend"},
		{"falls", usedMemory(60, func(i int) int64 { return 1000*mb - int64(i)*mb }), 4120 * mb, 0, "no trend"},
		{"level", usedMemory(60, func(int) int64 { return mb }), 4120 * mb, 0, "no trend"},
		{"saw-tooth does not fit", usedMemory(60, func(i int) int64 { return 1000*mb + int64(i%10)*12*mb + int64(i)*mb/10 }), 4120 * mb, 0, "no trend"},
		{"noise on a slope fits", usedMemory(60, func(i int) int64 { return rising(i) + int64(i%2)*5*mb }), 4120 * mb, 0, "full in about 3_h 20_min at +12_MB/min"},
		{"what is over an hour old does not count", append([]MemoryPoint{{noon.Add(-3 * time.Hour), 9000 * mb}}, usedMemory(60, rising)...), 4120 * mb, 0, "full in about 3_h 20_min at +12_MB/min"},
		{"against the machine", usedMemory(60, rising), 0, 4120 * mb, "full in about 3_h 20_min at +12_MB/min, against the machine's 3.8_GiB because maxmemory is not set"},
		{"nothing to measure against", usedMemory(60, rising), 0, 0, "no trend"},
		{"full", usedMemory(60, rising), 1000 * mb, 0, "full now"},
		{"in a thousand years", usedMemory(60, func(i int) int64 { return int64(i) }), 1 << 62, 0, "no trend"},
		{"nothing seen", nil, 4120 * mb, 0, "no trend"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := forecast(tt.points, tt.limit, tt.system, noon)
			require.Equal(t, tt.text, strings.ReplaceAll(got.Text, "\u00a0", "_"))
			require.Equal(t, tt.text != "no trend", got.Known)
		})
	}
}

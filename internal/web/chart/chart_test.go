package chart

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func values(ticks []Tick) (out []float64) {
	for _, t := range ticks {
		out = append(out, t.Value)
	}
	return out
}

func TestScalesHaveAtMostFiveRoundLines(t *testing.T) {
	for top, want := range map[float64][]float64{
		0:    {0, 1},
		3:    {0, 1, 2, 3},
		7:    {0, 2, 4, 6, 8},
		3000: {0, 1000, 2000, 3000},
		4100: {0, 2000, 4000, 6000},
	} {
		require.Equal(t, want, values(Linear(top).Ticks), "top %v", top)
	}
	require.Equal(t, []float64{0.01, 0.1, 1, 10, 100}, values(Log(0.02, 80).Ticks))
	require.LessOrEqual(t, len(Log(1e-6, 1e6).Ticks), 5)
	require.Equal(t, []float64{1, 10}, values(Log(1, 1).Ticks))
}

func TestLogPositions(t *testing.T) {
	s := Log(0.01, 100)
	require.InDelta(t, 50, s.Y(1), 1e-9)
	require.InDelta(t, 100, s.Y(0), 1e-9)
	require.InDelta(t, 0, s.Y(1e9), 1e-9)
}

func TestBarsStack(t *testing.T) {
	got := Linear(4).Bars([]float64{1, 0}, []float64{1, 4})
	require.Equal(t, []string{"M0.11 100v-25h0.78v25z", "M0.11 75v-25h0.78v25zM1.11 100v-100h0.78v100z"}, got)
}

func TestLinesLeaveGaps(t *testing.T) {
	s := Linear(4)
	require.Equal(t, "M0 75 1 50M3 0", s.Line([]float64{1, 2, 0, 4}))
	require.Equal(t, "", s.Line([]float64{0, math.NaN()}))
	require.Equal(t, "M0 50 1 50L1 75 0 75z", s.Band([]float64{1, 1, 0}, []float64{2, 2, 3}))
}

func TestSpark(t *testing.T) {
	good, bad := Spark([]int64{10, 0, 1}, []int64{0, 20, 0})
	require.Equal(t, "M0 21v-10h3v10zM8 21v-1h3v1z", good)
	require.Equal(t, "M4 21v-20h3v20z", bad)
	good, bad = Spark([]int64{0}, []int64{0})
	require.Empty(t, good+bad)
}

func TestArea(t *testing.T) {
	line, area := Area([]float64{0, 4}, 80, 20)
	require.Equal(t, "M0 20 80 2", line)
	require.Equal(t, "M0 20 80 2L80 20 0 20z", area)
	line, _ = Area([]float64{1}, 80, 20)
	require.Empty(t, line)
}

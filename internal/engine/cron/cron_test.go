package cron

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBounds(t *testing.T) {
	s, err := Parse("0 0 * * *", "")
	require.NoError(t, err)
	from := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

	_, ok := s.Next(from, time.UTC, Bounds{End: from.Add(11 * time.Hour)})
	require.False(t, ok, "the next run lies after the end")

	next, ok := s.Next(from, time.UTC, Bounds{End: from.Add(12 * time.Hour)})
	require.True(t, ok, "the end is included")
	require.Equal(t, from.Add(12*time.Hour), next)
}

func TestNextIsStrictlyAfter(t *testing.T) {
	s, err := Parse("* * * * * *", "")
	require.NoError(t, err)
	from := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	next, ok := s.Next(from, time.UTC, Bounds{})
	require.True(t, ok)
	require.Equal(t, from.Add(time.Second), next)
}

func TestErrorsNameTheField(t *testing.T) {
	for pattern, want := range map[string]string{
		"61 * * * *":              `minute "61": 61 is outside 0-59`,
		"* * * 13 *":              `month "13": 13 is outside 1-12`,
		"0 0 * * 0,7":             `day of week "0,7": 0 is given twice`,
		"0 0 30 2 *":              "month 2 never has a day 30",
		"* * * * * * *":           "has 7 fields, at most 6 are possible",
		"@midnight":               `"@midnight" is not a known alias`,
		strings.Repeat("1,", 600): "longer than 1024 bytes",
	} {
		_, err := Parse(pattern, "")
		require.ErrorIs(t, err, ErrPattern)
		require.ErrorContains(t, err, want)
	}
}

func TestZone(t *testing.T) {
	for _, good := range []string{"", "UTC", "utc", "UTC+2", "UTC-03:30", "Europe/Madrid", "EST"} {
		_, err := Zone(good)
		require.NoError(t, err, good)
	}
	for _, bad := range []string{"Mars/Base", "../etc/passwd", "UTC+99", "local"} {
		_, err := Zone(bad)
		require.ErrorContains(t, err, "unknown time zone", bad)
	}
}

func TestUnseededHashIsDrawnAnew(t *testing.T) {
	seen := map[set]bool{}
	for range 50 {
		s, err := Parse("H * * * *", "")
		require.NoError(t, err)
		seen[s.minute] = true
	}
	require.Greater(t, len(seen), 1)
}

func FuzzParse(f *testing.F) {
	for _, p := range append(patterns, hashed...) {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		s, err := Parse(pattern, "x")
		if err != nil {
			require.ErrorIs(t, err, ErrPattern)
			return
		}
		from := time.Date(2026, 3, 8, 6, 30, 0, 0, time.UTC)
		if next, ok := s.Next(from, time.UTC, Bounds{}); ok {
			require.True(t, next.After(from))
		}
	})
}

package web

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpans(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "1500": 1500 * time.Millisecond, "500ms": 500 * time.Millisecond, "30s": 30 * time.Second, "30 s": 30 * time.Second,
		"10min": 10 * time.Minute, "10 mins": 10 * time.Minute, "1h30m": 90 * time.Minute, "12h": 12 * time.Hour, "7d": 168 * time.Hour,
		"1.5d": 36 * time.Hour, "1d12h": 36 * time.Hour, "2 days": 48 * time.Hour,
	} {
		got, err := parseSpan(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"soon", "-5", "-5s", "1x", "d", "99999999999999999999", "1e9d", "NaNd", "5000000h", "1h-2h"} {
		_, err := parseSpan(text)
		require.Error(t, err, text)
	}
}

package words_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"bullpen/internal/words"
)

// plain makes no-break spaces visible as "_", so that a test cannot mistake one for a space.
func plain(s string) string { return strings.ReplaceAll(s, "\u00a0", "_") }

func TestCount(t *testing.T) {
	t.Parallel()
	for in, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 3204: "3,204", 139720: "139,720", 1234567: "1,234,567", -4200: "-4,200",
		math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := words.Count(in); got != want {
			t.Errorf("Count(%d) = %q, want %q", in, got, want)
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in                       time.Duration
		duration, roughly, exact string
	}{
		{0, "0_s", "0_s", "0_s"},
		{210 * time.Microsecond, "<_1_s", "<_1_s", "0.21_ms"},
		{318 * time.Millisecond, "<_1_s", "<_1_s", "318_ms"},
		{999700 * time.Microsecond, "<_1_s", "<_1_s", "1.0_s"},
		{9800 * time.Millisecond, "9_s", "9_s", "9.8_s"},
		{38 * time.Second, "38_s", "38_s", "38_s"},
		{time.Minute, "1_min", "1_min", "1_min"},
		{14*time.Minute + 7*time.Second, "14_min 07_s", "14_min", "14_min 07_s"},
		{22*time.Minute + 41*time.Second, "22_min 41_s", "22_min", "22_min 41_s"},
		{2*time.Hour + 5*time.Minute + 9*time.Second, "2_h 05_min", "2_h 05_min", "2_h 05_min"},
		{27 * time.Hour, "1_d 03_h", "27_h", "1_d 03_h"},
		{41*24*time.Hour + 2*time.Hour, "41_d 02_h", "41_days", "41_d 02_h"},
		{-90 * time.Second, "-1_min 30_s", "-1_min", "-1_min 30_s"},
	}
	for _, tt := range tests {
		if got := plain(words.Duration(tt.in)); got != tt.duration {
			t.Errorf("Duration(%v) = %q, want %q", tt.in, got, tt.duration)
		}
		if got := plain(words.Roughly(tt.in)); got != tt.roughly {
			t.Errorf("Roughly(%v) = %q, want %q", tt.in, got, tt.roughly)
		}
		if got := plain(words.Exact(tt.in)); got != tt.exact {
			t.Errorf("Exact(%v) = %q, want %q", tt.in, got, tt.exact)
		}
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	tests := []struct{ got, want string }{
		{words.PerMinute(4.4), "264/min"},
		{words.PerMinute(7380.0 / 60), "7,380/min"},
		{words.PerMinute(0), "0/min"},
		{words.PerMinute(1.5 / 60), "1.5/min"},
		{words.PerMinute(-4.4), "-264/min"},
		{words.PerSecond(54.4), "54.4/s"},
		{words.PerSecond(0.346), "0.35/s"},
		{words.PerSecond(8420), "8,420/s"},
		{words.Rate(4180), "4,180/s"},
		{words.Rate(19.0 / 60), "19/min"},
		{words.Rate(math.NaN()), "–/min"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	tests := []struct{ got, want string }{
		{words.Bytes(0), "0_B"},
		{words.Bytes(960), "960_B"},
		{words.Bytes(2100), "2.1_KB"},
		{words.Bytes(96_400), "96_KB"},
		{words.Bytes(999_700), "1.0_MB"},
		{words.Bytes(30_000_000), "30_MB"},
		{words.Bytes(-12_000_000), "-12_MB"},
		{words.Memory(6_549_825_126), "6.1_GiB"},
		{words.Memory(8 << 30), "8.0_GiB"},
		{words.Memory(1023), "1,023_B"},
	}
	for _, tt := range tests {
		if got := plain(tt.got); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestPercentPluralNumber(t *testing.T) {
	t.Parallel()
	tests := []struct{ got, want string }{
		{words.Percent(0.38), "38_%"},
		{words.Percent(0.041), "4.1_%"},
		{words.Percent(0.133), "13_%"},
		{words.Percent(0.0996), "10_%"},
		{words.Percent(0.004), "0.4_%"},
		{words.Percent(0.0001), "0_%"},
		{words.Percent(0), "0_%"},
		{words.Percent(math.NaN()), "–"},
		{words.Plural(1, "job", "jobs"), "1_job"},
		{words.Plural(0, "job", "jobs"), "0_jobs"},
		{words.Plural(1420, "job", "jobs"), "1,420_jobs"},
		{words.Number(-0.001), "0.00"},
		{words.Number(99.97), "100"},
		{words.Number(17.3), "17.3"},
		{words.Number(math.Inf(1)), "–"},
	}
	for _, tt := range tests {
		if got := plain(tt.got); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

package cron

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPatternInWords(t *testing.T) {
	for pattern, want := range map[string]string{
		"30 9 * * 1-5":          "every weekday at 09:30",
		"30 9 * * MON-FRI":      "every weekday at 09:30",
		"0 30 9 * * 1-5":        "every weekday at 09:30",
		"15 30 9 * * *":         "every day at 09:30:15",
		"@daily":                "every day at 00:00",
		"@weekly":               "every Sunday at 00:00",
		"@weekends":             "every Saturday and Sunday at 00:00",
		"@yearly":               "every year on 1 January at 00:00",
		"@monthly":              "on the 1st of every month at 00:00",
		"0 9,17 * * *":          "every day at 09:00 and 17:00",
		"0 6 * * 1,3,0":         "every Monday, Wednesday and Sunday at 06:00",
		"0 0 L * *":             "on the last day of every month at 00:00",
		"0 0 1,15 * *":          "on the 1st and 15th of every month at 00:00",
		"0 0 22 1,7 *":          "on the 22nd of January and July at 00:00",
		"0 8 * 12 *":            "every day in December at 08:00",
		"0 8 * 12 5":            "every Friday in December at 08:00",
		"0 8 * * 5L":            "on the last Friday of every month at 08:00",
		"0 8 * * 5#3":           "on the third Friday of every month at 08:00",
		"0 8 * 6 1#2":           "on the second Monday of June at 08:00",
		"* * * * *":             "every minute",
		"*/5 * * * *":           "every 5 minutes",
		"0/20 * * * *":          "every 20 minutes",
		"*/5 9-17 * * *":        "every 5 minutes from 09:00 to 17:59",
		"*/5 9-17 * * 1-5":      "every 5 minutes from 09:00 to 17:59 on weekdays",
		"* 3 * * 2":             "every minute from 03:00 to 03:59 on Tuesdays",
		"0 * * * *":             "every hour",
		"15 * * * *":            "every hour at minute 15",
		"0 */2 * * *":           "every 2 hours",
		"10 */6 * * *":          "every day at 00:10, 06:10, 12:10 and 18:10",
		"10 */4 * * 0,6":        "every 4 hours at minute 10 at weekends",
		"30 9-17 * * *":         "every hour from 09:30 to 17:30",
		"*/10 * * * * *":        "every 10 seconds",
		"* * * * * *":           "every second",
		"*/10 * 8 * * *":        "every 10 seconds from 08:00 to 08:59",
		"0 0 13 * 5":            "0 0 13 * 5", // the 13th or Friday
		"*/7 * * * *":           "*/7 * * * *",
		"1,2,3,5,8,13 * * * *":  "1,2,3,5,8,13 * * * *",
		"0 0 * * 1,3L":          "0 0 * * 1,3L",
		"0 1,2,3,5,8 * * *":     "0 1,2,3,5,8 * * *",
		"0 0 1-10 * *":          "0 0 1-10 * *",
		"0 0 * 1,2,3,4,5 *":     "0 0 * 1,2,3,4,5 *",
		"H H * * *":             "H H * * *",
		"0,H * * * *":           "0,H * * * *",
		"0 8 * * THU":           "every Thursday at 08:00",
		"not a pattern at all ": "not a pattern at all ",
	} {
		require.Equal(t, want, PatternInWords(pattern), "%q", pattern)
	}
}

func TestEveryInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Millisecond:        "every millisecond",
		1500 * time.Millisecond: "every 1500 milliseconds",
		time.Second:             "every second",
		90 * time.Second:        "every 90 seconds",
		5 * time.Minute:         "every 5 minutes",
		time.Hour:               "every hour",
		36 * time.Hour:          "every 36 hours",
		48 * time.Hour:          "every 2 days",
		14 * 24 * time.Hour:     "every 2 weeks",
		time.Microsecond:        "every 1µs",
	} {
		require.Equal(t, want, EveryInWords(d))
	}
}

// FuzzPatternInWords looks for patterns that make it panic or fall silent.
func FuzzPatternInWords(f *testing.F) {
	for _, pattern := range []string{"30 9 * * 1-5", "0 0 L * *", "* * * * 5#5", "H(0-5)/2 * * * *", ""} {
		f.Add(pattern)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if words := PatternInWords(pattern); words == "" && pattern != "" {
			t.Errorf("%q has no words", pattern)
		}
	})
}

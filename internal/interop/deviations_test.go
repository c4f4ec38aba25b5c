package interop

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// incomparable are the rows of docs/deviations.md that no scenario can show, and why.
var incomparable = map[string]string{
	"dead-letter":       "BullMQ has nothing like it",
	"drain-steps":       "the same is gone in the end",
	"codes-of-refusals": "inside the engine",
	"pause-for-5":       "the scenarios of lifecycle 12.1 compare this mode with BullMQ 5 itself",
}

// TestDeviations requires that the documents and the scenarios name the same deviations.
func TestDeviations(t *testing.T) {
	text, err := os.ReadFile("../../docs/deviations.md")
	require.NoError(t, err)
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = true
	}
	require.NotEmpty(t, documented)
	scenarios, err := loadScenarios()
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, sc := range scenarios {
		if sc.Deviates != "" {
			shown[sc.Deviates] = true
			require.True(t, documented[sc.Deviates], "%s/%s deviates by %q, which docs/deviations.md does not have", sc.Group, sc.Name, sc.Deviates)
			require.NotEmpty(t, sc.At, "%s/%s says not where it deviates", sc.Group, sc.Name)
		}
	}
	for name := range documented {
		require.True(t, shown[name] || incomparable[name] != "", "no scenario shows the deviation %q", name)
	}
	for name := range incomparable {
		require.True(t, documented[name] && !shown[name], "%q is shown, or not documented any more", name)
	}
}

package interop

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// incomparable are the rows of docs/deviations.md that no scenario can show as a difference, with the tests that prove
// them, by package: BullMQ has nothing like it, or the end is the same, or it is seen inside the engine only, or the
// scenarios of lifecycle 12.1 compare it with BullMQ 5.
var incomparable = map[string]string{
	"dead-letter":       "engine/scripts TestFinishDeadLetter; e2e TestDeadLetterAndFailureAreOne",
	"drain-steps":       "engine/scripts TestDrainThousands",
	"codes-of-refusals": "engine TestCodeErrors; engine TestObliterate",
	"pause-for-5":       "interop TestScenarios",
}

// TestDeviations requires that the documents and the scenarios name the same deviations, and each other.
func TestDeviations(t *testing.T) {
	text, err := os.ReadFile("../../docs/deviations.md")
	require.NoError(t, err)
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\|.*\\| ([^|]+) \\|$").FindAllStringSubmatch(string(text), -1) {
		require.NotContains(t, documented, row[1], "two rows of one name")
		documented[row[1]] = row[2]
	}
	scenarios, err := loadScenarios()
	require.NoError(t, err)
	shown := map[string][]string{}
	for _, sc := range scenarios {
		if sc.Deviates != "" {
			shown[sc.Deviates] = append(shown[sc.Deviates], sc.Group+" "+sc.Title)
			require.NotEmpty(t, sc.At, "%s/%s says not where it deviates", sc.Group, sc.Name)
		}
	}
	proofs := maps.Clone(incomparable)
	for name, titles := range shown {
		require.NotContains(t, incomparable, name, "there is a scenario")
		slices.Sort(titles)
		proofs[name] = strings.Join(slices.Compact(titles), "; ")
	}
	require.Equal(t, proofs, documented, "what proves the rows of docs/deviations.md")
}

// TestIncomparableIsProven requires that the tests exist which prove what no scenario shows.
func TestIncomparableIsProven(t *testing.T) {
	for name, tests := range incomparable {
		for test := range strings.SplitSeq(tests, "; ") {
			dir, function, _ := strings.Cut(test, " ")
			files, err := filepath.Glob("../" + dir + "/*_test.go")
			require.NoError(t, err)
			require.True(t, slices.ContainsFunc(files, func(file string) bool {
				source, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(source), "\nfunc "+function+"(")
			}), "%s: no %s in %s", name, function, dir)
		}
	}
}

package house

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeHasTheMap finds every room of the house in README.md.
func TestReadmeHasTheMap(t *testing.T) {
	t.Parallel()
	readme := read(t, "../../README.md")
	for name := range listed(t) {
		if room, ok := strings.CutPrefix(name, "internal/"); ok {
			room, _, _ = strings.Cut(room, "/")
			require.Contains(t, readme, "`internal/"+room+"`")
		}
	}
}

// TestReadmeSaysWhatIsInstalled compares it with the list in scripts/tools.
func TestReadmeSaysWhatIsInstalled(t *testing.T) {
	t.Parallel()
	_, list, _ := strings.Cut(read(t, "../../scripts/tools"), "need=(")
	list, _, _ = strings.Cut(list, ")")
	pairs := regexp.MustCompile(`\S+:(\S+)`).FindAllStringSubmatch(list, -1)
	require.NotEmpty(t, pairs)
	readme := read(t, "../../README.md")
	for _, pair := range pairs {
		require.Contains(t, readme, "`"+pair[1]+"`")
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(content)
}

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documented reads the rows of the tables in docs/configuration.md: first cell → second cell.
func documented(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	rows := map[string]string{}
	for line := range strings.Lines(string(content)) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "/"), " | ")
		name, ok := strings.CutPrefix(cells[0], "| `")
		if !ok {
			continue
		}
		name = strings.TrimSuffix(name, "`")
		require.NotContains(t, rows, name, "described twice")
		require.Len(t, cells, 4, "%s needs meaning and default", name)
		rows[name] = cells[1]
	}
	return rows
}

// TestReference compares the tables of the documentation with what the code accepts.
func TestReference(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for _, k := range Keys() {
		if strings.HasPrefix(k.Path, "defaults.") {
			continue // the same keys as a queue's policy
		}
		path := strings.TrimPrefix(k.Path, "queues.<name>.policy.")
		want[strings.TrimPrefix(path, "queues.<name>.worker.")] = k.Form
	}
	for _, s := range settings() {
		name := "-" + s.flag
		switch value := between(s.usage, "`"); {
		case s.flag == "store":
			name += " auto/child/memory"
		case value != "":
			name += " " + value
		}
		want[name] = "`" + s.env() + "`"
	}
	require.Equal(t, want, documented(t))
}

func between(s, quote string) string {
	_, after, _ := strings.Cut(s, quote)
	inner, _, _ := strings.Cut(after, quote)
	return inner
}

// TestDefaultsAndQueuesTakeTheSamePolicy keeps the documentation's single policy table honest.
func TestDefaultsAndQueuesTakeTheSamePolicy(t *testing.T) {
	t.Parallel()
	forms := map[string]string{}
	for _, k := range Keys() {
		forms[k.Path] = k.Form
	}
	for path, form := range forms {
		if field, ok := strings.CutPrefix(path, "defaults."); ok {
			require.Equal(t, form, forms["queues.<name>.policy."+field], path)
		}
	}
}

// TestEveryKeyHasAGoodSample proves that each key can be given: the good files together use all of them.
func TestEveryKeyHasAGoodSample(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, file := range samples(t, "good") {
		d := &decoder{env: lookup(directives(t, file, "env")), places: places{}}
		d.readFile(&Flags{given: map[string][]string{"config": {file}}}, &fileKeys{Config: Default()})
		require.Empty(t, d.problems)
		for path := range d.places {
			used[generic(path)] = true
		}
	}
	for _, k := range Keys() {
		if !strings.HasPrefix(k.Path, "defaults.") {
			require.True(t, used[k.Path], "no file in %s uses %s", filepath.Join("testdata", "good"), k.Path)
		}
	}
}

// generic puts <name> and [] in the place of names and positions.
func generic(path string) string {
	path = strings.NewReplacer("[0]", "[]", "[1]", "[]").Replace(path)
	if rest, ok := strings.CutPrefix(path, "auth.oidc.role_map."); ok {
		if _, below, nested := strings.Cut(rest, "."); nested {
			return "auth.oidc.role_map.<name>." + below
		}
		return "auth.oidc.role_map.<name>"
	}
	if rest, ok := strings.CutPrefix(path, "queues."); ok {
		for _, part := range []string{"policy", "worker"} {
			if _, after, found := strings.Cut(rest, "."+part+"."); found {
				return "queues.<name>." + part + "." + after
			}
		}
	}
	return path
}

package scripts

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"verb.lua":       {Data: []byte("-- head\n-- include: b\n-- include: a\nverb\n")},
		"includes/a.lua": {Data: []byte("a\n")},
		"includes/b.lua": {Data: []byte("-- include: a\nb\n")},
		"broken.lua":     {Data: []byte("-- include: a\n-- include: nothing\n")},
	}
	text, err := expand(files, "verb.lua")
	require.NoError(t, err)
	require.Equal(t, "-- head\na\nb\nverb\n", text, "each file once, before what needs it")
	_, err = expand(files, "broken.lua")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "broken.lua")
}

func TestEveryScriptIsDocumented(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(files, "*.lua")
	require.NoError(t, err)
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		head, _, _ := strings.Cut(string(raw), "\n\n")
		for _, part := range []string{"\n-- KEYS[1]  ", "\n-- ARGV ", "\n-- Reply "} {
			require.Contains(t, head, part, name)
		}
	}
}

func TestEveryIncludeIsUsed(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, s := range library() {
		all.WriteString(s.text)
	}
	names, err := fs.Glob(files, "includes/*.lua")
	require.NoError(t, err)
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		own := includeLine.ReplaceAllString(string(raw), "")
		require.Contains(t, all.String(), strings.TrimSpace(own), name)
	}
}

// known are the globals that every server gives a script.
var known = strings.Fields("redis KEYS ARGV cjson string math table tonumber tostring type ipairs pairs next pcall error unpack")

// A misspelt name is a global, and Redis complains only when the line runs.
func TestScriptsUseNoOtherGlobals(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(library())) {
		chunk, err := parse.Parse(strings.NewReader(library()[name].text), name)
		require.NoError(t, err)
		proto, err := lua.Compile(chunk, name)
		require.NoError(t, err)
		checkGlobals(t, name, proto)
	}
}

func checkGlobals(t *testing.T, name string, p *lua.FunctionProto) {
	t.Helper()
	for _, instruction := range p.Code {
		constant := func() string { return p.Constants[instruction&0x3ffff].String() }
		switch int(instruction >> 26) {
		case lua.OP_SETGLOBAL:
			t.Errorf("%s sets the global %s", name, constant())
		case lua.OP_GETGLOBAL:
			if !slices.Contains(known, constant()) {
				t.Errorf("%s reads the global %s", name, constant())
			}
		}
	}
	for _, inner := range p.FunctionPrototypes {
		checkGlobals(t, name, inner)
	}
}

func TestAddChunk(t *testing.T) {
	t.Parallel()
	jobs := func(n, size int) []NewJob {
		return slices.Repeat([]NewJob{{Data: strings.Repeat("x", size)}}, n)
	}
	require.Equal(t, 3, addChunk(jobs(3, 10)))
	require.Equal(t, addMaxJobs, addChunk(jobs(addMaxJobs+1, 10)))
	require.Equal(t, 4, addChunk(jobs(9, 1<<20)), "4 MiB")
	require.Equal(t, 1, addChunk(jobs(2, 9<<20)), "always one at least")
}

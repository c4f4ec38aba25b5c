package main

import (
	"debug/buildinfo"
	"fmt"
	"net/http"
	"runtime/debug"
	"testing"

	"bullpen/internal/testbullpen"

	"github.com/stretchr/testify/require"
)

func TestRevision(t *testing.T) {
	t.Parallel()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	require.Equal(t, commit, revisionOf(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}}}))
	require.Empty(t, revisionOf(&debug.BuildInfo{}))
}

// TestRevisionIsExported finds the commit of the program's build in its metrics. A build without version control has none.
func TestRevisionIsExported(t *testing.T) {
	t.Parallel()
	info, err := buildinfo.ReadFile(binary)
	require.NoError(t, err)
	p := start(t, testbullpen.Environ(t), "-store", "memory")
	p.awaitReady(http.StatusOK)
	_, body := p.Get("metrics")
	require.Contains(t, body, fmt.Sprintf("revision=%q", revisionOf(info)))
	p.terminate()
}

package audit_test

import (
	"strings"
	"testing"

	"bullpen/internal/audit"
	"bullpen/internal/engine/keys"

	"github.com/stretchr/testify/require"
)

// TestQueuesOfAnEntryAreBounded: readers judge by the queues, so that without all of them nothing is said about them.
func TestQueuesOfAnEntryAreBounded(t *testing.T) {
	c := srv.Client(t)
	require.NoError(t, c.Del(t.Context(), keys.Audit).Err())
	l, err := audit.New(audit.Options{Client: c})
	require.NoError(t, err)
	l.Record(t.Context(), audit.Entry{Outcome: audit.Done, Queues: strings.Split(strings.Repeat("bull:a ", 1500), " "), Message: "of payroll"})
	p, err := l.Read(t.Context(), audit.Query{Limit: 1})
	require.NoError(t, err)
	require.Len(t, p.Entries[0].Queues, 1000)
	require.NotContains(t, p.Entries[0].Message, "payroll")
}

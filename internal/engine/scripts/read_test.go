package scripts_test

import (
	"fmt"
	"strings"
	"testing"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

// everywhere writes one or more jobs of each state and returns the keys, which no read may change.
func everywhere(s *space) keyspace {
	s.job("w1", "w2", "l1", "act", "d", "p", "c", "f", "wc", "none")
	s.seed("RPUSH q:wait w2 w1", "RPUSH q:paused l1", "LPUSH q:active act", "ZADD q:delayed 4096 d", "ZADD q:prioritized 7 p",
		"ZADD q:completed 1 c", "ZADD q:failed 2 f", "ZADD q:waiting-children 3 wc", "HSET q:c returnvalue 5", "HSET q:f failedReason boom")
	return s.dump()
}

func TestStates(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	before := everywhere(s)
	states, err := s.run.States(t.Context(), s.q, []string{"w1", "l1", "act", "d", "p", "c", "f", "wc", "none", "nobody"})
	require.NoError(t, err)
	require.Equal(t, []keys.State{
		keys.Waiting, keys.Waiting, keys.Active, keys.Delayed, keys.Prioritized, keys.Completed, keys.Failed, keys.WaitingChildren,
		keys.Unknown, keys.Unknown,
	}, states)
	s.want(before)
}

func TestFinished(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	before := everywhere(s)
	for id, want := range map[string]struct {
		state  keys.State
		result string
		code   scripts.Code
	}{
		"c": {keys.Completed, "5", 0}, "f": {keys.Failed, "boom", 0}, "w1": {keys.Unknown, "", 0}, "nobody": {keys.Unknown, "", scripts.JobMissing},
	} {
		state, result, code, err := s.run.Finished(t.Context(), s.q, id)
		require.NoError(t, err)
		require.Equal(t, want.code, code, id)
		require.Equal(t, want.state, state, id)
		require.Equal(t, want.result, result, id)
	}
	s.want(before)
}

func TestCounts(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	before := everywhere(s)
	counts, err := s.run.Counts(t.Context(), s.q)
	require.NoError(t, err)
	require.Equal(t, map[keys.State]int64{
		keys.Waiting: 3, keys.Prioritized: 1, keys.Active: 1, keys.Delayed: 1, keys.WaitingChildren: 1, keys.Completed: 1, keys.Failed: 1,
	}, counts)
	s.want(before)
}

func TestRowsOrderAndRanges(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.seed("RPUSH q:wait w4 w3 w2 w1", "RPUSH q:paused l2 l1", "RPUSH q:active a2 a1", "ZADD q:completed 1 c1 2 c2 3 c3", "ZADD q:delayed 1 d1 2 d2")
	before := s.dump()
	tests := []struct {
		state      keys.State
		start, end int64
		asc        bool
		want       string
		total      int64
	}{
		{keys.Waiting, 0, -1, true, "l1 l2 w1 w2 w3 w4", 6},
		{keys.Waiting, 0, -1, false, "w4 w3 w2 w1 l2 l1", 6},
		{keys.Waiting, 1, 2, true, "l2 w1", 6},
		{keys.Waiting, 3, 4, false, "w1 l2", 6},
		{keys.Waiting, 4, 99, true, "w3 w4", 6},
		{keys.Waiting, 6, 9, true, "", 6},
		{keys.Active, 0, 0, true, "a1", 2},
		{keys.Active, 0, -1, false, "a2 a1", 2},
		{keys.Completed, 0, 1, false, "c3 c2", 3},
		{keys.Completed, 0, -1, true, "c1 c2 c3", 3},
		{keys.Delayed, 1, 5, true, "d2", 2},
		{keys.Failed, 0, -1, true, "", 0},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.state, test.start, test.end, test.asc), func(t *testing.T) {
			rows, total, err := s.run.Rows(t.Context(), s.q, test.state, test.start, test.end, test.asc)
			require.NoError(t, err)
			var ids []string
			for _, r := range rows {
				ids = append(ids, r.ID)
				require.True(t, r.Missing)
			}
			require.Equal(t, test.want, strings.Join(ids, " "))
			require.Equal(t, test.total, total)
		})
	}
	s.want(before)
}

func TestRowContent(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	long := strings.Repeat("x", 500)
	s.active("a", "b")
	s.seed(`HSET q:a data {"some":"data"} opts {"attempts":1e1} timestamp 1.5e3 delay 20 processedOn 30 finishedOn 40 priority 5 atm 6 ats 7 stc 8 pb w`,
		"HSET q:a defa why parentKey P:q:p failedReason "+long,
		`HSET q:b stalledCounter 3 attemptsMade 9 atm 1 opts {"attempts":3,"pad":"`+strings.Repeat("p", 17_000)+`"}`,
		"DEL q:b:lock", "SET q:bad x")
	before := s.dump()
	rows, _, err := s.run.Rows(t.Context(), s.q, keys.Active, 0, -1, true)
	require.NoError(t, err)
	require.Equal(t, scripts.Row{
		ID: "a", Name: "n", Timestamp: 1500, Delay: 20, ProcessedOn: 30, FinishedOn: 40, Priority: 5, AttemptsMade: 6, AttemptsStarted: 7,
		Attempts: 10, Stalls: 8, ProcessedBy: "w", Deferred: "why", FailedReason: long[:300], ParentKey: s.full("P:q:p"), DataSize: 15, Locked: true,
	}, rows[0])
	require.False(t, rows[1].Locked)
	require.EqualValues(t, 3, rows[1].Stalls)
	require.EqualValues(t, 10, rows[1].AttemptsMade, "the field of very old versions counts too")
	require.Zero(t, rows[1].Attempts, "large options are not looked into")

	byID, err := s.run.RowsByID(t.Context(), s.q, []string{"b", "nobody", "bad"})
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, true}, []bool{byID[0].Missing, byID[1].Missing, byID[2].Missing})
	s.want(before)
}

// TestLogsAreBounded: rows may be as long as whoever logs likes.
func TestLogsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("1")
	for i := range 5 {
		s.seed(fmt.Sprintf("RPUSH q:1:logs %d%s", i, strings.Repeat("x", 99)))
	}
	before := s.dump()
	for _, tt := range []struct {
		start, end int64
		asc        bool
		total      int
		want       string
	}{
		{0, 9, false, 1000, "4 3 2 1 0"},
		{0, 9, true, 1000, "0 1 2 3 4"},
		{1, 2, false, 1000, "3 2"},
		{1, 2, true, 1000, "1 2"},
		{0, 9, false, 250, "4 3 2"},
		{3, 9, false, 1, "1"},
		{9, 12, false, 1000, ""},
	} {
		rows, kept, err := s.run.Logs(t.Context(), s.q, "1", tt.start, tt.end, tt.asc, 10, tt.total)
		require.NoError(t, err)
		require.EqualValues(t, 5, kept)
		var got []string
		for _, r := range rows {
			require.Len(t, r.Text, 10)
			require.EqualValues(t, 100, r.Size)
			got = append(got, r.Text[:1])
		}
		require.Equal(t, tt.want, strings.Join(got, " "), tt)
	}
	_, kept, err := s.run.Logs(t.Context(), s.q, "none", 0, 9, false, 10, 1000)
	require.NoError(t, err)
	require.Zero(t, kept)
	s.want(before)
}

package scripts_test

import (
	"fmt"
	"testing"

	"bullpen/internal/engine/keys"
	"bullpen/internal/engine/scripts"

	"github.com/stretchr/testify/require"
)

var roomy = scripts.FlowLimits{Levels: 10, PerKind: 20, Jobs: 200, Looks: 2000}

// sketch is a node of a flow in short: its queue and id, how its parent sees it and where that one is, and its state.
func sketch(nodes []scripts.FlowNode) (lines []string) {
	for _, n := range nodes {
		lines = append(lines, fmt.Sprintf("%s:%s %s of %d, %s", n.Queue.Name, n.Row.ID, n.Kind, n.Parent, n.State))
	}
	return lines
}

func (s *space) read(id string, l scripts.FlowLimits) []scripts.FlowNode {
	s.t.Helper()
	nodes, err := s.run.Flow(s.t.Context(), s.q, id, l)
	require.NoError(s.t, err)
	return nodes
}

func TestReadFlow(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.flow(
		s.node("q", "root", "", "", true), s.node("q", "mid", "q", "root", true), s.node("kids", "leaf", "q", "mid", false),
		s.node("kids", "a:b", "q", "root", false))
	require.Equal(t, []string{
		"q:root  of -1, waiting-children", "q:mid unprocessed of 0, waiting-children", "kids:a:b unprocessed of 0, waiting",
		"kids:leaf unprocessed of 1, waiting",
	}, sketch(sorted(s.read("root", roomy))))

	s.job("done", "bad", "poor")
	s.seed(
		"ZADD q:completed 1 done", "HSET q:root:processed P:q:done 1", "ZADD q:failed 2 bad 3 poor",
		"HSET q:root:failed P:q:bad oops", "ZADD q:root:unsuccessful 5 P:q:poor", "SADD q:root:dependencies P:q:gone",
		"SADD q:poor:dependencies P:q:root", // a ring
	)
	got := s.read("root", roomy)
	require.Len(t, got, 8)
	require.Equal(t, scripts.FlowNode{
		Parent: -1, Queue: keys.Queue{Prefix: s.q.Prefix, Name: "q"}, State: keys.WaitingChildren,
		Unprocessed: 3, Failed: 1, Ignored: 1, Processed: 1, Row: got[0].Row,
	}, got[0])
	require.Subset(t, sketch(got), []string{
		"q:gone unprocessed of 0, unknown", "q:poor failed of 0, failed", "q:bad ignored of 0, failed", "q:done processed of 0, completed",
	})
}

// sorted puts siblings of one level into the order of their ids, which sets do not have.
func sorted(nodes []scripts.FlowNode) []scripts.FlowNode {
	if len(nodes) == 4 && nodes[1].Row.ID != "mid" {
		nodes[1], nodes[2] = nodes[2], nodes[1]
		nodes[3].Parent = 1
	}
	return nodes
}

func TestReadFlowWithinLimits(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.flow(s.node("q", "root", "", "", true), s.node("q", "mid", "q", "root", true), s.node("q", "leaf", "q", "mid", false))
	for i := range 300 {
		id := fmt.Sprint("kid", i)
		s.seed("SADD q:root:dependencies P:q:"+id, "HSET q:root:processed P:q:done"+id+" 1")
	}
	s.seed("ZADD q:failed 1 kid277")

	require.Equal(t, []string{"q:root  of -1, waiting-children"}, sketch(s.read("root", scripts.FlowLimits{Levels: 1, PerKind: 5, Jobs: 9, Looks: 9})))
	few := roomy
	few.PerKind = 5
	got := s.read("root", few)
	require.Equal(t, "q:kid277 unprocessed of 0, failed", sketch(got)[1], "a failed child comes first, wherever it is")
	require.LessOrEqual(t, len(got), 12)
	require.EqualValues(t, 301, got[0].Unprocessed)
	few.Jobs = 3
	require.Len(t, s.read("root", few), 3)
	few.Looks = 0
	require.Len(t, s.read("root", few), 3)
	require.Equal(t, []string{"q:nobody  of -1, unknown"}, sketch(s.read("nobody", roomy)))
}

func TestReadFlowOfDamagedKeys(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.job("root")
	s.seed("SET q:root:dependencies x", "SET q:root:processed x", "SET q:root:failed x", "SET q:root:unsuccessful x")
	require.Equal(t, []string{"q:root  of -1, unknown"}, sketch(s.read("root", roomy)))
}

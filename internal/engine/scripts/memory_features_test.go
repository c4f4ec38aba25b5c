package scripts_test

import (
	"testing"
	"time"

	"bullpen/internal/engine/scripts"
	"bullpen/internal/testredis"

	"github.com/stretchr/testify/require"
)

// TestFeaturesOnTheInProcessStore is TestSameOnTheInProcessStore for flows, schedulers and deduplication.
func TestFeaturesOnTheInProcessStore(t *testing.T) {
	t.Parallel()
	server, memory := newSpace(t), spaceOn(t, testredis.Memory(t), "m")
	require.Equal(t, featureStory(server), featureStory(memory))
	memory.want(server.dump())
}

// featureStory returns what reading the flow gave on the way.
func featureStory(s *space) []string {
	s.t.Helper()
	ctx := s.t.Context()
	s.flow(s.node("q", "root", "", "", true), s.node("q", "mid", "q", "root", true), s.node("kids", "leaf", "q", "mid", false))
	s.job("done")
	s.seed("HSET q:root:processed P:q:done 1", "ZADD q:completed 1 done")
	read := sketch(s.read("root", roomy))
	_, err := s.run.RemoveChildDependency(ctx, s.queue("kids"), "leaf", s.full("P:q:mid"))
	require.NoError(s.t, err)

	s.upsert(t0, every(interval))
	s.upsert(t0.Add(time.Second), every(7*time.Second))
	current := "repeat:s:" + after(1000)
	require.Equal(s.t, "repeat:s:"+after(8000), s.next(t0.Add(2*time.Second), scripts.Firing{JobID: current}))
	all, total, err := s.run.Schedulers(ctx, s.q, 0, -1, true)
	require.NoError(s.t, err)
	require.EqualValues(s.t, 1, total)
	require.Equal(s.t, "s", all[0].ID)
	require.NotEmpty(s.t, all[0].JobOpts)

	s.add(dedup(scripts.Dedup{KeepLastIfActive: true}, 0))
	freed, err := s.run.RemoveDedupKey(ctx, s.q, "d", "")
	require.NoError(s.t, err)
	require.True(s.t, freed)
	return read
}

package web

import (
	"context"

	"bullpen/internal/engine"
	"bullpen/internal/engine/keys"
)

// flowJSON is the flow of a job, parents before their children.
type flowJSON struct {
	Jobs []flowJobJSON `json:"jobs"`
	// FromRoot is false where the job asked for is not among the first of the flow.
	FromRoot bool `json:"fromRoot" doc:"false: the job is out of reach from the root of its flow, so the list begins with it"`
}

// flowJobJSON is a job of a flow, without its payload.
type flowJobJSON struct {
	Parent       int                   `json:"parent" doc:"place of its parent in this list, -1 for the first"`
	Hidden       bool                  `json:"hidden,omitempty" doc:"in a queue that the caller may not see"`
	Queue        string                `json:"queue,omitempty"`
	ID           string                `json:"id,omitempty"`
	Name         string                `json:"name,omitempty"`
	State        keys.State            `json:"state,omitempty"`
	Gone         bool                  `json:"gone,omitempty" doc:"its record is missing"`
	Kind         engine.ChildKind      `json:"kind,omitempty" enum:"processed,unprocessed,ignored,failed" doc:"how its parent sees it"`
	Blocking     bool                  `json:"blocking,omitempty" doc:"on the path to what holds the first job up"`
	FailedReason string                `json:"failedReason,omitempty"`
	Children     *dependencyCountsJSON `json:"children,omitempty"`
	Left         int64                 `json:"left,omitempty" doc:"children that are left out"`
}

type dependencyCountsJSON struct {
	Processed   int64 `json:"processed"`
	Unprocessed int64 `json:"unprocessed"`
	Ignored     int64 `json:"ignored"`
	Failed      int64 `json:"failed"`
}

// apiFlow is the flow a job belongs to, at most flowJobs of its jobs.
func (s *Server) apiFlow(ctx context.Context, r viewRequest) (any, error) {
	j, err := s.peekOf(ctx, r)
	if err != nil {
		return nil, err
	}
	f, err := s.readFlow(ctx, j, r.query.Get("from") == flowBelow)
	if err != nil {
		return nil, err
	}
	out := flowJSON{FromRoot: f.root.Queue == f.top && f.root.ID == f.topID}
	out.add(r.who, f.root, -1)
	return out, nil
}

// add appends a job and the jobs below it.
func (f *flowJSON) add(who Identity, i *engine.FlowItem, parent int) {
	job := flowJobJSON{Parent: parent, Blocking: i.Blocking, Kind: i.Kind, Hidden: true}
	if who.May(Viewer, i.Queue) {
		job = flowJobJSON{
			Parent: parent, Queue: i.Queue.Qualified(), ID: i.ID, Name: i.Name, State: i.State, Gone: i.Missing, Kind: i.Kind, Blocking: i.Blocking,
			FailedReason: i.FailedReason, Left: i.Hidden(),
		}
		if c := i.Counts; c.All() > 0 {
			job.Children = &dependencyCountsJSON{c.Processed, c.Unprocessed, c.Ignored, c.Failed}
		}
	}
	f.Jobs = append(f.Jobs, job)
	place := len(f.Jobs) - 1
	for _, c := range i.Children {
		f.add(who, c, place)
	}
}

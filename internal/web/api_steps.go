package web

import (
	"context"
	"time"
)

// stepsJSON is the life of a job as far as Redis still knows it.
type stepsJSON struct {
	Steps []stepJSON `json:"steps"`
	Whole bool       `json:"whole" doc:"true when every attempt is in it"`
	Since *time.Time `json:"since,omitempty" doc:"how far back the queue's event stream reaches; absent when it is empty"`
}

// stepJSON is a stretch of a job's life.
type stepJSON struct {
	Kind    string     `json:"kind" enum:"added,waiting,delayed,backoff,attempt,waiting-children,completed,failed"`
	Attempt int        `json:"attempt,omitempty" doc:"its number, from 1"`
	At      time.Time  `json:"at"`
	Until   *time.Time `json:"until,omitempty" doc:"absent for a moment, and while it lasts"`
	Note    string     `json:"note,omitempty"`
}

// stepNames are the kinds of steps but for the end, which is named by its state.
var stepNames = map[stepKind]string{
	stepAdded: "added", stepWaited: "waiting", stepDelayed: "delayed", stepBackoff: "backoff", stepAttempt: "attempt", stepChildren: "waiting-children",
}

func (s *Server) apiSteps(ctx context.Context, r viewRequest) (any, error) {
	j, err := s.peekOf(ctx, r)
	if err != nil {
		return nil, err
	}
	st := s.story(ctx, r, j)
	out := stepsJSON{Steps: []stepJSON{}, Whole: st.whole, Since: known(st.since)}
	for _, x := range st.steps {
		kind := stepNames[x.kind]
		if x.kind == stepEnd {
			kind = x.state
		}
		out.Steps = append(out.Steps, stepJSON{kind, x.attempt, x.at, known(x.until), x.note})
	}
	return out, nil
}

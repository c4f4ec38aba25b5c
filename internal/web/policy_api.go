package web

import (
	"context"

	"bullpen/internal/livepolicy"
)

// policyJSON is a queue's policy as the API tells it: what is in force, where it comes from, and how it holds.
type policyJSON struct {
	InForce  []settingJSON        `json:"inForce"`
	Revision int64                `json:"revision"`
	Live     livepolicy.Values    `json:"live"`
	Open     *livepolicy.Proposal `json:"open,omitempty"`
	// Effects say what the open proposal means.
	Effects   []effectJSON          `json:"effects,omitempty"`
	Past      []livepolicy.Decision `json:"past"`
	TwoPeople bool                  `json:"twoPeople"`
	Workers   []policyWorkerJSON    `json:"workers"`
	Load      *loadJSON             `json:"load,omitempty"` // absent until the rates are known
	Warnings  []settingJSON         `json:"warnings"`
}

type settingJSON struct {
	Field  string `json:"field"`
	Value  string `json:"value"`
	Source string `json:"source,omitempty"`
}

type effectJSON struct {
	Label string `json:"label"`
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
}

type policyWorkerJSON struct {
	Name        string `json:"name"`
	Host        string `json:"host"`
	Process     int    `json:"process"`
	Concurrency int    `json:"concurrency"`
	Revision    int64  `json:"revision"`
	FileHash    string `json:"fileHash"`
}

// loadJSON are rates per second and what follows from them.
type loadJSON struct {
	Arrival        float64  `json:"arrivalPerSecond"`
	Wanted         float64  `json:"startsWantedPerSecond"`
	Limit          *float64 `json:"limitPerSecond,omitempty"`
	Capacity       *float64 `json:"capacityPerSecond,omitempty"`
	LeftOver       float64  `json:"leftOverPerSecond"`
	AttemptsPerJob float64  `json:"attemptsPerJob"`
	FailingShare   float64  `json:"failingShare"`
	UsedUp         float64  `json:"usedUpShare"`
	MeanRun        *float64 `json:"meanRunSeconds,omitempty"`
	InFlight       *float64 `json:"inFlightNeeded,omitempty"`
	Ceiling        *int64   `json:"ceiling,omitempty"`
	Drain          *float64 `json:"drainSeconds,omitempty"`
}

func (s *Server) apiPolicy(ctx context.Context, r viewRequest) (any, error) {
	q, err := s.queueOf(r)
	if err != nil {
		return nil, err
	}
	p, err := s.policyState(ctx, r.snap, q)
	if err != nil {
		return nil, err
	}
	out := policyJSON{
		Revision: p.record.Revision, Live: p.record.Live, Open: p.record.Open, Past: p.record.Past, Load: toLoadJSON(p),
		TwoPeople: s.twoPeople(), Workers: []policyWorkerJSON{}, Warnings: []settingJSON{},
	}
	if out.Past == nil {
		out.Past = []livepolicy.Decision{}
	}
	for _, row := range policySettings(p) {
		out.InForce = append(out.InForce, settingJSON{Field: row.Field, Value: row.Value, Source: row.Source})
	}
	for _, w := range p.bullpen() {
		out.Workers = append(out.Workers, policyWorkerJSON{w.Name, w.Host, w.PID, w.Concurrency, w.Revision, w.PolicyHash})
	}
	for _, w := range policyWarnings(p) {
		out.Warnings = append(out.Warnings, settingJSON{Field: w.Field, Value: w.Text})
	}
	if open := p.record.Open; open != nil {
		_, after := p.record.Effect(open.Values, p.file, p.found)
		for _, e := range effects(p, after, open.Changes) {
			out.Effects = append(out.Effects, effectJSON{e.Label, e.Value, e.Small})
		}
	}
	return out, nil
}

func toLoadJSON(p policyState) *loadJSON {
	if !p.q.Rate.Known {
		return nil
	}
	l, z := p.load, p.size
	out := &loadJSON{
		Arrival: l.Arrival, Wanted: z.Wanted, LeftOver: z.LeftOver, AttemptsPerJob: z.AttemptsPerJob, FailingShare: l.FailingShare, UsedUp: z.UsedUp,
		Limit: positive(l.Limit), Capacity: positive(z.Capacity), MeanRun: positive(l.MeanRun.Seconds()),
	}
	if l.MeanRun > 0 {
		out.InFlight = &z.InFlight
	}
	if l.Ceiling >= 0 {
		out.Ceiling = &l.Ceiling
	}
	if z.Drains && z.LeftOver <= 0 {
		out.Drain = ptr(z.Drain.Seconds())
	}
	return out
}

// positive leaves out what is not known.
func positive(f float64) *float64 {
	if f <= 0 {
		return nil
	}
	return &f
}

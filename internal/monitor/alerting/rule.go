package alerting

import (
	"slices"
	"time"

	"bullpen/alerts"
)

// rule is an alerting rule and what it found.
type rule struct {
	alert alerts.Alert
	texts texts
	// needs is how far back its expression looks.
	needs  time.Duration
	active map[string]*instance
}

// instance is one alert of a rule.
type instance struct {
	labels Labels
	value  float64
	firing bool
	// since is when the expression began to hold, gone when it stopped while the alert is kept firing.
	since, gone time.Time
}

func newRule(a alerts.Alert) *rule {
	return &rule{alert: a, texts: newTexts(a), active: map[string]*instance{}}
}

// update takes what the expression selects at a time. An alert fires once it has been selected for long enough, and
// stays for a while after.
func (r *rule) update(at time.Time, found []value) {
	now := make(map[string]bool, len(found))
	for _, v := range found {
		labels := v.labels.with(r.alert.Labels())
		key := labels.key()
		now[key] = true
		i := r.active[key]
		if i == nil {
			i = &instance{labels: labels, since: at}
			r.active[key] = i
		}
		i.value, i.gone = v.v, time.Time{}
	}
	for key, i := range r.active {
		if !now[key] && !r.kept(i, at) {
			delete(r.active, key)
			continue
		}
		if at.Sub(i.since) >= r.alert.For {
			i.firing = true
		}
	}
}

// kept reports whether an alert that is not selected any longer goes on firing.
func (r *rule) kept(i *instance, at time.Time) bool {
	if !i.firing || r.alert.KeepFiring == 0 {
		return false
	}
	if i.gone.IsZero() {
		i.gone = at
	}
	return at.Sub(i.gone) < r.alert.KeepFiring
}

func (r *rule) status(began, now time.Time) Status {
	s := Status{Rule: r.alert, State: Inactive}
	for _, i := range r.active {
		a := Active{Labels: i.labels, State: Pending, Since: i.since, Value: i.value}
		if i.firing {
			a.State = Firing
		}
		a.Summary, a.Description = r.texts.render(i.labels, i.value)
		s.Active = append(s.Active, a)
	}
	slices.SortFunc(s.Active, byUrgency)
	unknown := began.IsZero() || now.Sub(began) < r.needs
	if unknown && !began.IsZero() {
		s.UnknownUntil = began.Add(r.needs)
	}
	switch {
	case len(s.Active) > 0:
		s.State = s.Active[0].State
	case unknown:
		s.State = Unknown
	}
	return s
}

// horizons is how far back each series is asked for by any rule. A series that is only asked for its present value is
// kept for as long as that may be old.
func horizons(recordings []alerts.Recording, rules []*rule) map[string]time.Duration {
	keep := map[string]time.Duration{}
	note := func(x alerts.Expr) {
		alerts.Walk(x, func(x alerts.Expr) {
			switch x := x.(type) {
			case alerts.Selector:
				keep[x.Name] = max(keep[x.Name], lookback+x.Offset)
			case alerts.Range:
				keep[x.Of.Name] = max(keep[x.Of.Name], x.Window+x.Of.Offset)
			}
		})
	}
	for _, r := range recordings {
		note(r.Expr)
	}
	for _, r := range rules {
		note(r.alert.Expr)
	}
	return keep
}

// needed is how far back each recorded series looks.
type needed map[string]time.Duration

func lookbacks(recordings []alerts.Recording) needed {
	out := needed{}
	for _, r := range recordings { // in order: a rule uses only those before it
		out[r.Name] = out.of(r.Expr)
	}
	return out
}

// of is how long the samples must go back before an expression means what it says. last_over_time only bridges holes.
func (n needed) of(x alerts.Expr) time.Duration {
	var most time.Duration
	alerts.Walk(x, func(x alerts.Expr) {
		switch x := x.(type) {
		case alerts.Selector:
			most = max(most, x.Offset+n[x.Name])
		case alerts.Range:
			if x.Fn != "last_over_time" {
				most = max(most, x.Window+x.Of.Offset+n[x.Of.Name])
			}
		}
	})
	return most
}
